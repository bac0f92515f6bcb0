package acp

import (
	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/textdiff"
)

// edit returns a changed file; before is nil where it was not there.
func edit(path string, before *string, after string) core.FileEdit {
	if before == nil {
		return core.FileEdit{Path: path, Kind: core.FileAdded, Diff: unified(textdiff.DevNull, path, "", after)}
	}
	return core.FileEdit{Path: path, Kind: core.FileModified, Diff: unified(path, path, *before, after)}
}

// unified returns a diff, "" for very long texts. Agents show the whole file or a
// part of it, so lines count from the beginning of what they show.
func unified(from, to, before, after string) string {
	if len(textdiff.Lines(before))+len(textdiff.Lines(after)) > maxDiffLines {
		return ""
	}
	return textdiff.Unified(from, to, before, after, diffContext)
}
