package tools

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// proseDuration returns a duration in short form: 350 ms, 42 s, 3 min 5 s.
func proseDuration(ms int64) string {
	switch d := time.Duration(ms) * time.Millisecond; {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second), " 0 s")
	default:
		return strings.TrimSuffix(fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute), " 0 min")
	}
}

// proseElapsed returns how long something took or has run so far. Less than a
// second of a running one is left out.
func proseElapsed(ms int64, ended bool) string {
	switch {
	case ended:
		return " after " + proseDuration(ms)
	case ms < 1000:
		return ""
	}
	return " for " + proseDuration(ms)
}

// proseEnd is proseElapsed for what may have ended at a time that is not known,
// because its server ended or lost its journal: then ms is that of the last
// event.
func proseEnd(ms int64, ended bool, why core.Reason) string {
	if ended && (why == core.ReasonServerRestarted || why == core.ReasonDurabilityLost) {
		return ", last seen after " + proseDuration(ms)
	}
	return proseElapsed(ms, ended)
}

// proseCount returns a number with its noun: 1 file, 2 files.
func proseCount(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// oneLine returns text as one line of at most max bytes without control
// characters.
func oneLine(s string, max int) string {
	return clip(redact.Plain(strings.Join(strings.Fields(s), " ")), max)
}

// firstOf returns the first n words of a list, and how many more there are.
func firstOf(words []string, n int) string {
	if len(words) <= n {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:n], ", "), len(words)-n)
}

// utc returns a time as callers read it, nil for the zero time.
func utc(t time.Time) *time.Time { return utcTruncated(t, time.Millisecond) }

func utcTruncated(t time.Time, d time.Duration) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC().Truncate(d)
	return &u
}

// proseSignIn returns how to sign in to a provider. login is its own command,
// "" if it has none.
func proseSignIn(login string) string {
	how := "Sign in with the agent's own command line"
	if login != "" {
		how = fmt.Sprintf("Sign in with `%s`", login)
	}
	return how + " on the server's machine, or give a key in env, then try again."
}

// labelled returns a line "name: value" for each pair of a name and a value that
// is not empty, with at most max bytes of the value.
func labelled(max int, pairs ...string) (lines []string) {
	for p := range slices.Chunk(pairs, 2) {
		if p[1] != "" {
			lines = append(lines, p[0]+": "+clip(p[1], max))
		}
	}
	return lines
}

// convertStrings converts a list from one string type to another.
func convertStrings[To, From ~string](in []From) (out []To) {
	for _, s := range in {
		out = append(out, To(s))
	}
	return out
}
