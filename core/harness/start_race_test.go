package harness_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

func TestAStartWhoseCallerHasLeftHoldsNoPlace(t *testing.T) {
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{MaxSessions: 4}, func(t *testing.T, w *world) {
		for i := range 64 { // which of two ready cases a select takes is chance
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			cfg := core.SessionConfig{Provider: "fake", CWD: t.TempDir()}
			if i%2 == 1 { // with an id of its own it stays, for its caller to find
				cfg.SessionID = fmt.Sprint("chosen-", i)
			}
			if _, err := w.StartSession(ctx, me, core.StartRequest{Config: cfg}); err == nil {
				t.Fatal("a start succeeded for a caller who had left")
			}
			synctest.Wait()
			if cfg.SessionID == "" {
				continue
			}
			if _, err := w.Get(t.Context(), me.Owner, cfg.SessionID); err != nil {
				continue // it was refused before it began
			}
			ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
			if _, err := w.Close(ctx, me, core.CloseRequest{ID: cfg.SessionID, Force: true}); err != nil {
				t.Errorf("closing %s: %v", cfg.SessionID, err)
			}
			cancel()
		}
		time.Sleep(time.Minute)
		for range 4 {
			w.start()
		}
	})
}

func TestATurnIDIsOfOneSessionAndNoSessionsID(t *testing.T) {
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{}, func(t *testing.T, w *world) {
		one, two := w.start().Session.ID, w.start().Session.ID
		send := func(session, turn string) (core.Turn, error) {
			return w.SendMessage(t.Context(), me, core.SendRequest{SessionID: session, TurnID: turn, Input: core.TurnInput{Prompt: "say x"}})
		}
		first, err := send(one, "mine")
		if err != nil {
			t.Fatal(err)
		}
		w.wait(first.ID)
		if again, err := send(one, "mine"); err != nil || again.SessionID != one {
			t.Errorf("the same call again: %v in %s", err, again.SessionID)
		}
		_, err = send(two, "mine")
		wantCode(t, err, core.CodeTurnUsed)
		named := w.start(func(r *core.StartRequest) { r.Config.SessionID = "dup" }).Session.ID
		_, err = send(named, "dup")
		wantCode(t, err, core.CodeInvalidArgument)
		_, err = w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir(), SessionID: "mine"}})
		wantCode(t, err, core.CodeInvalidArgument)
	})
}

func TestAConversationThatTheAgentNamedIsOpenOnce(t *testing.T) {
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{}, func(t *testing.T, w *world) {
		v := w.start()
		again := core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir(), ProviderSesID: v.Session.ProviderSessionID}}
		_, err := w.StartSession(t.Context(), me, again)
		wantCode(t, err, core.CodeSessionInUse)
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: v.Session.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.StartSession(t.Context(), me, again); err != nil {
			t.Errorf("once it is closed: %v", err)
		}
	})
}
