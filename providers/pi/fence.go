package pi

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// guarded are directories of a workspace whose files run or are obeyed later:
// an edit there is always asked about.
var guarded = []string{".git", ".pi", ".agents", ".claude", ".codex"}

// inside says whether a file lies, or would lie, in one of the directories and
// in none that is guarded. Links are followed as far as the path exists, so
// that a link in the workspace cannot lead an edit out of it; what cannot be
// resolved is outside.
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
		if err == nil && filepath.IsLocal(rel) && !slices.ContainsFunc(strings.Split(rel, string(filepath.Separator)), isGuarded) {
			return true
		}
	}
	return false
}

func isGuarded(part string) bool { return slices.Contains(guarded, strings.ToLower(part)) }

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
