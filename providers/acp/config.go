package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// names are the names that a provider may have.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// ReadConfig reads a provider configuration file and returns the known agents as
// it changes them, followed by those that it adds:
//
//	{"providers": {
//	  "kimi":   {"title": "Kimi", "command": ["kimi", "acp"]},
//	  "gemini": {"command": ["/opt/node/bin/node", "/opt/gemini/gemini.js", "--acp"]}
//	}}
//
// The members of a provider are those of [Agent]. A known agent keeps what is
// not given.
func ReadConfig(path string) ([]Agent, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("acp: read the provider configuration: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("acp: read the provider configuration: %w", err)
	}
	if len(raw) > maxConfig {
		return nil, fmt.Errorf("acp: %s has more than %d bytes", path, maxConfig)
	}
	list, err := parseConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("acp: %s: %w", path, err)
	}
	return list, nil
}

func parseConfig(raw []byte) ([]Agent, error) {
	var file struct {
		Providers map[string]json.RawMessage `json:"providers"`
	}
	if err := strictly(raw, &file); err != nil {
		return nil, err
	}
	list := Agents()
	for _, name := range slices.Sorted(maps.Keys(file.Providers)) {
		i := slices.IndexFunc(list, func(a Agent) bool { return a.Name == name })
		a := Agent{Name: name, Title: name}
		if i >= 0 {
			a = list[i]
			a.Native = "" // it belongs to the known command
		}
		if err := strictly(file.Providers[name], &a); err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		if err := a.check(); err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		if i >= 0 {
			list[i] = a
			continue
		}
		list = append(list, a)
	}
	return list, nil
}

// strictly decodes JSON and refuses unknown members.
func strictly(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is data after the object")
	}
	return nil
}

// check returns the first error of an agent that came from a file.
func (a Agent) check() error {
	if !names.MatchString(a.Name) {
		return errors.New("a name has lower-case letters, digits and -, at most 32 of them")
	}
	if len(a.Command) == 0 || strings.TrimSpace(a.Command[0]) == "" {
		return errors.New("there is no command")
	}
	for mode := range a.Modes {
		switch mode {
		case core.ApprovalDefault, core.ApprovalPrompt, core.ApprovalAutoEdit, core.ApprovalAuto:
		default:
			return fmt.Errorf("there is no approval mode %q", mode)
		}
	}
	for _, s := range []core.Support{a.Can.Resume, a.Can.Fork, a.Can.MCP, a.Can.Images, a.Can.Model} {
		switch s {
		case "", core.Native, core.Emulated, core.Experimental, core.Unsupported:
		default:
			return fmt.Errorf("an ability is native, emulated, experimental or unsupported, not %q", s)
		}
	}
	if ms := a.Quirks.SettleMS; ms < 0 || ms > maxSettleMS {
		return fmt.Errorf("settle_ms is from 0 to %d", maxSettleMS)
	}
	for _, as := range a.Quirks.Asides {
		if as.Prefix == "" || as.Means != AsideWarning && as.Means != AsideRetry && as.Means != AsideError {
			return errors.New("an aside has a prefix, and means warning, retry or error")
		}
	}
	return nil
}
