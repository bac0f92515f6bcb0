package acp

import (
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// diffContext is how many unchanged lines are shown around a change.
const diffContext = 3

// edit gives a changed file; before is nil where it was not there.
func edit(path string, before *string, after string) core.FileEdit {
	if before == nil {
		return core.FileEdit{Path: path, Kind: core.FileAdded, Diff: unified(path, "", after, true)}
	}
	return core.FileEdit{Path: path, Kind: core.FileModified, Diff: unified(path, *before, after, false)}
}

// unified gives a change as one hunk, from the first line that differs to the
// last. Agents show the whole file or a part of it, so lines count from the
// beginning of what they show. Very long texts give no diff.
func unified(path, before, after string, added bool) string {
	a, b := lines(before), lines(after)
	if len(a)+len(b) > maxDiffLines || before == after {
		return ""
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	first := max(0, head-diffContext)
	after3 := min(tail, diffContext)
	from := path
	if added {
		from = "/dev/null"
	}
	var d strings.Builder
	fmt.Fprintf(&d, "--- %s\n+++ %s\n@@ -%s +%s @@\n", from, path,
		span(first, len(a)-tail+after3-first), span(first, len(b)-tail+after3-first))
	put(&d, ' ', a[first:head])
	put(&d, '-', a[head:len(a)-tail])
	put(&d, '+', b[head:len(b)-tail])
	put(&d, ' ', a[len(a)-tail:len(a)-tail+after3])
	return d.String()
}

// span is a range of lines as a hunk's header has it.
func span(first, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", first)
	}
	return fmt.Sprintf("%d,%d", first+1, count)
}

// lines cuts a text behind each newline.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	list := strings.SplitAfter(text, "\n")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

func put(d *strings.Builder, sign byte, list []string) {
	for _, l := range list {
		d.WriteByte(sign)
		d.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			d.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
