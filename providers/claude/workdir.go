package claude

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/harness-mcp/harness-mcp/core"
)

// workdir is a session's own directory: its temporary files, the files that
// keep secrets out of the command line, and copied skills. Only its owner may
// read it, and it goes with the session.
type workdir struct{ path string }

func newWorkdir() (workdir, *core.Error) {
	// Short, since the CLI puts a socket below it.
	path, err := os.MkdirTemp("", "hmc-")
	if err != nil {
		return workdir{}, core.Errorf(core.CodeStartFailed, "no directory for the session's files: %w", err)
	}
	if err := os.Mkdir(filepath.Join(path, "tmp"), 0o700); err != nil {
		_ = os.RemoveAll(path)
		return workdir{}, core.Errorf(core.CodeStartFailed, "no directory for the session's files: %w", err)
	}
	return workdir{path}, nil
}

func (w workdir) tmp() string { return filepath.Join(w.path, "tmp") }

// file writes a file and gives its path.
func (w workdir) file(name string, data json.RawMessage) (string, *core.Error) {
	path := filepath.Join(w.path, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", core.Errorf(core.CodeStartFailed, "the session's file %s cannot be written: %w", name, err)
	}
	return path, nil
}

func (w workdir) remove() { _ = os.RemoveAll(w.path) }
