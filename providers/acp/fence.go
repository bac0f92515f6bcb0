package acp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fence is where an agent's client works for it: the working directory and the
// directories added to it.
type fence struct{ dirs []string }

// newFence follows links in the directories' own names, so that files below
// them are found by either name.
func newFence(dirs []string) fence {
	var f fence
	for _, d := range dirs {
		f.dirs = append(f.dirs, filepath.Clean(d))
		if real, err := filepath.EvalSymlinks(d); err == nil && real != filepath.Clean(d) {
			f.dirs = append(f.dirs, real)
		}
	}
	return f
}

// errOutside says that a path is not the client's to touch.
var errOutside = errors.New("the path lies outside of the session's directories")

// find gives the directory in which a path lies, and the path within it.
func (f fence) find(path string) (dir, rel string, err error) {
	if !filepath.IsAbs(path) {
		return "", "", errors.New("the path is not absolute")
	}
	for _, dir := range f.dirs {
		rel, err := filepath.Rel(dir, filepath.Clean(path))
		if err == nil && filepath.IsLocal(rel) {
			return dir, rel, nil
		}
	}
	return "", "", errOutside
}

// in runs do on the directory of a path. Links that lead out of it are not
// followed, also when they are made in the same moment.
func (f fence) in(path string, do func(root *os.Root, rel string) error) error {
	dir, rel, err := f.find(path)
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

// inside says whether an edit of a file may be accepted without a question: it
// lies in the workspace, links followed, and is nothing that runs or is obeyed
// later.
func (f fence) inside(path string) bool {
	_, rel, err := f.find(path)
	if err != nil || guarded(rel) {
		return false
	}
	err = f.in(path, func(root *os.Root, rel string) error {
		for ; rel != "."; rel = filepath.Dir(rel) {
			_, err := root.Stat(rel) // an error too where a link leads out
			if err == nil {
				return nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if _, err := root.Lstat(rel); err == nil {
				return errOutside // a link to nowhere
			}
		}
		return nil
	})
	return err == nil
}

// guarded says whether a path in the workspace runs or is obeyed later:
// repositories' hooks, and the configuration of agents and editors.
func guarded(rel string) bool {
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		switch strings.ToLower(part) {
		case ".git", ".agents", ".codex", ".claude", ".gemini", ".qwen", ".opencode", ".copilot", ".github", ".vscode", ".mcp.json":
			return true
		}
	}
	return false
}
