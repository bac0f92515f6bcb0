package harness_test

import (
	"context"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

func TestAnAwaitLeavesAsideWhatAPersonIsAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := w.start()
		turn := w.send(s.Session.ID, "ask")
		q := w.wait(turn.ID).Results[0].Pending()[0]
		shown, err := w.AskUser(t.Context(), me, core.AskRequest{RequestID: q.ID, Said: core.AskedNow, For: time.Minute})
		if err != nil || shown.AskedUser != core.AskedNow {
			t.Fatalf("asked %+v: %v", shown, err)
		}
		if _, err := w.AskUser(t.Context(), me, core.AskRequest{RequestID: q.ID, Said: core.AskedNow, For: time.Minute}); core.CodeOf(err) != core.CodeCommandInProgress {
			t.Errorf("asked twice: %v", err)
		}
		began := time.Now()
		res, err := w.Await(t.Context(), me, core.AwaitRequest{IDs: []string{turn.ID}, Wait: time.Hour, WakeOnRequest: true,
			HoldRequest: func(r core.Request) bool { return r.AskedUser == core.AskedNow }})
		if err != nil || res.Outcome != core.OutcomeRequest {
			t.Fatalf("%+v: %v", res, err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the await was woken after %s", took)
		}
		if got := res.Results[0].Pending()[0].AskedUser; got != core.AskedNoAnswer {
			t.Errorf("asked_user is %q", got)
		}
	})
}

func TestADelegatedSessionClosesByItselfAndNotAfterAResume(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		v := w.start(func(r *core.StartRequest) { r.CloseAtRest = true })
		id := v.Session.ID
		time.Sleep(time.Minute) // before its first turn it waits
		if st := w.session(id).Session.Status; st != core.StatusIdle {
			t.Fatalf("it is %s", st)
		}
		w.send(id, "say done")
		w.wait(id)
		time.Sleep(time.Second)
		if st := w.session(id).Session.Status; st != core.StatusClosed {
			t.Fatalf("it is %s after its turn", st)
		}
		if _, err := w.StartSession(t.Context(), me, core.StartRequest{Resume: id}); err != nil {
			t.Fatal(err)
		}
		w.send(id, "say more")
		w.wait(id)
		time.Sleep(time.Minute)
		if st := w.session(id).Session.Status; st != core.StatusIdle {
			t.Fatalf("a resumed session is %s after its turn", st)
		}
	})
}

func TestWhatIsClosedCanBePrunedAtOnce(t *testing.T) {
	// In real time: what is looked for is a moment between two goroutines.
	h := harness.New(harness.Config{Store: memstore.New(), Providers: []core.Provider{newFake()}})
	defer h.Shutdown(context.Background())
	cwd := t.TempDir()
	for range 300 {
		v, err := h.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: cwd}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Close(t.Context(), me, core.CloseRequest{ID: v.Session.ID}); err != nil {
			t.Fatal(err)
		}
		ids, err := h.Prune(t.Context(), me, core.PruneRequest{})
		if err != nil || len(ids) != 1 || ids[0] != v.Session.ID {
			t.Fatalf("pruned %v, want %s: %v", ids, v.Session.ID, err)
		}
	}
}

func TestNoTimeoutIsWaitedForWhereNoneIsWanted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start(func(r *core.StartRequest) {
			r.Config.Timeouts.SessionIdle, r.Config.Timeouts.Request = -1, -1
		}).Session.ID
		turn := w.send(id, "ask")
		q := w.wait(turn.ID).Results[0].Pending()[0]
		time.Sleep(48 * time.Hour)
		if _, err := w.Respond(t.Context(), me, core.RespondRequest{RequestID: q.ID, Response: core.Response{Action: core.ActionApprove}}); err != nil {
			t.Fatalf("a request without a bound ended: %v", err)
		}
		w.wait(turn.ID)
		time.Sleep(48 * time.Hour)
		if st := w.session(id).Session.Status; st != core.StatusIdle {
			t.Errorf("a session without a bound is %s", st)
		}
	})
}
