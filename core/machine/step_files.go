package machine

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// mergeFiles adds changed files, without their diffs and at most maxTurnFiles. The
// last report of a path counts, but a file that was added and then modified stays
// added.
func mergeFiles(have, more []core.FileEdit) []core.FileEdit {
	if len(more) == 0 {
		return have
	}
	out := slices.Clone(have)
	for _, f := range more {
		f.Diff = ""
		i := slices.IndexFunc(out, func(e core.FileEdit) bool { return e.Path == f.Path })
		switch {
		case i < 0 && len(out) < maxTurnFiles:
			out = append(out, f)
		case i >= 0 && !(out[i].Kind == core.FileAdded && f.Kind == core.FileModified):
			out[i] = f
		}
	}
	return out
}

// compareFiles compares what an agent reported to have changed with what was seen
// in dir. What was only seen comes last, marked: an agent's commands change files
// without a report, and so do other people. What was reported of dir and not seen
// there is a warning.
func compareFiles(reported []core.FileEdit, seen core.Observed, dir string) (all []core.FileEdit, warnings []string) {
	if !seen.Looked {
		return reported, nil
	}
	has := func(list []core.FileEdit, path string) bool {
		return slices.ContainsFunc(list, func(e core.FileEdit) bool { return absolute(dir, e.Path) == absolute(dir, path) })
	}
	var silent []core.FileEdit
	for _, e := range seen.Files {
		if !has(reported, e.Path) {
			e.Unreported = true
			silent = append(silent, e)
		}
	}
	var unseen []string
	for _, e := range reported {
		if below(dir, e.Path) && !has(seen.Files, e.Path) {
			unseen = append(unseen, e.Path)
		}
	}
	if len(unseen) > 0 {
		warnings = append(warnings, "the agent reported changes that git does not show (ignored or put back?): "+firstFew(unseen))
	}
	return mergeFiles(reported, silent), warnings
}

// below reports whether path, as it is spelled, is in dir.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, absolute(dir, path))
	return err == nil && filepath.IsLocal(rel)
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// firstFew returns a list of at most maxNamedFiles of names.
func firstFew(names []string) string {
	if len(names) <= maxNamedFiles {
		return core.JoinList(names)
	}
	return fmt.Sprintf("%s and %d more", core.JoinList(names[:maxNamedFiles]), len(names)-maxNamedFiles)
}
