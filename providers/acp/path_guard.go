package acp

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/harness-mcp/harness-mcp/providers/internal/workspace"
)

// pathGuard limits the files of an agent's client to the working directory and the
// directories added to it.
type pathGuard struct{ dirs []string }

// newPathGuard follows links in the directories' own names, so that files below
// them are found by either name.
func newPathGuard(dirs []string) pathGuard {
	var g pathGuard
	for _, d := range dirs {
		g.dirs = append(g.dirs, filepath.Clean(d))
		if real, err := filepath.EvalSymlinks(d); err == nil && real != filepath.Clean(d) {
			g.dirs = append(g.dirs, real)
		}
	}
	return g
}

// errOutside is the error of a path that the client must not use.
var errOutside = errors.New("the path is outside of the session's directories")

// find returns the directory that a path is in, and the path within it.
func (g pathGuard) find(path string) (dir, rel string, err error) {
	if !filepath.IsAbs(path) {
		return "", "", errors.New("the path is not absolute")
	}
	for _, dir := range g.dirs {
		rel, err := filepath.Rel(dir, filepath.Clean(path))
		if err == nil && filepath.IsLocal(rel) {
			return dir, rel, nil
		}
	}
	return "", "", errOutside
}

// in runs do on the directory of a path. Links that lead out of it are not
// followed, also when they are made at the same time.
func (g pathGuard) in(path string, do func(root *os.Root, rel string) error) error {
	dir, rel, err := g.find(path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root, rel)
}

// inside reports whether an edit of a file may be accepted without a question.
func (g pathGuard) inside(path string) bool { return workspace.Inside(path, g.dirs, guarded) }

// guarded are names in a workspace that are executed, or read as instructions,
// later: repositories' hooks, and the configuration of agents and editors.
var guarded = []string{
	".git", ".agents", ".codex", ".claude", ".gemini", ".qwen", ".opencode", ".copilot", ".github", ".vscode", ".mcp.json",
}
