package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// tryHelp is the next step of an error without a better one.
const tryHelp = "Try: harness-mcp --help"

// usageError is the error of a wrong command line. Its exit code is exitUsage: running
// it again cannot succeed.
type usageError struct {
	error
	next string // what to do about it
}

// hintedError is a failure with its next step.
type hintedError struct {
	error
	next string
}

func (e *hintedError) Unwrap() error { return e.error }

// usageErrorf returns a usageError with a formatted message.
func usageErrorf(next, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), next}
}

func (e *usageError) Unwrap() error { return e.error }

// sentence rewrites a hint for callers of tools for a person at a terminal.
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

// outcomeOf returns the text of an error for a terminal, and its exit code.
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

// Validate returns a usageError for numbers out of range.
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
