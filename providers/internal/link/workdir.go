package link

import (
	"os"
	"path/filepath"

	"github.com/harness-mcp/harness-mcp/core"
)

// Workdir is a session's own directory, for what keeps secrets and long texts out
// of the command line. Only its owner may read it. It is removed with the
// session.
type Workdir struct{ Path string }

// NewWorkdir returns a directory whose name begins with prefix.
//
// Errors: CodeStartFailed.
func NewWorkdir(prefix string) (Workdir, *core.Error) {
	path, err := os.MkdirTemp("", prefix)
	if err != nil {
		return Workdir{}, core.Errorf(core.CodeStartFailed, "no directory for the session's files: %w", err)
	}
	return Workdir{path}, nil
}

// File writes a file and returns its path.
//
// Errors: CodeStartFailed.
func (w Workdir) File(name string, data []byte) (string, *core.Error) {
	path := filepath.Join(w.Path, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", core.Errorf(core.CodeStartFailed, "the session's file %s cannot be written: %w", name, err)
	}
	return path, nil
}

// Remove removes the directory and everything in it.
func (w Workdir) Remove() { _ = os.RemoveAll(w.Path) }
