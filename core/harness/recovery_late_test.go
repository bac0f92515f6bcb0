package harness_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/machine"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// onceEnded wants every turn of a session to have one end, in the journal and
// in its row, and the same word in both; and the session to have at most one.
func onceEnded(t *testing.T, s core.Store, id string) {
	t.Helper()
	turns, err := s.Turns(t.Context(), core.ListQuery{Owner: me.Owner, SessionID: id, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	events := eventsOf(t, s, id)
	for _, r := range turns {
		n := count(events, func(e core.Event) bool { return e.TurnID == r.Turn.ID && e.Type.EndsTurn() })
		word := core.EventType("turn_" + string(r.Turn.Status))
		if n != 1 || count(events, func(e core.Event) bool { return e.TurnID == r.Turn.ID && e.Type == word }) != 1 {
			t.Errorf("turn %s is %s and has %d ends", r.Turn.ID, r.Turn.Status, n)
		}
	}
	if n := count(events, func(e core.Event) bool {
		return e.Type == core.SessionClosed || e.Type == core.SessionFailed || e.Type == core.SessionKilled
	}); n > 1 {
		t.Errorf("the session has %d ends", n)
	}
	asks, err := s.Requests(t.Context(), core.ListQuery{Owner: me.Owner, SessionID: id, Limit: 1000,
		Status: []string{string(core.RequestPending), string(core.RequestClaimed)}})
	if err != nil || len(asks) > 0 {
		t.Errorf("%d requests are open, %v", len(asks), err)
	}
	last := uint64(0)
	for _, e := range events {
		if e.Seq <= last {
			t.Errorf("seq %d follows %d", e.Seq, last)
		}
		last = e.Seq
	}
}

// stopped is what the stop policy is tried with: what a turn does while the
// disk stands still, so that it is in the batch that fails.
var stopped = map[string]func(t *testing.T, w *world, st *lateStore, id string){
	"a turn that was accepted": func(t *testing.T, w *world, st *lateStore, id string) {
		st.stop()
		_, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "hold"}})
		wantCode(t, err, core.CodeStoreFailed)
	},
	"a turn that ended": func(t *testing.T, w *world, st *lateStore, id string) {
		turn := w.send(id, "hold")
		synctest.Wait()
		st.stop()
		w.fake.last().say(core.TurnEnded{Turn: turn.ID, Verdict: core.VerdictCompleted})
		w.wait(turn.ID)
	},
	"a request": func(t *testing.T, w *world, st *lateStore, id string) {
		turn := w.send(id, "hold")
		synctest.Wait()
		st.stop()
		w.fake.last().say(core.RequestRaised{Turn: turn.ID, Ref: "r", Spec: core.RequestSpec{
			Kind: core.KindCommandApproval, Prompt: "Run it?", Scopes: []core.Scope{core.ScopeOnce},
			Actions: []core.Action{core.ActionApprove, core.ActionDeny, core.ActionCancel}}})
		time.Sleep(2 * time.Second)
	},
	"a queued turn": func(t *testing.T, w *world, st *lateStore, id string) {
		w.send(id, "hold")
		synctest.Wait()
		st.stop()
		_, err := w.FollowUp(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x"}})
		wantCode(t, err, core.CodeStoreFailed)
	},
	"a close": func(t *testing.T, w *world, st *lateStore, id string) {
		st.stop()
		_, _ = w.Close(t.Context(), me, core.CloseRequest{ID: id})
	},
}

func TestWhereTheStoreStopsASessionALateBatchEndsOnceToo(t *testing.T) {
	for name, play := range stopped {
		t.Run(name, func(t *testing.T) {
			st := &lateStore{Store: memstore.New()}
			inWorldOn(t, func() core.Store { return st }, core.Limits{StoreTimeout: time.Second, StopOnStoreFailure: true}, func(t *testing.T, w *world) {
				id := w.start().Session.ID
				play(t, w, st, id)
				time.Sleep(3 * time.Second) // an attempt fails too
				st.move(t)
				time.Sleep(time.Minute)
				if got := w.session(id).Session.Status; got.Live() {
					t.Errorf("session = %s", got)
				}
				onceEnded(t, st.Store, id)
			})
		})
	}
}

func TestWhereTheStoreStopsASessionALateBatchEndsOnceAfterARestartToo(t *testing.T) {
	for name, play := range stopped {
		t.Run(name, func(t *testing.T) {
			first := memstore.New()
			st := &lateStore{Store: first}
			inWorldOn(t, func() core.Store { return st }, core.Limits{StoreTimeout: time.Second, StopOnStoreFailure: true}, func(t *testing.T, w *world) {
				id := w.start().Session.ID
				play(t, w, st, id)
				st.move(t)
				st.fail.Store(true) // and nothing more until it dies
				other := first.Reopen()
				if err := first.Close(); err != nil {
					t.Fatal(err)
				}
				h := harness.New(harness.Config{Store: other})
				defer h.Shutdown(context.Background()) //nolint:errcheck // it has nothing
				h.Recover(t.Context())
				h.Recover(t.Context())
				rec, err := other.Session(t.Context(), me.Owner, id)
				if err != nil || rec.Session.Status.Live() {
					t.Errorf("session = %s, %v", rec.Session.Status, err)
				}
				onceEnded(t, other, id)
			})
		})
	}
}

func TestAStartThatWasGivenUpAndComesThroughLateIsPutToRest(t *testing.T) {
	st := &lateStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{StoreTimeout: time.Second, StopOnStoreFailure: true}, func(t *testing.T, w *world) {
		st.stop()
		_, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir(), SessionID: "mine"}})
		wantCode(t, err, core.CodeStoreFailed)
		st.move(t)
		time.Sleep(10 * time.Second) // a look
		rec, err := st.Session(t.Context(), me.Owner, "mine")
		if err != nil || rec.Session.Status != core.StatusUnavailable || rec.Session.Reason != core.ReasonDurabilityLost {
			t.Errorf("session = %s %s, %v", rec.Session.Status, rec.Session.Reason, err)
		}
	})
}

// TestNoCommandWaitsForAnAttemptToRecover has an attempt stand still, and asks
// for everything that a caller may want at once.
func TestNoCommandWaitsForAnAttemptToRecover(t *testing.T) {
	st := &lateStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		ids := []string{w.start().Session.ID, w.start().Session.ID}
		st.fail.Store(true)
		turns := []core.Turn{w.send(ids[0], "hold"), w.send(ids[1], "hold")}
		st.stop()
		time.Sleep(1500 * time.Millisecond) // in the middle of an attempt, which takes 2 s
		begin := time.Now()
		w.follow(ids[0], "hold")
		if _, err := w.Interrupt(t.Context(), me, core.InterruptRequest{SessionID: ids[0]}); err != nil {
			t.Error(err)
		}
		w.wait(turns[0].ID)
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: ids[1], Force: true}); err != nil {
			t.Error(err)
		}
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: ids[0]}); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 100*time.Millisecond {
			t.Errorf("commands took %s", took)
		}
		st.fail.Store(false)
		st.move(t)
		time.Sleep(time.Minute)
		for _, id := range ids {
			onceEnded(t, st.Store, id)
			if rec, err := st.Session(t.Context(), me.Owner, id); err != nil || rec.Session.Status.Live() || rec.Session.Durability != core.Durable {
				t.Errorf("stored as %s %s, %v", rec.Session.Status, rec.Session.Durability, err)
			}
		}
	})
}

func TestWhatHappensDuringAnAttemptIsWrittenBehindIt(t *testing.T) {
	st := &slowStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		st.set(0, true)
		held := w.send(id, "hold")
		st.set(time.Second, false)
		time.Sleep(1500 * time.Millisecond) // in the middle of an attempt that will succeed
		begin := time.Now()
		if _, err := w.Interrupt(t.Context(), me, core.InterruptRequest{SessionID: id}); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 100*time.Millisecond {
			t.Errorf("the interrupt took %s", took)
		}
		w.wait(held.ID)
		time.Sleep(10 * time.Second)
		st.set(0, false)
		events := eventsOf(t, st.Store, id)
		var types []core.EventType
		for i, e := range events {
			if e.Type == core.StoreRecovered {
				for _, e := range events[i+1:] {
					types = append(types, e.Type)
				}
			}
		}
		if len(types) == 0 || types[0] != core.CancelRequested {
			t.Errorf("behind the attempt: %v", types)
		}
		onceEnded(t, st.Store, id)
		if got := w.session(id).Session; got.Durability != core.Durable || got.Status != core.StatusIdle {
			t.Errorf("session = %s %s", got.Status, got.Durability)
		}
		if rec, err := st.Session(t.Context(), me.Owner, id); err != nil || rec.Session.Durability != core.Durable || rec.Session.Status != core.StatusIdle {
			t.Errorf("stored as %s %s, %v", rec.Session.Status, rec.Session.Durability, err)
		}
		w.wait(w.send(id, "say on").ID)
		onceEnded(t, st.Store, id)
	})
}

func TestTurnsThatTheStoreMissedAreKnownUntilItHasThem(t *testing.T) {
	st := &lateStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		first := w.send(id, "hold") // its row is on disk, and will say that it runs
		synctest.Wait()
		st.fail.Store(true)
		w.fake.last().say(core.TurnEnded{Turn: first.ID, Verdict: core.VerdictCompleted})
		w.wait(first.ID)
		var turns []string
		for range 3 {
			turn := w.send(id, "say x")
			w.wait(turn.ID)
			turns = append(turns, turn.ID)
		}
		for _, turn := range append(turns, first.ID) {
			if got := w.turn(turn); got.Status != core.TurnDoneCompleted {
				t.Errorf("while the store fails a turn is %s", got.Status)
			}
		}
		st.fail.Store(false)
		time.Sleep(time.Minute)
		for _, turn := range append(turns, first.ID) {
			if rec, err := st.Turn(t.Context(), me.Owner, turn); err != nil || rec.Turn.Status != core.TurnDoneCompleted {
				t.Errorf("afterwards it is stored as %s, %v", rec.Turn.Status, err)
			}
		}
	})
}

func TestALongAnswerThatTheStoreMissedIsWhole(t *testing.T) {
	st := &lateStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		st.fail.Store(true)
		long := strings.Repeat("word ", machine.InlineText)
		turn := w.send(id, "say "+long)
		w.wait(turn.ID)
		st.fail.Store(false)
		time.Sleep(time.Minute)
		rec, err := st.Turn(t.Context(), me.Owner, turn.ID)
		if err != nil {
			t.Fatal(err)
		}
		if text, n, err := w.TurnText(t.Context(), rec.Turn, 0, 10*machine.InlineText); err != nil || text != long || n != len(long) {
			t.Errorf("%d of %d bytes of the answer are there, %v", len(text), len(long), err)
		}
		onceEnded(t, st.Store, id)
	})
}

func TestAListOfWhatLivesHasNothingThatItHasPutToRest(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		a.start()
		a.start()
		a.die()
		live := true
		l, err := b.List(t.Context(), me.Owner, core.ListRequest{Kind: core.KindSession, Live: &live})
		if err != nil || len(l.Items) != 0 {
			t.Errorf("%d sessions of a dead server live, %v", len(l.Items), err)
		}
		l, err = b.List(t.Context(), me.Owner, core.ListRequest{Kind: core.KindSession})
		if err != nil || len(l.Items) != 2 {
			t.Errorf("%d sessions are listed in all, %v", len(l.Items), err)
		}
	})
}
