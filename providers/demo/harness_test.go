package demo_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// hosted is the agent inside a real harness, as callers meet it.
type hosted struct {
	*testing.T
	*harness.Harness
	me core.Caller
}

func host(t *testing.T) *hosted {
	store := memstore.New()
	h := harness.New(harness.Config{Store: store, Providers: []core.Provider{fast(t)}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return &hosted{T: t, Harness: h, me: core.Caller{Owner: "local", Client: "test"}}
}

func (h *hosted) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *hosted) start(r core.StartRequest) core.SessionView {
	h.Helper()
	if r.Resume == "" {
		r.Config.Provider, r.Config.CWD = "demo", h.TempDir()
	}
	v, err := h.StartSession(h.Context(), h.me, r)
	h.must(err)
	return v
}

func (h *hosted) say(session, prompt string) core.Turn {
	h.Helper()
	t, err := h.SendMessage(h.Context(), h.me, core.SendRequest{SessionID: session, Input: core.TurnInput{Prompt: prompt}})
	h.must(err)
	return t
}

// until waits until the turn asks something or has ended.
func (h *hosted) until(turn string, want core.Outcome) core.Resource {
	h.Helper()
	got, err := h.Await(h.Context(), h.me, core.AwaitRequest{IDs: []string{turn}, Wait: time.Minute, WakeOnRequest: true})
	h.must(err)
	if got.Outcome != want {
		h.Fatalf("await gave %s, not %s", got.Outcome, want)
	}
	return got.Results[0]
}

func (h *hosted) ended(turn string, want core.TurnStatus) core.Turn {
	h.Helper()
	t := *h.until(turn, core.OutcomeDone).Turn
	if t.Status != want {
		h.Fatalf("the turn is %s, not %s: %+v", t.Status, want, t.Error)
	}
	return t
}

func TestInAHarnessItAnswersAsksAndRemembers(t *testing.T) {
	h := host(t)
	s := h.start(core.StartRequest{}).Session.ID

	if got := h.ended(h.say(s, "say apples").ID, core.TurnDoneCompleted).Text; got != "apples" {
		t.Errorf("the turn's text is %q", got)
	}
	if e := h.ended(h.say(s, "fail").ID, core.TurnDoneFailed).Error; e == nil || e.Code != core.TurnProviderError {
		t.Errorf("the failed turn says %+v", e)
	}

	asking := h.say(s, "ask")
	pending := h.until(asking.ID, core.OutcomeRequest).Pending()
	_, err := h.Respond(t.Context(), h.me, core.RespondRequest{
		RequestID: pending[0].ID, Response: core.Response{Action: core.ActionAnswer, Answer: "Ahoy"},
	})
	h.must(err)
	if got := h.ended(asking.ID, core.TurnDoneCompleted).Text; got != "You chose: Ahoy" {
		t.Errorf("the answer came to %q", got)
	}

	_, err = h.Close(t.Context(), h.me, core.CloseRequest{ID: s})
	h.must(err)
	again := h.start(core.StartRequest{Resume: s})
	if again.Session.ID != s || again.Session.Epoch != 2 {
		t.Errorf("resumed as %s, epoch %d", again.Session.ID, again.Session.Epoch)
	}
	if got := h.ended(h.say(s, "recall").ID, core.TurnDoneCompleted).Text; !strings.Contains(got, "say apples\nfail\nask") {
		t.Errorf("it remembers %q", got)
	}
}

func TestInAHarnessATurnIsSteeredAndInterrupted(t *testing.T) {
	h := host(t)
	s := h.start(core.StartRequest{}).Session.ID

	turn := h.say(s, "approve\nsay done")
	ask := h.until(turn.ID, core.OutcomeRequest).Pending()[0]
	_, err := h.Steer(t.Context(), h.me, core.SteerRequest{SessionID: s, Input: core.TurnInput{Prompt: "be quick"}})
	h.must(err)
	_, err = h.Respond(t.Context(), h.me, core.RespondRequest{
		RequestID: ask.ID, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeSession},
	})
	h.must(err)
	h.ended(turn.ID, core.TurnDoneCompleted)
	page, err := h.Replay(t.Context(), h.me.Owner, core.ReplayRequest{ID: turn.ID, Types: []core.EventType{core.TypeMessage}})
	h.must(err)
	if len(page.Events) != 3 || !strings.Contains(string(page.Events[0].Data), "be quick") {
		t.Errorf("the steered text is not what was said next: %d messages", len(page.Events))
	}

	for _, prompt := range []string{"slow 600000", "ask"} {
		turn := h.say(s, prompt)
		if prompt == "ask" {
			h.until(turn.ID, core.OutcomeRequest)
		}
		_, err := h.Interrupt(t.Context(), h.me, core.InterruptRequest{SessionID: s})
		h.must(err)
		h.ended(turn.ID, core.TurnDoneCancelled)
	}
	h.ended(h.say(s, "say still here").ID, core.TurnDoneCompleted)
}

func TestInAHarnessAForkIsAnotherSession(t *testing.T) {
	h := host(t)
	s := h.start(core.StartRequest{}).Session.ID
	h.ended(h.say(s, "say apples").ID, core.TurnDoneCompleted)
	branch := h.start(core.StartRequest{Resume: s, Fork: true}).Session
	if branch.ID == s {
		t.Fatal("the fork has the id of the original")
	}
	if got := h.ended(h.say(branch.ID, "recall").ID, core.TurnDoneCompleted).Text; !strings.Contains(got, "say apples") {
		t.Errorf("the fork remembers %q", got)
	}
	h.ended(h.say(s, "say pears").ID, core.TurnDoneCompleted)
}
