package demo

import (
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/providers/internal/textdiff"
)

// nextGreeting returns the text that follows old in the greeting file: the
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

// unified returns the diff of two short texts with all their lines.
func unified(name, before, after string) string {
	from := "a/" + name
	if before == "" {
		from = textdiff.DevNull
	}
	return textdiff.Header(from, "b/"+name) + textdiff.Hunk(before, after, len(before))
}
