// Package textdiff shows the change of a text as a unified diff with one hunk,
// which needs no search for the shortest edit.
package textdiff

import (
	"fmt"
	"strings"
)

// DevNull is the name of a file that is not there.
const DevNull = "/dev/null"

// Unified returns the diff of a file, from the first line that differs to the
// last, with at most context unchanged lines around it; "" when nothing differs.
func Unified(from, to, before, after string, context int) string {
	if before == after {
		return ""
	}
	return Header(from, to) + Hunk(before, after, context)
}

// Header returns the two lines that name a file before and after its change.
func Header(from, to string) string { return "--- " + from + "\n+++ " + to + "\n" }

// Hunk returns the change of a text without the names of its file; "" when
// nothing differs.
func Hunk(before, after string, context int) string {
	if before == after {
		return ""
	}
	a, b := Lines(before), Lines(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	first, below := max(0, head-context), min(tail, context)
	var d strings.Builder
	fmt.Fprintf(&d, "@@ -%s +%s @@\n", span(first, len(a)-tail+below-first), span(first, len(b)-tail+below-first))
	put(&d, ' ', a[first:head])
	put(&d, '-', a[head:len(a)-tail])
	put(&d, '+', b[head:len(b)-tail])
	put(&d, ' ', a[len(a)-tail:len(a)-tail+below])
	return d.String()
}

// span is a range of lines in a hunk's header. An empty one begins before its
// line.
func span(first, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", first)
	}
	return fmt.Sprintf("%d,%d", first+1, count)
}

// Lines returns the lines of a text with their ends.
func Lines(text string) []string {
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
