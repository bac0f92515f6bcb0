package pi

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// gateSource is the approval gate, with a place for the name by which its
// dialogs are known.
//
//go:embed gate.js
var gateSource string

// workdir is a session's own directory, for what Pi takes as files: the gate
// and the system prompt. Only its owner may read it, and it goes with the
// session.
type workdir struct{ path string }

func newWorkdir() (workdir, *core.Error) {
	path, err := os.MkdirTemp("", "harness-mcp-pi-")
	if err != nil {
		return workdir{}, core.Errorf(core.CodeStartFailed, "no directory for the session's files: %w", err)
	}
	return workdir{path}, nil
}

// file writes a file and gives its path.
func (w workdir) file(name, text string) (string, *core.Error) {
	path := filepath.Join(w.path, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", core.Errorf(core.CodeStartFailed, "the session's file %s cannot be written: %w", name, err)
	}
	return path, nil
}

func (w workdir) remove() { _ = os.RemoveAll(w.path) }

// files writes the session's files and gives the arguments that name them.
func (w workdir) files(cfg core.SessionConfig, channel string) ([]string, *core.Error) {
	gate, err := w.file("gate.js", strings.ReplaceAll(gateSource, "__CHANNEL__", channel))
	if err != nil {
		return nil, err
	}
	args := []string{"--extension", gate}
	if cfg.SystemPrompt != "" {
		path, err := w.file("system.md", cfg.SystemPrompt)
		if err != nil {
			return nil, err
		}
		args = append(args, "--append-system-prompt", path)
	}
	return args, nil
}
