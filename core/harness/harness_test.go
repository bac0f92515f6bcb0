package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

var me = core.Caller{Owner: "local", Client: "test"}

// world is a harness on a fake agent, inside a bubble of fake time.
type world struct {
	*harness.Harness
	t     *testing.T
	fake  *fakeProvider
	store core.Store
}

func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{}, f)
}

func inWorldOn(t *testing.T, store func() core.Store, limits core.Limits, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fake: newFake(), store: store()}
		w.Harness = harness.New(harness.Config{Store: w.store, Providers: []core.Provider{w.fake}, Limits: limits})
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := w.Shutdown(ctx); err != nil {
				t.Errorf("shutdown: %v", err)
			}
		}()
		f(t, w)
	})
}

func (w *world) start(edit ...func(*core.StartRequest)) core.SessionView {
	w.t.Helper()
	r := core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: w.t.TempDir()}}
	for _, e := range edit {
		e(&r)
	}
	v, err := w.StartSession(w.t.Context(), me, r)
	if err != nil {
		w.t.Fatalf("start: %v", err)
	}
	return v
}

func (w *world) send(id, prompt string) core.Turn {
	w.t.Helper()
	t, err := w.SendMessage(w.t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: prompt}})
	if err != nil {
		w.t.Fatalf("send %q: %v", prompt, err)
	}
	return t
}

func (w *world) follow(id, prompt string) core.Turn {
	w.t.Helper()
	t, err := w.FollowUp(w.t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: prompt}})
	if err != nil {
		w.t.Fatalf("follow up %q: %v", prompt, err)
	}
	return t
}

func (w *world) wait(ids ...string) core.AwaitResult {
	w.t.Helper()
	r, err := w.Await(w.t.Context(), me, core.AwaitRequest{IDs: ids, Wait: time.Hour, WakeOnRequest: true})
	if err != nil {
		w.t.Fatalf("await: %v", err)
	}
	return r
}

func (w *world) turn(id string) core.Turn {
	w.t.Helper()
	r, err := w.Get(w.t.Context(), me.Owner, id)
	if err != nil {
		w.t.Fatalf("get %s: %v", id, err)
	}
	return *r.Turn
}

func (w *world) session(id string) core.SessionView {
	w.t.Helper()
	r, err := w.Get(w.t.Context(), me.Owner, id)
	if err != nil {
		w.t.Fatalf("get %s: %v", id, err)
	}
	return *r.Session
}

func (w *world) types(id string) string {
	w.t.Helper()
	p, err := w.Replay(w.t.Context(), me.Owner, core.ReplayRequest{ID: id, Limit: 1000})
	if err != nil {
		w.t.Fatalf("replay: %v", err)
	}
	var out []string
	last := uint64(0)
	for _, e := range p.Events {
		if e.Seq <= last {
			w.t.Errorf("seq %d follows %d", e.Seq, last)
		}
		last = e.Seq
		out = append(out, string(e.Type))
	}
	return strings.Join(out, " ")
}

func wantCode(t *testing.T, err error, code core.Code) {
	t.Helper()
	if core.CodeOf(err) != code {
		t.Errorf("error = %v, want code %s", err, code)
	}
	if e := core.AsError(err); e != nil && e.Hint == "" {
		t.Errorf("%v says nothing of what to do next", e)
	}
}

func TestATurnRunsFromPromptToAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := w.start()
		turn := w.send(s.Session.ID, "say hello there")
		if turn.Status != core.TurnIsStarting {
			t.Errorf("handle status = %s, want starting", turn.Status)
		}
		r := w.wait(turn.ID)
		if r.Outcome != core.OutcomeDone || r.Results[0].Turn.Status != core.TurnDoneCompleted || r.Results[0].Turn.Text != "hello there" {
			t.Errorf("await = %+v %+v", r.Outcome, r.Results[0].Turn)
		}
		want := "session_started session_ready session_idle turn_accepted turn_started message_delta message_delta message turn_completed session_idle"
		if got := w.types(s.Session.ID); got != want {
			t.Errorf("journal\n got %s\nwant %s", got, want)
		}
	})
}

func TestASecondMessageIsRefusedAndAFollowUpQueues(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		first := w.send(id, "hold")
		_, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x"}})
		wantCode(t, err, core.CodeTurnInProgress)
		a, b := w.follow(id, "say a"), w.follow(id, "say b")
		if a.QueuePosition != 1 || b.QueuePosition != 2 {
			t.Errorf("positions = %d, %d", a.QueuePosition, b.QueuePosition)
		}
		if _, err := w.Interrupt(t.Context(), me, core.InterruptRequest{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		r := w.wait(first.ID, a.ID, b.ID)
		var got []string
		for _, x := range r.Results {
			got = append(got, string(x.Turn.Status)+":"+x.Turn.Text)
		}
		if s := strings.Join(got, " "); s != "cancelled: completed:a completed:b" {
			t.Errorf("results = %s", s)
		}
	})
}

func TestAnApprovalWakesTheWaiterAndIsAnsweredOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		turn := w.send(id, "ask")
		r := w.wait(turn.ID)
		if r.Outcome != core.OutcomeRequest {
			t.Fatalf("outcome = %s", r.Outcome)
		}
		req := r.Results[0].Pending()[0]
		_, err := w.Respond(t.Context(), me, core.RespondRequest{RequestID: req.ID, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}})
		wantCode(t, err, core.CodeScope)
		got, err := w.Respond(t.Context(), me, core.RespondRequest{RequestID: req.ID, Response: core.Response{Action: core.ActionApprove}})
		if err != nil || got.Status != core.RequestDoneResolved {
			t.Fatalf("respond = %+v, %v", got, err)
		}
		_, err = w.Respond(t.Context(), me, core.RespondRequest{RequestID: req.ID, Response: core.Response{Action: core.ActionDeny}})
		wantCode(t, err, core.CodeRequestNotPending)
		if r := w.wait(turn.ID); r.Results[0].Turn.Text != "answered approve" {
			t.Errorf("text = %q", r.Results[0].Turn.Text)
		}
	})
}

func TestAnUnansweredRequestIsDeniedInTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start(func(r *core.StartRequest) { r.Config.Timeouts.Request = time.Minute }).Session.ID
		turn := w.send(id, "ask")
		req := w.wait(turn.ID).Results[0].Pending()[0]
		begin := time.Now()
		r, err := w.Await(t.Context(), me, core.AwaitRequest{IDs: []string{turn.ID}, Wait: time.Hour})
		if err != nil || r.Results[0].Turn.Text != "answered deny" || time.Since(begin) != time.Minute {
			t.Errorf("after %s: %+v, %v", time.Since(begin), r.Results[0].Turn, err)
		}
		got, err := w.Get(t.Context(), me.Owner, req.ID)
		if err != nil || got.Request.Status != core.RequestDoneExpired || got.Request.Resolution.Reason != "no_answer" {
			t.Errorf("request = %+v, %v", got.Request, err)
		}
	})
}

func TestAnInterruptWithoutAVerdictEndsTheSession(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		turn := w.send(id, "deaf")
		if _, err := w.Interrupt(t.Context(), me, core.InterruptRequest{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		w.wait(turn.ID)
		if got := w.turn(turn.ID); got.Status != core.TurnDoneInterrupted || got.Reason != core.ReasonNoVerdict {
			t.Errorf("turn = %s, %s", got.Status, got.Reason)
		}
		w.wait(id)
		if got := w.session(id).Session.Status; got != core.StatusFailed {
			t.Errorf("session = %s", got)
		}
	})
}

func TestALostLinkFailsTheTurnAndResumeGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		turn := w.send(id, "die")
		w.wait(turn.ID)
		if got := w.turn(turn.ID); got.Status != core.TurnDoneFailed || got.Error.Code != core.TurnTransportLost {
			t.Errorf("turn = %+v", got)
		}
		_, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x"}})
		wantCode(t, err, core.CodeSessionUnavailable)
		v, err := w.StartSession(t.Context(), me, core.StartRequest{Resume: id})
		if err != nil || v.Session.Epoch != 2 || v.Session.ID != id {
			t.Fatalf("resume = %+v, %v", v.Session, err)
		}
		if got := w.fake.last().cfg.ProviderSesID; got != "conv-"+id {
			t.Errorf("resumed conversation %q", got)
		}
		if got := w.types(id); got != "session_started session_ready session_idle turn_accepted turn_started transport_error turn_failed session_ready session_idle" {
			t.Errorf("the journal of a resumed session: %s", got)
		}
		again := w.send(id, "say back")
		if r := w.wait(again.ID); r.Results[0].Turn.Text != "back" {
			t.Errorf("text = %q", r.Results[0].Turn.Text)
		}
	})
}

func TestAFailedResumeChangesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		w.wait(w.send(id, "die").ID)
		before := w.types(id)
		w.fake.open = func(context.Context, core.SessionConfig) error { return errors.New("no") }
		_, err := w.StartSession(t.Context(), me, core.StartRequest{Resume: id})
		wantCode(t, err, core.CodeStartFailed)
		if got := w.types(id); got != before {
			t.Errorf("journal changed:\n%s\n%s", before, got)
		}
		if got := w.session(id).Session; got.Status != core.StatusUnavailable || got.Epoch != 1 {
			t.Errorf("session = %s epoch %d", got.Status, got.Epoch)
		}
	})
}

func TestAStartThatFailsLeavesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.fake.open = func(context.Context, core.SessionConfig) error { return errors.New("no such flag") }
		_, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir(), SessionID: "mine"}})
		wantCode(t, err, core.CodeStartFailed)
		_, err = w.Get(t.Context(), me.Owner, "mine")
		wantCode(t, err, core.CodeNotFound)
		w.fake.open = nil
		w.start(func(r *core.StartRequest) { r.Config.SessionID = "mine" })
	})
}

func TestAStartThatHangsTimesOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.fake.open = func(ctx context.Context, _ core.SessionConfig) error { <-ctx.Done(); return ctx.Err() }
		begin := time.Now()
		_, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}})
		wantCode(t, err, core.CodeStartTimeout)
		if d := time.Since(begin); d != 30*time.Second {
			t.Errorf("took %s", d)
		}
	})
}

func TestAStartIsUndoneWhenItsCallerLeaves(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.fake.open = func(ctx context.Context, _ core.SessionConfig) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(5 * time.Second):
				return nil
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.StartSession(ctx, me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}}); !core.IsContext(err) {
			t.Errorf("err = %v", err)
		}
		time.Sleep(10 * time.Second)
		if l, err := w.List(t.Context(), me.Owner, core.ListRequest{Kind: core.KindSession}); err != nil || len(l.Items) != 0 {
			t.Errorf("left behind: %+v, %v", l.Items, err)
		}
		// With a chosen id it goes on without its caller.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = w.StartSession(ctx, me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir(), SessionID: "kept"}})
		if got := w.session("kept").Session.Status; got != core.StatusOpening {
			t.Errorf("status = %s", got)
		}
		w.wait("kept")
		if got := w.session("kept").Session.Status; got != core.StatusIdle {
			t.Errorf("status = %s", got)
		}
	})
}

func TestCloseEndsTheTurnAndTheQueueInOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		w.send(id, "hold")
		synctest.Wait() // the agent has taken the turn
		w.follow(id, "say a")
		r, err := w.Close(t.Context(), me, core.CloseRequest{ID: id})
		if err != nil || r.Session.Session.Status != core.StatusClosed {
			t.Fatalf("close = %+v, %v", r.Session, err)
		}
		want := "session_started session_ready session_idle turn_accepted turn_started turn_queued queue_changed " +
			"turn_interrupted queue_changed cancel_requested turn_cancelled session_closed"
		if got := w.types(id); got != want {
			t.Errorf("journal\n got %s\nwant %s", got, want)
		}
		again, err := w.Close(t.Context(), me, core.CloseRequest{ID: id})
		if err != nil || again.Session.Session.Status != core.StatusClosed {
			t.Errorf("second close = %+v, %v", again.Session, err)
		}
		_, err = w.FollowUp(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say b"}})
		wantCode(t, err, core.CodeSessionClosed)
	})
}

func TestKillEndsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		turn := w.send(id, "deaf")
		r, err := w.Close(t.Context(), me, core.CloseRequest{ID: id, Force: true})
		if err != nil || r.Session.Session.Status != core.StatusKilled {
			t.Fatalf("kill = %+v, %v", r.Session, err)
		}
		if got := w.turn(turn.ID); got.Status != core.TurnDoneInterrupted || got.Reason != core.ReasonForcedStop {
			t.Errorf("turn = %s %s", got.Status, got.Reason)
		}
	})
}

func TestWithAllowedExecutablesNoSessionLoadsOthers(t *testing.T) {
	for _, allow := range [][]string{nil, {"true"}} {
		inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{AllowExec: allow}, func(t *testing.T, w *world) {
			cfg := core.SessionConfig{Provider: "fake", CWD: t.TempDir(), Env: map[string]string{"LD_PRELOAD": "/nowhere/x.so"}}
			v, err := w.StartSession(t.Context(), me, core.StartRequest{Config: cfg})
			if refused := core.CodeOf(err) == core.CodeInvalidArgument; refused != (allow != nil) || err != nil && !refused {
				t.Errorf("with %v: %+v, %v", allow, v, err)
			}
		})
	}
}

func TestTheSameKeyMakesOneEffect(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		once := core.Once{Tool: "send_message", Key: "k1", Args: json.RawMessage(`{"p":1}`)}
		send := func(o core.Once) (core.Turn, error) {
			return w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say one"}, Once: o})
		}
		first, err := send(once)
		if err != nil {
			t.Fatal(err)
		}
		w.wait(first.ID)
		again, err := send(once)
		if err != nil || again.ID != first.ID || again.Status != core.TurnDoneCompleted {
			t.Errorf("again = %+v, %v", again, err)
		}
		once.Args = json.RawMessage(`{"p":2}`)
		_, err = send(once)
		wantCode(t, err, core.CodeIdempotency)
		// A chosen turn id is as good as a key.
		own := core.SendRequest{SessionID: id, TurnID: "mine", Input: core.TurnInput{Prompt: "say two"}}
		a, err := w.SendMessage(t.Context(), me, own)
		if err != nil {
			t.Fatal(err)
		}
		w.wait(a.ID)
		b, err := w.SendMessage(t.Context(), me, own)
		if err != nil || b.ID != "mine" || b.Status != core.TurnDoneCompleted {
			t.Errorf("repeat = %+v, %v", b, err)
		}
		own.Input.Prompt = "say three"
		_, err = w.SendMessage(t.Context(), me, own)
		wantCode(t, err, core.CodeTurnUsed)
	})
}

func TestManyCallsWithOneKeyAreJoined(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var opens atomic.Int32
		w.fake.open = func(context.Context, core.SessionConfig) error {
			opens.Add(1)
			time.Sleep(time.Second)
			return nil
		}
		dir := t.TempDir()
		ids := make(chan string, 8)
		for range 8 {
			go func() {
				v, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: dir},
					Once: core.Once{Tool: "start_session", Key: "k", Args: json.RawMessage(`{}`)}})
				if err != nil {
					t.Errorf("start: %v", err)
				}
				ids <- v.Session.ID
			}()
		}
		seen := map[string]bool{}
		for range 8 {
			seen[<-ids] = true
		}
		if len(seen) != 1 || opens.Load() != 1 {
			t.Errorf("%d sessions, %d opens", len(seen), opens.Load())
		}
	})
}

func TestALongAnswerStandsOnceInTheJournal(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		long := strings.Repeat("grüße ", 40<<10)
		turn := w.send(id, "say "+long)
		w.wait(turn.ID)
		got := w.turn(turn.ID)
		if got.Text != "" || got.TextSeq == 0 || got.TextBytes != len(long) {
			t.Fatalf("text %d bytes inline, seq %d, bytes %d", len(got.Text), got.TextSeq, got.TextBytes)
		}
		var b strings.Builder
		for b.Len() < got.TextBytes {
			part, total, err := w.TurnText(t.Context(), got, b.Len(), 9999)
			if err != nil || total != len(long) || part == "" {
				t.Fatalf("part at %d: %d bytes of %d, %v", b.Len(), len(part), total, err)
			}
			b.WriteString(part)
		}
		if b.String() != long {
			t.Error("the pages do not join to the answer")
		}
	})
}

func TestOthersSeeNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		turn := w.send(id, "ask")
		req := w.wait(turn.ID).Results[0].Pending()[0]
		other := core.Caller{Owner: "other"}
		for _, x := range []string{id, turn.ID, req.ID} {
			_, err := w.Get(t.Context(), other.Owner, x)
			wantCode(t, err, core.CodeNotFound)
		}
		_, err := w.Respond(t.Context(), other, core.RespondRequest{RequestID: req.ID, Response: core.Response{Action: core.ActionApprove}})
		wantCode(t, err, core.CodeNotFound)
		_, err = w.Close(t.Context(), other, core.CloseRequest{ID: id})
		wantCode(t, err, core.CodeNotFound)
	})
}

func TestCapacityNamesItsLimit(t *testing.T) {
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{MaxSessions: 2}, func(t *testing.T, w *world) {
		first := w.start()
		w.start()
		_, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}})
		wantCode(t, err, core.CodeCapacity)
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: first.Session.ID}); err != nil {
			t.Fatal(err)
		}
		w.start()
	})
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{MaxSessionsPerOwner: 1}, func(t *testing.T, w *world) {
		w.start()
		r := core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}}
		_, err := w.StartSession(t.Context(), me, r)
		wantCode(t, err, core.CodeCapacity)
		if _, err := w.StartSession(t.Context(), core.Caller{Owner: "other"}, r); err != nil {
			t.Errorf("another owner's first session: %v", err)
		}
	})
}

func TestAWaitEndsWithItsCallerAndTheTurnGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		turn := w.send(id, "hold")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Await(ctx, me, core.AwaitRequest{IDs: []string{turn.ID}, Wait: time.Hour}); !core.IsContext(err) {
			t.Errorf("err = %v", err)
		}
		r, err := w.Await(t.Context(), me, core.AwaitRequest{IDs: []string{turn.ID}, Wait: time.Second})
		if err != nil || r.Outcome != core.OutcomeTimeout || r.Results[0].Turn.Status != core.TurnIsRunning || len(r.WaitingOn) != 1 {
			t.Errorf("await = %+v, %v", r, err)
		}
	})
}

// brokenStore fails its commits while broken is set.
type brokenStore struct {
	core.Store
	broken atomic.Bool
	stall  atomic.Bool
}

func (s *brokenStore) Commit(ctx context.Context, b core.Batch) error {
	if s.stall.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.broken.Load() {
		return errors.New("disk full")
	}
	return s.Store.Commit(ctx, b)
}

func TestASessionGoesOnWhileTheStoreFailsAndSaysSo(t *testing.T) {
	st := &brokenStore{}
	inWorldOn(t, func() core.Store { st.Store = memstore.New(); return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		w.wait(w.send(id, "say durable").ID)
		st.broken.Store(true)
		lost := w.send(id, "say lost")
		if r := w.wait(lost.ID); r.Results[0].Turn.Text != "lost" {
			t.Errorf("text = %q", r.Results[0].Turn.Text)
		}
		if got := w.session(id).Session.Durability; got != core.DurabilityDegraded {
			t.Errorf("durability = %s", got)
		}
		if got := w.types(id); !strings.Contains(got, "session_idle store_failed turn_accepted turn_started message_delta message_delta message turn_completed session_idle") {
			t.Errorf("journal = %s", got)
		}
		st.broken.Store(false)
		time.Sleep(time.Minute)
		if got := w.session(id).Session.Durability; got != core.Durable {
			t.Errorf("durability = %s", got)
		}
		if got := w.types(id); !strings.HasSuffix(got, "session_idle turn_completed store_recovered") {
			t.Errorf("journal = %s", got)
		}
		w.wait(w.send(id, "say again").ID)
		if got := w.types(id); !strings.HasSuffix(got, "turn_completed session_idle") {
			t.Errorf("journal = %s", got)
		}
	})
}

func TestAStoreThatFailsIsLoggedOnceHoweverManySessionsSeeIt(t *testing.T) {
	st := &brokenStore{Store: memstore.New()}
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fake: newFake(), store: st}
		w.Harness = harness.New(harness.Config{Store: st, Providers: []core.Provider{w.fake}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ids := []string{w.start().Session.ID, w.start().Session.ID, w.start().Session.ID}
		for outage := range 2 {
			st.broken.Store(true)
			for _, id := range ids {
				w.wait(w.send(id, "say lost").ID)
			}
			st.broken.Store(false)
			time.Sleep(time.Minute)
			w.wait(w.send(ids[0], "say kept").ID)
			synctest.Wait() // for the log of all sessions
			if n := strings.Count(log.String(), "level=ERROR"); n != outage+1 {
				t.Errorf("%d errors after outage %d: %s", n, outage+1, log.String())
			}
		}
		if n := strings.Count(log.String(), "written again"); n != 2 {
			t.Errorf("%d ends of 2 outages: %s", n, log.String())
		}
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTheStopPolicyFailsTheSession(t *testing.T) {
	st := &brokenStore{}
	inWorldOn(t, func() core.Store { st.Store = memstore.New(); return st }, core.Limits{StopOnStoreFailure: true}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		st.broken.Store(true)
		_, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x"}})
		wantCode(t, err, core.CodeStoreFailed)
		w.wait(id)
		if got := w.session(id).Session.Status; got != core.StatusFailed {
			t.Errorf("session = %s", got)
		}
		_, err = w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}})
		wantCode(t, err, core.CodeStoreFailed)
		st.broken.Store(false)
		time.Sleep(time.Minute)
	})
}

func TestAKillDoesNotWaitForAStalledDisk(t *testing.T) {
	st := &brokenStore{}
	inWorldOn(t, func() core.Store { st.Store = memstore.New(); return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		st.stall.Store(true)
		go func() {
			_, _ = w.SendMessage(context.Background(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "hold"}})
		}()
		synctest.Wait()
		conn := w.fake.last()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = w.Close(context.Background(), me, core.CloseRequest{ID: id, Force: true})
		}()
		synctest.Wait()
		select {
		case <-conn.end:
		default:
			t.Error("the agent still lives while the disk stalls")
		}
		st.stall.Store(false)
		<-done
		if got := w.session(id).Session.Status; got != core.StatusKilled {
			t.Errorf("session = %s", got)
		}
		time.Sleep(time.Minute)
	})
}

func TestShutdownLeavesEverySessionClosed(t *testing.T) {
	st := memstore.New()
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		var ids []string
		for i := range 5 {
			id := w.start().Session.ID
			w.send(id, fmt.Sprintf("deaf %d", i))
			w.follow(id, "say later")
			ids = append(ids, id)
		}
		if err := w.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			s := w.session(id)
			if s.Session.Status != core.StatusClosed || s.Session.Reason != core.ReasonSessionShutdown || len(s.Session.Queue) != 0 {
				t.Errorf("session %s: %s %s queue %v", id, s.Session.Status, s.Session.Reason, s.Session.Queue)
			}
		}
		_, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}})
		wantCode(t, err, core.CodeShuttingDown)
	})
}

func TestTwoWritersInOneCheckoutAreWarned(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		repo, tree := t.TempDir(), t.TempDir()
		for _, dir := range []string{filepath.Join(repo, ".git"), filepath.Join(repo, "sub")} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for file, text := range map[string]string{filepath.Join(tree, ".git"): "gitdir: elsewhere", filepath.Join(repo, ".git", "HEAD"): "ref: refs/heads/main"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		in := func(dir string, mode core.SandboxMode) core.SessionView {
			return w.start(func(r *core.StartRequest) { r.Config.CWD, r.Config.SandboxMode = dir, mode })
		}
		first := in(repo, "")
		if len(first.Session.Warnings) != 0 {
			t.Errorf("the first is warned: %q", first.Session.Warnings)
		}
		second := in(filepath.Join(repo, "sub"), "")
		if len(second.Session.Warnings) != 1 || !strings.Contains(second.Session.Warnings[0], first.Session.ID) {
			t.Errorf("the second: %q", second.Session.Warnings)
		}
		if got := w.types(second.Session.ID); got != "session_started session_ready warning session_idle" {
			t.Errorf("journal = %s", got)
		}
		for _, other := range []core.SessionView{in(tree, ""), in(repo, core.SandboxReadOnly)} {
			if len(other.Session.Warnings) != 0 {
				t.Errorf("warned without need: %q", other.Session.Warnings)
			}
		}
	})
}

func TestAFolderWithAGitThatIsNoRepositoryIsNoCheckout(t *testing.T) {
	for name, lay := range map[string]func(git string) error{
		"a folder": func(git string) error { return os.Mkdir(git, 0o700) },
		"a file":   func(git string) error { return os.WriteFile(git, []byte("notes about git"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				top := t.TempDir()
				if err := lay(filepath.Join(top, ".git")); err != nil {
					t.Fatal(err)
				}
				for _, sub := range []string{"one", "two"} {
					dir := filepath.Join(top, sub)
					if err := os.Mkdir(dir, 0o700); err != nil {
						t.Fatal(err)
					}
					if got := w.start(func(r *core.StartRequest) { r.Config.CWD = dir }).Session.Warnings; len(got) != 0 {
						t.Errorf("warned without need: %q", got)
					}
				}
			})
		})
	}
}

func TestASessionThatIsClosingIsNotWarnedOf(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		dir := t.TempDir()
		in := func(r *core.StartRequest) { r.Config.CWD = dir }
		id := w.start(in).Session.ID
		w.send(id, "deaf") // its close waits for a verdict
		var closed sync.WaitGroup
		defer closed.Wait()
		closed.Go(func() {
			if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: id}); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		synctest.Wait()
		if st := w.session(id).Session.Status; st != core.StatusClosing {
			t.Fatalf("it is %s", st)
		}
		if got := w.start(in).Session.Warnings; len(got) != 0 {
			t.Errorf("warned of a session that is closing: %q", got)
		}
	})
}

func TestAnAnswerIsCheckedAgainstItsSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fake: newFake(), store: memstore.New()}
		w.fake.caps.StructuredOutput = core.Native
		w.Harness = harness.New(harness.Config{Store: w.store, Providers: []core.Provider{w.fake},
			CheckSchema: func(schema, doc json.RawMessage) error {
				if string(schema) == `"none"` {
					return errors.New("not a schema")
				}
				if doc != nil && !strings.Contains(string(doc), "ok") {
					return errors.New("ok is missing")
				}
				return nil
			}})
		defer w.Shutdown(context.Background())
		id := w.start().Session.ID
		run := func(prompt string) core.Turn {
			t.Helper()
			turn, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: prompt, OutputSchema: json.RawMessage(`{}`)}})
			if err != nil {
				t.Fatal(err)
			}
			w.wait(turn.ID)
			return w.turn(turn.ID)
		}
		if got := run(`say {"ok":1}`); string(got.StructuredOutput) != `{"ok":1}` || got.StructuredError != "" {
			t.Errorf("met: %s %q", got.StructuredOutput, got.StructuredError)
		}
		if got := run(`say {"no":1}`); got.StructuredOutput != nil || got.StructuredError != "ok is missing" || got.Status != core.TurnDoneCompleted {
			t.Errorf("missed: %s %s %q", got.Status, got.StructuredOutput, got.StructuredError)
		}
		if got := run(`say hello`); got.StructuredError != "the answer is not JSON" {
			t.Errorf("no JSON: %q", got.StructuredError)
		}
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: id}); err != nil {
			t.Fatal(err)
		}
		w.start(func(r *core.StartRequest) { r.Config, r.Resume = core.SessionConfig{}, id })
		if got := run(`say {"no":1}`); got.StructuredOutput != nil || got.StructuredError != "ok is missing" {
			t.Errorf("missed in a resumed session: %s %q", got.StructuredOutput, got.StructuredError)
		}
		_, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x", OutputSchema: json.RawMessage(`"none"`)}})
		if core.CodeOf(err) != core.CodeInvalidArgument {
			t.Errorf("err = %v", err)
		}
	})
}

func TestASecretInAPromptReachesTheAgentAndNobodyElse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const secret = "hunter2-hunter2"
		id := w.start(func(r *core.StartRequest) { r.Config.Env = map[string]string{"SERVICE_PASSWORD": secret} }).Session.ID
		turn := w.send(id, "say the password is "+secret)
		w.follow(id, "say again "+secret)
		w.wait(id)
		page, err := w.Replay(t.Context(), me.Owner, core.ReplayRequest{ID: id, Limit: 1000, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		shown, err := json.Marshal(map[string]any{"events": page.Events, "turn": w.turn(turn.ID), "session": w.session(id)})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(shown), secret) {
			t.Errorf("the secret is shown: %s", shown)
		}
		if got := w.turn(turn.ID); got.Text != "the password is [redacted]" {
			t.Errorf("text = %q", got.Text)
		}
	})
}

// seenFiles is a workspace in which the given files change during each turn.
type seenFiles []core.FileEdit

func (s seenFiles) Watch(context.Context, string) (func(context.Context) ([]core.FileEdit, error), error) {
	return func(context.Context) ([]core.FileEdit, error) { return s, nil }, nil
}

func TestASecretInMetadataIsNotKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const url, shown = "https://me:s3cret@host/x", "https://me:[redacted]@host/x"
		v, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir(),
			Title: "clone " + url, Metadata: map[string]string{"repo": url, "api_key": "abc"}}})
		if err != nil {
			t.Fatal(err)
		}
		if s := v.Session; s.Title != "clone "+shown || s.Metadata["repo"] != shown || s.Metadata["api_key"] != redact.Redacted {
			t.Errorf("the session keeps %q and %v", s.Title, s.Metadata)
		}
		turn, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: v.Session.ID,
			Input: core.TurnInput{Prompt: "say x", Metadata: map[string]string{"repo": url}}})
		if err != nil || turn.Metadata["repo"] != shown {
			t.Errorf("the turn keeps %v, %v", turn.Metadata, err)
		}
	})
}

func TestWhatChangedIsComparedWithWhatTheAgentReported(t *testing.T) {
	for name, c := range map[string]struct {
		seen    []string // below the directory
		edits   string   // what the agent reports
		want    string   // what the turn says, + for what the agent did not report
		warning string
	}{
		"both":                       {[]string{"a.txt"}, "a.txt", "a.txt", ""},
		"only seen":                  {[]string{"0.txt", "b.txt"}, "b.txt", "b.txt 0.txt+", ""},
		"only reported":              {nil, "c.txt", "c.txt", "c.txt"},
		"reported of somewhere else": {nil, "/elsewhere/d.txt", "d.txt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, seen := t.TempDir(), seenFiles{}
				for _, f := range c.seen {
					seen = append(seen, core.FileEdit{Path: filepath.Join(dir, f), Kind: core.FileModified})
				}
				w := &world{t: t, fake: newFake(), store: memstore.New()}
				w.Harness = harness.New(harness.Config{Store: w.store, Providers: []core.Provider{w.fake}, Workspace: seen})
				defer w.Shutdown(context.Background())
				id := w.start(func(r *core.StartRequest) { r.Config.CWD = dir }).Session.ID
				turn := w.send(id, "edit "+c.edits)
				w.wait(turn.ID)
				got := w.turn(turn.ID)
				var paths []string
				for _, f := range got.FilesChanged {
					mark := map[bool]string{true: "+"}[f.Unreported]
					paths = append(paths, filepath.Base(f.Path)+mark)
				}
				if s := strings.Join(paths, " "); s != c.want {
					t.Errorf("files = %s, want %s", s, c.want)
				}
				if s := strings.Join(got.Warnings, "; "); (s != "") != (c.warning != "") || !strings.Contains(s, c.warning) {
					t.Errorf("warnings = %q, want one of %q", s, c.warning)
				}
			})
		})
	}
}
