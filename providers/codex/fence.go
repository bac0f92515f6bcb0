package codex

import (
	"os"
	"path/filepath"
	"strings"
)

// inside says whether a file lies, or would lie, in one of the directories.
// Links are followed as far as the path exists, so that a link in the workspace
// cannot lead an accepted edit out of it; what cannot be resolved is outside.
func inside(path string, dirs []string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	real, ok := resolve(filepath.Clean(path))
	if !ok {
		return false
	}
	for _, dir := range dirs {
		root, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(root, real)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) && !guarded(rel) {
			return true
		}
	}
	return false
}

// guarded says whether a path in the workspace is one that Codex's sandbox
// keeps read-only: what lies there runs or is obeyed later.
func guarded(rel string) bool {
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if part == ".git" || part == ".codex" || part == ".agents" {
			return true
		}
	}
	return false
}

// resolve follows links in the part of a path that exists.
func resolve(path string) (string, bool) {
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), true
		}
		if _, link := os.Lstat(path); link == nil || !os.IsNotExist(err) {
			return "", false // a link to nowhere, or something that may not be read
		}
		parent := filepath.Dir(path)
		if parent == path {
			return "", false
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = parent
	}
}
