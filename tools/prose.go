package tools

import (
	"fmt"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core/redact"
)

// proseDuration says a span of time in words that are short and read well: 350 ms, 42 s, 3 min 5 s.
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

// proseElapsed says how long something has gone on, or took. Less than a second
// is not worth a word while it goes on.
func proseElapsed(ms int64, ended bool) string {
	switch {
	case ended:
		return " after " + proseDuration(ms)
	case ms < 1000:
		return ""
	}
	return " for " + proseDuration(ms)
}

// proseCount counts things: 1 file, 2 files.
func proseCount(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// oneLine makes text of many lines one line of at most max bytes, which does
// nothing but print.
func oneLine(s string, max int) string {
	return clip(redact.Plain(strings.Join(strings.Fields(s), " ")), max)
}

// firstOf lists words, at most n of them, and how many more there are.
func firstOf(words []string, n int) string {
	if len(words) <= n {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:n], ", "), len(words)-n)
}

// utc gives a time as callers read it, nil for none.
func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC().Truncate(time.Millisecond)
	return &u
}

// proseSignIn says how a provider is signed in: by its own command, "" where it has
// none.
func proseSignIn(login string) string {
	how := "Sign in with the agent's own command line"
	if login != "" {
		how = fmt.Sprintf("Sign in with `%s`", login)
	}
	return how + " on the server's machine, or give a key in env, then try again."
}
