// Package workspace reports whether an edit stays in a session's directories, so
// that an adapter may accept it without asking.
package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Inside reports whether a file is, or would be, in one of the directories, and
// below none of the guarded names, whose files are executed or read later.
// Links are followed as far as the path exists, so that a link in the workspace
// cannot lead an edit out of it, or to what is guarded; what cannot be resolved
// counts as outside. Guarded names are in lower case and match in any.
func Inside(path string, dirs, guarded []string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	path = filepath.Clean(path)
	real, ok := resolve(path)
	if !ok {
		return false
	}
	for _, dir := range dirs {
		root, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(root, real)
		if err != nil || !filepath.IsLocal(rel) || names(rel, guarded) {
			continue
		}
		// A guarded name may itself be a link to somewhere else in there.
		given, err := filepath.Rel(dir, path)
		return err != nil || !filepath.IsLocal(given) || !names(given, guarded)
	}
	return false
}

// names reports whether a part of the path has one of the names.
func names(path string, list []string) bool {
	for part := range strings.SplitSeq(path, string(filepath.Separator)) {
		if slices.Contains(list, strings.ToLower(part)) {
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

// IsFile reports whether a path is a regular file, or a link to one.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
