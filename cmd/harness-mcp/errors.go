package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// tryHelp is the next step where there is no better one.
const tryHelp = "Try: harness-mcp --help"

// usageError is a command line that cannot be meant as it is written. It has
// an exit code of its own: to run it again is of no use.
type usageError struct {
	error
	next string // what to do about it
}

// hintedError is a failure with what to do about it.
type hintedError struct {
	error
	next string
}

func (e *hintedError) Unwrap() error { return e.error }

// usageErrorf is a usageError with a sentence about what is wrong.
func usageErrorf(next, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), next}
}

func (e *usageError) Unwrap() error { return e.error }

// sentence returns a hint for callers of tools as a hint for a person at a terminal.
func sentence(hint string) string {
	return listHint.ReplaceAllString(hints.Replace(hint), "harness-mcp list $1 shows")
}

var (
	listHint = regexp.MustCompile(`list \{kind: "([a-z]+)"\} shows`)
	hints    = strings.NewReplacer(
		"list_providers shows", "harness-mcp check shows",
		"Use answers: {question id: [values]}", `Use --answers '{"question id": ["value"]}'`,
		"Use content: {...}", "Use --content '{...}'",
		"leave answer, answers and content out", "leave --answer, --answers and --content out",
	)
)

// outcomeOf returns an error as a person should read it, and its exit code.
func outcomeOf(err error) (text string, code int) {
	var wrong *usageError
	var failed *hintedError
	switch {
	case errors.As(err, &wrong):
		return wrong.Error() + "\n" + wrong.next, exitUsage
	case errors.As(err, &failed):
		return failed.Error() + "\n" + failed.next, exitFail
	case core.CodeOf(err) == core.CodeProviderUnknown:
		return plain(err), exitUsage
	}
	return plain(err), exitFail
}

// Validate refuses numbers that mean nothing.
func (c *Common) Validate() error {
	for name, n := range map[string]int{
		"max-sessions": c.MaxSessions, "max-sessions-per-owner": c.MaxSessionsEach,
		"max-processes": c.MaxProcesses, "max-processes-per-owner": c.MaxProcessesEach, "wait": c.Wait,
	} {
		if n < 0 {
			return fmt.Errorf("--%s: %d is less than 0", name, n)
		}
	}
	return nil
}
