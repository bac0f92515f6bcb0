package tools

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestOnlyAResumeThatCanSucceedIsSuggested inspects a session that has ended.
func TestOnlyAResumeThatCanSucceedIsSuggested(t *testing.T) {
	resumes := core.Capabilities{Resume: core.Native}
	for name, tc := range map[string]struct {
		status core.SessionStatus
		can    core.Capabilities
		code   core.Code // of its last turn
		want   bool
	}{
		"ended":                      {core.StatusClosed, resumes, "", true},
		"rate limited":               {core.StatusFailed, resumes, core.TurnRateLimited, true},
		"not signed in":              {core.StatusFailed, resumes, core.TurnAuthRequired, false},
		"provider that cannot":       {core.StatusClosed, core.Capabilities{}, "", false},
		"closing, so not ended yet":  {core.StatusClosing, resumes, "", false},
		"live":                       {core.StatusIdle, resumes, "", false},
		"refused, named by its turn": {core.StatusClosed, resumes, core.TurnAuthRequired, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSession(tc.status)
			turn := aTurn(core.TurnDoneCompleted)
			if tc.code != "" {
				turn.Status, turn.Error = core.TurnDoneFailed, &core.TurnError{Code: tc.code, Message: "refused"}
			}
			v := core.SessionView{Session: s, Last: &turn}
			h := &fake{
				get: func(string) (core.Resource, error) {
					return core.Resource{Kind: core.KindSession, ID: sesID, Session: &v}, nil
				},
				send: func(core.SendRequest) (core.Turn, error) {
					return core.Turn{}, core.Errorf(core.CodeSessionClosed, "it is closed").WithDetail("session_id", sesID)
				},
				spec: core.Spec{Transports: []core.TransportSpec{{Name: s.Transport, Capabilities: tc.can}}},
			}
			for tool, arguments := range map[string]string{
				"inspect": `{"id":"` + sesID + `"}`, "send_message": `{"session_id":"` + sesID + `","prompt":"p"}`,
			} {
				r := callTool(t, h, Options{}, tool, arguments)
				if got := strings.Contains(r.Text, `"resume":`); got != tc.want {
					t.Errorf("%s suggests a resume: %t\n%s", tool, got, r.Text)
				}
			}
		})
	}
}

func TestNoAwaitIsSuggestedForATurnThatHasEnded(t *testing.T) {
	for status, want := range map[core.TurnStatus]string{core.TurnDoneCancelled: "inspect", core.TurnIsRunning: "await"} {
		q := anApproval()
		q.Status = core.RequestDoneExpired
		h := &fake{get: func(id string) (core.Resource, error) {
			if id == trnID {
				return turnResource(aTurn(status)), nil
			}
			return core.Resource{Kind: core.KindRequest, ID: reqID, Request: &q}, nil
		}}
		r := callTool(t, h, Options{}, "inspect", `{"id":"`+reqID+`"}`)
		if !strings.Contains(r.Text, "Next: "+want+" {") {
			t.Errorf("%s:\n%s", status, r.Text)
		}
	}
}

func TestARateLimitedTurnSaysHowLongToWait(t *testing.T) {
	turn := aTurn(core.TurnDoneFailed)
	turn.Error = &core.TurnError{Code: core.TurnRateLimited, Message: "too many requests"}
	h := &fake{get: func(string) (core.Resource, error) { return turnResource(turn), nil }}
	if r := callTool(t, h, Options{}, "inspect", `{"id":"`+trnID+`"}`); !strings.Contains(r.Text, "Try again when the provider says, else after a minute") {
		t.Error(r.Text)
	}
}

func TestATurnWhoseServerEndedDoesNotSayWhenItEnded(t *testing.T) {
	turn := aTurn(core.TurnDoneInterrupted)
	turn.Reason = core.ReasonServerRestarted
	turn.FinishedAt = turn.StartedAt.Add(17 * time.Millisecond)
	h := &fake{get: func(string) (core.Resource, error) { return turnResource(turn), nil }}
	if r := callTool(t, h, Options{}, "inspect", `{"id":"`+trnID+`"}`); !strings.Contains(r.Text, "interrupted, last seen after 17 ms") {
		t.Error(r.Text)
	}
}
