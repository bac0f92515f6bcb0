package demo

import (
	"fmt"
	"strings"
)

// nextGreeting gives the text that follows old in the greeting file: the
// greeting, and how often the file was written.
func nextGreeting(old, greeting string) string {
	before, edits := "Hello from the demo agent.", 0
	if line, rest, ok := strings.Cut(old, "\n"); ok {
		before = line
		fmt.Sscanf(rest, "Edits: %d", &edits) // a file that someone else changed starts over
	}
	if greeting == "" {
		greeting = before
	}
	greeting = clip(strings.Join(strings.Fields(greeting), " "), maxGreeting)
	return fmt.Sprintf("%s\nEdits: %d\n", greeting, edits+1)
}

// unified gives the diff of two short texts as one hunk with all lines, so
// that it needs no search for the shortest edit. Both texts end with a newline
// or are empty.
func unified(name, before, after string) string {
	a, b := lines(before), lines(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var d strings.Builder
	from := "a/" + name
	if len(a) == 0 {
		from = "/dev/null"
	}
	fmt.Fprintf(&d, "--- %s\n+++ b/%s\n@@ -%s +%s @@\n", from, name, span(a), span(b))
	write := func(mark string, ls []string) {
		for _, l := range ls {
			d.WriteString(mark + l)
		}
	}
	write(" ", a[:head])
	write("-", a[head:len(a)-tail])
	write("+", b[head:len(b)-tail])
	write(" ", a[len(a)-tail:])
	return d.String()
}

func lines(s string) []string {
	ls := strings.SplitAfter(s, "\n")
	return ls[:len(ls)-1]
}

// span is a hunk's range of a whole text; an empty one begins at line 0.
func span(ls []string) string { return fmt.Sprintf("%d,%d", min(1, len(ls)), len(ls)) }
