package acp

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/harness-mcp/harness-mcp/providers/internal/workspace"
)

// pathGuard is where an agent's client works for it: the working directory and the
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

// errOutside says that a path is not the client's to touch.
var errOutside = errors.New("the path lies outside of the session's directories")

// find gives the directory in which a path lies, and the path within it.
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
// followed, also when they are made in the same moment.
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

// inside says whether an edit of a file may be accepted without a question.
func (g pathGuard) inside(path string) bool { return workspace.Inside(path, g.dirs, guarded) }

// guarded are names in a workspace that run or are obeyed later: repositories'
// hooks, and the configuration of agents and editors.
var guarded = []string{
	".git", ".agents", ".codex", ".claude", ".gemini", ".qwen", ".opencode", ".copilot", ".github", ".vscode", ".mcp.json",
}
