package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"

	"github.com/harness-mcp/harness-mcp/core"
)

// hostile is text that a terminal would obey.
const hostile = "\x1b]0;PWN\x07\x1b[2Jevil\u009b31m\rover"

func TestNoTextHalfHoldsWhatATerminalObeys(t *testing.T) {
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

func TestACutEventOfBytesIsStillBase64(t *testing.T) {
	raw := make([]byte, 50_000)
	for i := range raw {
		raw[i] = byte(i)
	}
	journal := []core.Event{event(1, core.TypeStdout, `{"base64":"`+base64.StdEncoding.EncodeToString(raw)+`"}`)}
	events, _ := shown(t, journal, `{"id":"x"}`)
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	var d struct{ Base64 string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(events[0], "1 stdout ")), &d); err != nil {
		t.Fatal(err)
	}
	got, err := base64.StdEncoding.DecodeString(d.Base64)
	if err != nil || len(got) < 1000 || !bytes.HasPrefix(raw, got) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestAnApprovalIsSuggestedWithAScopeWhereOnceIsNotOffered(t *testing.T) {
	q := anApproval()
	q.Scopes = []core.Scope{core.ScopeSession}
	synctest.Test(t, func(t *testing.T) {
		h := &fake{get: func(string) (core.Resource, error) {
			return turnResource(aTurn(core.TurnIsAwaitingInput), q), nil
		}}
		r := callTool(t, h, Options{}, "inspect", `{"id":"x"}`)
		if !strings.Contains(r.Text, `"action":"approve","request_id":"`+reqID+`","scope":"session"`) {
			t.Errorf("got\n%s", r.Text)
		}
	})
}
