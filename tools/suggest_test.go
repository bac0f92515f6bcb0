package tools

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
)

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
