package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// lateStore is a store whose disk may stand still: a commit then fails by its
// deadline, and comes through when the disk moves again.
type lateStore struct {
	core.Store
	mu    sync.Mutex
	still bool
	late  []core.Batch
	fail  atomic.Bool
}

func (s *lateStore) Commit(ctx context.Context, b core.Batch) error {
	s.mu.Lock()
	still := s.still
	if still && len(s.late) == 0 { // the one that the writer is at; those behind it are given up
		s.late = append(s.late, b)
	}
	s.mu.Unlock()
	if still {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.fail.Load() {
		return errors.New("disk full")
	}
	return s.Store.Commit(ctx, b)
}

func (s *lateStore) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.still = true
}

func (s *lateStore) move(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.still = false
	for _, b := range s.late {
		if err := s.Store.Commit(context.Background(), b); err != nil {
			t.Errorf("the late commit: %v", err)
		}
	}
	s.late = nil
}

func eventsOf(t *testing.T, s core.Store, id string) []core.Event {
	t.Helper()
	events, err := s.Events(t.Context(), core.EventQuery{Owner: me.Owner, Resource: id, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func count(events []core.Event, f func(core.Event) bool) (n int) {
	for _, e := range events {
		if f(e) {
			n++
		}
	}
	return n
}

func TestACommitThatComesThroughLateIsCountedAndNoNumberIsUsedTwice(t *testing.T) {
	for name, prompt := range map[string]string{"a turn that ended in the failed batch": "say late", "a turn that goes on": "hold"} {
		t.Run(name, func(t *testing.T) {
			st := &lateStore{Store: memstore.New()}
			inWorldOn(t, func() core.Store { return st }, core.Limits{StoreTimeout: time.Second}, func(t *testing.T, w *world) {
				id := w.start().Session.ID
				seen := map[uint64]string{}
				look := func() {
					p, err := w.Replay(t.Context(), me.Owner, core.ReplayRequest{ID: id, Limit: 1000})
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range p.Events {
						if was, ok := seen[e.Seq]; ok && was != e.ID && e.Type != core.ReplayGap {
							t.Errorf("seq %d is %s and was another event", e.Seq, e.Type)
						}
						if e.Type != core.ReplayGap {
							seen[e.Seq] = e.ID
						}
					}
				}
				look()
				st.stop()
				turn := w.send(id, prompt)
				if prompt != "hold" {
					w.wait(turn.ID)
				}
				look()
				time.Sleep(2500 * time.Millisecond) // an attempt to recover fails
				look()
				st.move(t)
				time.Sleep(time.Minute)
				look()
				if got := w.session(id).Session.Durability; got != core.Durable {
					t.Errorf("durability = %s", got)
				}
				if prompt == "hold" {
					if _, err := w.Interrupt(t.Context(), me, core.InterruptRequest{SessionID: id}); err != nil {
						t.Fatal(err)
					}
					w.wait(turn.ID)
				}
				look()
				events := eventsOf(t, st.Store, id)
				if n := count(events, func(e core.Event) bool { return e.TurnID == turn.ID && e.Type.EndsTurn() }); n != 1 {
					t.Errorf("the turn has %d ends", n)
				}
				if n := count(events, func(e core.Event) bool { return e.Type == core.StoreRecovered }); n < 1 {
					t.Error("nothing says that the store works again")
				}
			})
		})
	}
}

func TestARepeatedCallFindsTheEffectThatCouldNotBeStored(t *testing.T) {
	st := &lateStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		st.fail.Store(true)
		r := core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say once"}, Once: core.Once{Tool: "send_message", Key: "k", Args: []byte("{}")}}
		a, err := w.SendMessage(t.Context(), me, r)
		if err != nil {
			t.Fatal(err)
		}
		w.wait(a.ID)
		for _, ok := range []bool{false, true} {
			b, err := w.SendMessage(t.Context(), me, r)
			if err != nil || b.ID != a.ID {
				t.Errorf("repeated with the store working %t: turn %s, %v, want %s", ok, b.ID, err, a.ID)
			}
			st.fail.Store(false)
			time.Sleep(time.Minute)
		}
	})
}

func TestAKeyThatWasStoredAfterAllDoesNotKeepASessionDegraded(t *testing.T) {
	st := &lateStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		st.fail.Store(true)
		r := core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x"}, Once: core.Once{Tool: "send_message", Key: "k", Args: []byte("{}")}}
		if _, err := w.SendMessage(t.Context(), me, r); err != nil {
			t.Fatal(err)
		}
		if err := st.PutKey(t.Context(), core.KeyRecord{Owner: me.Owner, Tool: "send_message", Key: "k", ArgsHash: "of another", Resource: "ses_other"}); err != nil {
			t.Fatal(err)
		}
		st.fail.Store(false)
		time.Sleep(time.Minute)
		if got := w.session(id).Session.Durability; got != core.Durable {
			t.Errorf("durability = %s", got)
		}
	})
}

func TestADegradedSessionThatEndsIsStoredAsEnded(t *testing.T) {
	st := &lateStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		st.fail.Store(true)
		turn := w.send(id, "hold")
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: id, Force: true}); err != nil {
			t.Fatal(err)
		}
		st.fail.Store(false)
		time.Sleep(time.Minute)
		rec, err := st.Session(t.Context(), me.Owner, id)
		if err != nil || rec.Session.Status != core.StatusKilled {
			t.Errorf("stored session = %s, %v", rec.Session.Status, err)
		}
		events := eventsOf(t, st, id)
		for _, want := range []core.EventType{core.TurnInterrupted, core.SessionKilled, core.StoreRecovered} {
			if count(events, func(e core.Event) bool { return e.Type == want }) != 1 {
				t.Errorf("the journal has not one %s", want)
			}
		}
		if got, err := st.Turn(t.Context(), me.Owner, turn.ID); err != nil || got.Turn.Status != core.TurnDoneInterrupted {
			t.Errorf("stored turn = %s, %v", got.Turn.Status, err)
		}
	})
}

func TestShutdownWaitsForNoDisk(t *testing.T) {
	st := &lateStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		w.send(w.start().Session.ID, "hold")
		synctest.Wait()
		st.stop()
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_ = w.Shutdown(ctx)
		if d := time.Since(begin); d > 6*time.Second {
			t.Errorf("the end took %s", d)
		}
	})
}

// servers are two harnesses on one store, as two processes would be.
func twoServers(t *testing.T, f func(t *testing.T, a, b *world)) {
	synctest.Test(t, func(t *testing.T) {
		first := memstore.New()
		mk := func(s core.Store) *world {
			w := &world{t: t, fake: newFake(), store: s}
			w.Harness = harness.New(harness.Config{Store: s, Providers: []core.Provider{w.fake}})
			return w
		}
		a, b := mk(first), mk(first.Reopen())
		defer func() {
			for _, w := range []*world{a, b} {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				_ = w.Shutdown(ctx)
				cancel()
			}
		}()
		f(t, a, b)
	})
}

// die makes the others take the server for dead, as a crash would.
func (w *world) die() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func TestWhatADeadServerLeftIsPutToRestOnce(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		id := a.start().Session.ID
		turn := a.send(id, "ask")
		a.wait(turn.ID)
		queued := a.follow(id, "say later")
		a.die()
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { b.Recover(t.Context()) })
			group.Go(func() { b.Get(t.Context(), me.Owner, id) })
		}
		group.Wait()
		got := b.session(id)
		if got.Session.Status != core.StatusUnavailable || len(got.Requests) != 0 || len(got.Queued) != 0 {
			t.Errorf("session = %+v", got.Session)
		}
		after := b.turn(turn.ID)
		if after.Status != core.TurnDoneInterrupted || after.Reason != core.ReasonServerRestarted || after.FirstSeq != 4 {
			t.Errorf("turn = %s %s from seq %d", after.Status, after.Reason, after.FirstSeq)
		}
		if got := b.turn(queued.ID); got.Status != core.TurnDoneInterrupted {
			t.Errorf("queued turn = %s", got.Status)
		}
		for _, turn := range []string{turn.ID, queued.ID} {
			if n := count(eventsOf(t, b.store, id), func(e core.Event) bool { return e.TurnID == turn && e.Type.EndsTurn() }); n != 1 {
				t.Errorf("turn %s has %d ends", turn, n)
			}
		}
	})
}

func TestWhatADeadServersAgentSaidIsTheTextOfItsTurn(t *testing.T) {
	long := strings.Repeat("long ", 3000)
	for name, c := range map[string]struct {
		prompt, want string
		partial      bool // the journal gets a message that was not there
	}{
		"nothing":                      {"hold", "", false},
		"a part of a message":          {"write one two three", "one two three", true},
		"a whole message":              {"speak one two three", "one two three", false},
		"a whole one and a part of it": {"write one two|three four", "three four", true},
		"two whole ones":               {"speak one two|three four", "three four", false},
		"a long part":                  {"write " + long, long, true},
		"a long whole one":             {"speak " + long, long, false},
	} {
		t.Run(name, func(t *testing.T) {
			twoServers(t, func(t *testing.T, a, b *world) {
				id := a.start().Session.ID
				turn := a.send(id, c.prompt)
				synctest.Wait()
				a.die()
				b.Recover(t.Context())
				got := b.turn(turn.ID)
				text, _, err := b.TurnText(t.Context(), got, 0, len(long))
				if text != c.want || err != nil || got.TextBytes != len(c.want) || got.Status != core.TurnDoneInterrupted {
					t.Errorf("%s with %d bytes, %.40q, %v; want %.40q", got.Status, got.TextBytes, text, err, c.want)
				}
				events := eventsOf(t, b.store, id)
				if n := count(events, func(e core.Event) bool {
					return e.TurnID == turn.ID && e.Type == core.TypeMessage && strings.Contains(string(e.Data), `"partial":true`)
				}); (n == 1) != c.partial || n > 1 {
					t.Errorf("%d messages are partial", n)
				}
				if last := events[len(events)-1]; strings.Contains(string(last.Data), "long") {
					t.Error("the last event repeats a long text")
				}
			})
		})
	}
}

func TestATurnOfADeadServerLastedUntilItWasLastHeardOf(t *testing.T) {
	for name, prompt := range map[string]string{"that said something": "write one two", "that said nothing": "hold", "that never began": "deaf"} {
		t.Run(name, func(t *testing.T) {
			twoServers(t, func(t *testing.T, a, b *world) {
				id := a.start().Session.ID
				sent := time.Now()
				turn := a.send(id, prompt)
				queued := a.follow(id, "say later")
				synctest.Wait()
				a.die()
				time.Sleep(10 * time.Second) // less than any time-out
				b.Recover(t.Context())
				if got := b.turn(turn.ID); !got.FinishedAt.Equal(sent) || got.Status != core.TurnDoneInterrupted {
					t.Errorf("%s, sent at %s and finished at %s", got.Status, sent, got.FinishedAt)
				}
				if got := b.turn(queued.ID); got.FinishedAt.Before(sent) || got.Status != core.TurnDoneInterrupted {
					t.Errorf("the queued one: %s, finished at %s", got.Status, got.FinishedAt)
				}
				events := eventsOf(t, b.store, id)
				if last := events[len(events)-1]; !last.At.After(sent) {
					t.Errorf("the journal says that it was put to rest at %s", last.At)
				}
			})
		})
	}
}

func TestAProcessOfADeadServerRanUntilItWasLastHeardOf(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		heard := time.Now()
		begun := heard.Add(-time.Minute)
		p := core.ProcessSnapshot{ID: "prc_0123456789", Owner: me.Owner, Status: core.ProcessIsRunning, Executable: "/bin/true",
			Argv: []string{}, CreatedAt: begun, StartedAt: begun}
		put := func(expect uint64, typ core.EventType, at time.Time) {
			t.Helper()
			p.LastSeq = expect + 1
			if err := a.store.Commit(t.Context(), core.Batch{Owner: me.Owner, Resource: p.ID, Instance: a.store.Instance(), Create: expect == 0, ExpectSeq: expect,
				Process: &core.ProcessRecord{Process: p}, Events: []core.Event{{SchemaVersion: core.SchemaVersion, ID: core.NewEventID(),
					Resource: p.ID, Seq: expect + 1, Type: typ, At: at, Data: json.RawMessage(`{}`)}}}); err != nil {
				t.Fatal(err)
			}
		}
		put(0, core.ProcessStarted, begun)
		put(1, core.TypeStdout, heard)
		a.die()
		time.Sleep(time.Hour)
		b.Recover(t.Context())
		r, err := b.Get(t.Context(), me.Owner, p.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Process; !got.FinishedAt.Equal(heard) || got.Status != core.ProcessDoneFailed || got.Reason != core.ReasonServerRestarted {
			t.Errorf("%s {%s}, last heard of at %s and finished at %s", got.Status, got.Reason, heard, got.FinishedAt)
		}
		events := eventsOf(t, b.store, p.ID)
		if last := events[len(events)-1]; last.Type != core.ProcessFailed || !last.At.After(heard) {
			t.Errorf("the journal says %s at %s", last.Type, last.At)
		}
	})
}

func TestARecoveryThatWasCutOffIsFinished(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		id := a.start().Session.ID
		turn := a.send(id, "hold")
		synctest.Wait()
		a.die()
		// This server took the row over and failed to write, or it was another
		// call of it that did.
		rec, err := b.store.Session(t.Context(), me.Owner, id)
		if err != nil {
			t.Fatal(err)
		}
		if won, err := b.store.Claim(t.Context(), me.Owner, id, rec.Instance, b.store.Instance()); !won || err != nil {
			t.Fatal(won, err)
		}
		if r := b.wait(turn.ID); r.Results[0].Turn.Status != core.TurnDoneInterrupted {
			t.Errorf("turn = %s", r.Results[0].Turn.Status)
		}
		if v, err := b.StartSession(t.Context(), me, core.StartRequest{Resume: id}); err != nil || v.Session.Epoch != 2 {
			t.Errorf("resume: epoch %d, %v", v.Session.Epoch, err)
		}
	})
}

func TestOneOfTwoServersResumes(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		id := a.start().Session.ID
		a.wait(a.send(id, "die").ID)
		var open atomic.Int32
		slow := func(ctx context.Context, _ core.SessionConfig) error {
			open.Add(1)
			time.Sleep(time.Second)
			return nil
		}
		a.fake.open, b.fake.open = slow, slow
		errs := make([]error, 8)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() {
				w := []*world{a, b}[i%2]
				_, errs[i] = w.StartSession(t.Context(), me, core.StartRequest{Resume: id})
			})
		}
		group.Wait()
		ok := 0
		for _, err := range errs {
			if err == nil {
				ok++
			} else if c := core.CodeOf(err); c != core.CodeOtherInstance && c != core.CodeSessionInUse {
				t.Errorf("refused with %v", err)
			}
		}
		if ok != 1 || open.Load() != 1 {
			t.Errorf("%d resumes succeeded and %d conversations were opened", ok, open.Load())
		}
	})
}

func TestAFailedResumeFreesTheSessionForOthers(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		id := a.start().Session.ID
		a.wait(a.send(id, "die").ID)
		b.fake.open = func(context.Context, core.SessionConfig) error { return errors.New("no") }
		for range 2 {
			if _, err := b.StartSession(t.Context(), me, core.StartRequest{Resume: id}); core.CodeOf(err) != core.CodeStartFailed {
				t.Fatal(err)
			}
		}
		if v, err := a.StartSession(t.Context(), me, core.StartRequest{Resume: id}); err != nil || v.Session.Epoch != 2 {
			t.Errorf("resume: epoch %d, %v", v.Session.Epoch, err)
		}
		if strings.Contains(b.session(id).Instance, ":") {
			t.Errorf("instance = %s", b.session(id).Instance)
		}
	})
}

func TestAnIDIsNotTakenOverWhileAnotherServerOpensIt(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		named := func(r *core.StartRequest) { r.Config.SessionID = "mine" }
		a.start(named)
		a.wait(a.send("mine", "die").ID)
		a.fake.open = func(context.Context, core.SessionConfig) error { time.Sleep(time.Second); return nil }
		var group sync.WaitGroup
		var resumed error
		group.Go(func() { _, resumed = a.StartSession(t.Context(), me, core.StartRequest{Resume: "mine"}) })
		synctest.Wait()
		_, err := b.StartSession(t.Context(), me, core.StartRequest{Reuse: core.ReuseReplace,
			Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir(), SessionID: "mine"}})
		wantCode(t, err, core.CodeOtherInstance)
		group.Wait()
		if resumed != nil {
			t.Errorf("resume: %v", resumed)
		}
	})
}

func TestOneKeyOnTwoServersMakesOneEffectAndEndsNoSession(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		slow := func(context.Context, core.SessionConfig) error { time.Sleep(time.Second); return nil }
		a.fake.open, b.fake.open = slow, slow
		dir := t.TempDir()
		start := func(w *world) (core.SessionView, error) {
			return w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: dir},
				Once: core.Once{Tool: "start_session", Key: "k", Args: []byte("{}")}})
		}
		var group sync.WaitGroup
		views, errs := make([]core.SessionView, 2), make([]error, 2)
		for i, w := range []*world{a, b} {
			group.Go(func() { views[i], errs[i] = start(w) })
		}
		group.Wait()
		loser := slices.IndexFunc(errs, func(err error) bool { return err != nil })
		if loser < 0 || errs[1-loser] != nil {
			t.Fatalf("errors = %v", errs)
		}
		wantCode(t, errs[loser], core.CodeIdempotency)
		again, err := start([]*world{a, b}[loser])
		if err != nil || again.Session.ID != views[1-loser].Session.ID {
			t.Errorf("repeated: %s, %v", again.Session.ID, err)
		}
		l, err := a.List(t.Context(), me.Owner, core.ListRequest{Kind: core.KindSession})
		if err != nil || len(l.Items) != 1 {
			t.Errorf("%d sessions, %v", len(l.Items), err)
		}

		// The same with a turn: the session of the refused call lives on.
		idA, idB := views[1-loser].Session.ID, ""
		winner, other := []*world{a, b}[1-loser], []*world{a, b}[loser]
		idB = other.start().Session.ID
		send := func(w *world, id string) (core.Turn, error) {
			return w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "hold"},
				Once: core.Once{Tool: "send_message", Key: "k2", Args: []byte(id)}})
		}
		group.Go(func() { _, errs[0] = send(winner, idA) })
		group.Go(func() { _, errs[1] = send(other, idB) })
		group.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("errors = %v", errs)
		}
		for _, x := range []struct {
			w  *world
			id string
		}{{winner, idA}, {other, idB}} {
			if st := x.w.session(x.id).Session.Status; !st.Live() {
				t.Errorf("session %s is %s", x.id, st)
			}
		}
	})
}

func TestASessionThatWasDeletedUnderItsAgentEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		if err := w.store.Delete(t.Context(), me.Owner, id); err != nil {
			t.Fatal(err)
		}
		_, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "hold"}})
		wantCode(t, err, core.CodeOtherInstance)
		time.Sleep(time.Minute)
		select {
		case <-w.fake.last().end:
		default:
			t.Error("its agent still runs")
		}
		if _, err := w.store.Session(t.Context(), me.Owner, id); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("it was written again: %v", err)
		}
	})
}

func TestTheTailOfADegradedJournalIsItsEnd(t *testing.T) {
	st := &lateStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		for w.session(id).Session.LastSeq < 1300 {
			w.wait(w.send(id, "say "+strings.Repeat("x", 9000)).ID)
		}
		last := w.session(id).Session.LastSeq
		st.fail.Store(true)
		w.send(id, "hold")
		const tail = 900 // more than memory holds
		p, err := w.Replay(t.Context(), me.Owner, core.ReplayRequest{ID: id, Tail: tail})
		if err != nil || len(p.Events) != tail {
			t.Fatalf("%d events, %v", len(p.Events), err)
		}
		if first := p.Events[0].Seq; first+tail+10 < last {
			t.Errorf("the tail begins at seq %d, and %d is the last stored one", first, last)
		}
		st.fail.Store(false)
		time.Sleep(time.Minute)
	})
}

// slowStore takes its time for each commit, or fails.
type slowStore struct {
	core.Store
	mu   sync.Mutex
	wait time.Duration
	fail bool
}

func (s *slowStore) set(wait time.Duration, fail bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wait, s.fail = wait, fail
}

func (s *slowStore) Commit(ctx context.Context, b core.Batch) error {
	s.mu.Lock()
	wait, fail := s.wait, s.fail
	s.mu.Unlock()
	if fail {
		return errors.New("disk full")
	}
	time.Sleep(wait)
	return s.Store.Commit(ctx, b)
}
