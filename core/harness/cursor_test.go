package harness_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestACursorBehindTheEndOfAJournalComesBackAsItsEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		turn := w.send(id, "hello")
		w.wait(turn.ID)
		whole, err := w.Replay(t.Context(), me.Owner, core.ReplayRequest{ID: id})
		if err != nil || whole.Cursor == 0 {
			t.Fatalf("%+v, %v", whole, err)
		}
		for _, of := range []string{id, turn.ID} {
			for after, want := range map[uint64]uint64{whole.Cursor: whole.Cursor, whole.Cursor + 1: whole.Cursor, 1 << 40: whole.Cursor} {
				p, err := w.Replay(t.Context(), me.Owner, core.ReplayRequest{ID: of, After: after})
				if err != nil || p.Cursor != want || p.More || len(p.Events) > 0 {
					t.Errorf("%s after %d: cursor %d, want %d (%+v, %v)", of, after, p.Cursor, want, p, err)
				}
			}
		}
		p, err := w.Replay(t.Context(), core.AllOwners, core.ReplayRequest{ID: id, After: 1 << 40})
		if err != nil || p.Cursor != whole.Cursor {
			t.Errorf("for every owner: cursor %d, want %d (%v)", p.Cursor, whole.Cursor, err)
		}
	})
}

func TestAnIDThatLivesOnAnotherServerIsNotSaidToBeUsableHere(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		named := func(r *core.StartRequest) { r.Config.SessionID = "mine" }
		a.start(named)
		for name, w := range map[string]*world{"here": a, "there": b} {
			_, err := w.StartSession(t.Context(), me, core.StartRequest{
				Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir(), SessionID: "mine"}})
			wantCode(t, err, core.CodeSessionInUse)
			var e *core.Error
			if !errors.As(err, &e) || strings.Contains(e.Hint, "send_message") != (name == "here") {
				t.Errorf("%s: %v, hint %q", name, err, e.Hint)
			}
		}
	})
}

func TestAnApprovalWithoutScopeIsNotWidened(t *testing.T) {
	always := core.RequestSpec{Actions: []core.Action{core.ActionApprove}, Scopes: []core.Scope{core.ScopeSession}}
	_, err := core.CheckResponse(always, core.Response{Action: core.ActionApprove})
	if err == nil || err.Code != core.CodeScope || !strings.Contains(err.Hint, "session") {
		t.Errorf("got %v", err)
	}
	if got, err := core.CheckResponse(always, core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}); err != nil || got.Scope != core.ScopeSession {
		t.Errorf("got %+v, %v", got, err)
	}
}
