// Package loopback prepares the home of an agent whose model is a server on this
// machine. The user's own home, account and configuration are not touched.
package loopback

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// Home is a home that is being prepared. The first error stays, and Env returns
// it.
type Home struct {
	agent string
	vars  map[string]string
	err   error
}

// New returns directories below dir, an existing directory, and a variable for
// each: dirs has the names of the variables and of the directories.
func New(agent, dir string, dirs map[string]string) *Home {
	h := &Home{agent: agent, vars: map[string]string{}}
	for name, sub := range dirs {
		h.vars[name] = filepath.Join(dir, sub)
		if h.err == nil {
			h.err = os.MkdirAll(h.vars[name], 0o700)
		}
	}
	return h
}

// Set adds variables.
func (h *Home) Set(vars map[string]string) { maps.Copy(h.vars, vars) }

// Path returns a path below the directory of a variable.
func (h *Home) Path(variable, path string) string {
	return filepath.Join(h.vars[variable], filepath.FromSlash(path))
}

// Write makes a file below the directory of a variable. Content that is no
// string is written as JSON.
func (h *Home) Write(variable, path string, content any) {
	text, ok := content.(string)
	if !ok {
		raw, err := json.MarshalIndent(content, "", "  ")
		h.fail(err)
		text = string(raw)
	}
	full := h.Path(variable, path)
	h.fail(os.MkdirAll(filepath.Dir(full), 0o700))
	if h.err == nil {
		h.err = os.WriteFile(full, []byte(text), 0o600)
	}
}

func (h *Home) fail(err error) {
	if h.err == nil {
		h.err = err
	}
}

// Env returns the variables that a session needs in its Env. A session with
// EnvReplace needs PATH beside them.
func (h *Home) Env() (map[string]string, error) {
	if h.err != nil {
		return nil, fmt.Errorf("%s: prepare a home: %w", h.agent, h.err)
	}
	return h.vars, nil
}
