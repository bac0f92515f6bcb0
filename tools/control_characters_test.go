package tools

import (
	"strings"
	"testing"
	"testing/synctest"
	"unicode"

	"github.com/harness-mcp/harness-mcp/core"
)

// hostile is text that a terminal would obey.
const hostile = "\x1b]0;PWN\x07\x1b[2Jevil\u009b31m\rover"

func TestNoTextHalfHasControlCharacters(t *testing.T) {
	ended, asking := doneTurn(), aTurn(core.TurnIsAwaitingInput)
	ended.Text, ended.TextSeq, ended.StopReason = hostile, 0, hostile
	ended.Warnings = []string{hostile}
	q := anApproval()
	q.TurnID, q.Prompt, q.Details.Command = asking.ID, hostile, hostile
	s := aSession(core.StatusIdle)
	s.Title = hostile
	for name, h := range map[string]*fake{
		"an answer":  {text: hostile, get: func(string) (core.Resource, error) { return turnResource(ended), nil }},
		"a question": {get: func(string) (core.Resource, error) { return turnResource(asking, q), nil }},
		"a session": {get: func(string) (core.Resource, error) {
			return core.Resource{Kind: core.KindSession, ID: s.ID, Session: &core.SessionView{Session: s}}, nil
		}},
		"an error": {get: func(string) (core.Resource, error) {
			return core.Resource{}, core.Errorf(core.CodeStartFailed, "%s", hostile).WithHint("%s", hostile).WithDetail("output", hostile)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := callTool(t, h, Options{}, "inspect", `{"id":"x"}`)
				if i := strings.IndexFunc(r.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
					t.Errorf("a control character at %d of %q", i, r.Text)
				}
				if !strings.Contains(r.Text, "evil") {
					t.Errorf("the words are gone: %q", r.Text)
				}
			})
		})
	}
}
