package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// keyed returns an idempotency key of a tool without arguments.
func keyed(tool string) core.Once {
	return core.Once{Tool: tool, Key: "k", Args: json.RawMessage(`{}`)}
}

func TestAFullServerStillTakesCommandsForSessionsThatHaveEnded(t *testing.T) {
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{MaxSessions: 1}, func(t *testing.T, w *world) {
		ended, lost := w.start().Session.ID, ""
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: ended}); err != nil {
			t.Fatal(err)
		}
		lost = w.start().Session.ID
		w.fake.last().crash()
		w.wait(lost)
		time.Sleep(time.Second)
		w.start()

		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: ended}); err != nil {
			t.Errorf("close of a closed session: %v", err)
		}
		if _, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: ended, Input: core.TurnInput{Prompt: "say x"}}); core.CodeOf(err) != core.CodeSessionClosed {
			t.Errorf("a prompt to a closed session: %v, want session_closed", err)
		}
		if _, err := w.Interrupt(t.Context(), me, core.InterruptRequest{SessionID: lost}); core.CodeOf(err) != core.CodeNoActiveTurn {
			t.Errorf("an interrupt of an unavailable session: %v, want no_active_turn", err)
		}
		// A resume takes a place, also while a command is answered for the session.
		if _, err := w.StartSession(t.Context(), me, core.StartRequest{Resume: lost}); core.CodeOf(err) != core.CodeCapacity {
			t.Errorf("a resume on a full server: %v, want capacity_exceeded", err)
		}
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: lost}); err != nil {
			t.Errorf("close of an unavailable session: %v", err)
		}
	})
}

func TestResumesAtTheSameTimeTakeNoMorePlacesThanThereAre(t *testing.T) {
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{MaxSessions: 3}, func(t *testing.T, w *world) {
		var ids []string
		for range 8 {
			id := w.start().Session.ID
			if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: id}); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		var mu sync.Mutex
		live := 0
		var all sync.WaitGroup
		for _, id := range ids {
			all.Go(func() {
				_, err := w.StartSession(t.Context(), me, core.StartRequest{Resume: id})
				mu.Lock()
				defer mu.Unlock()
				switch core.CodeOf(err) {
				case "":
					live++
				case core.CodeCapacity:
				default:
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		if live > 3 {
			t.Errorf("%d sessions live with 3 places", live)
		}
	})
}

func TestASessionThatIsClosingLeavesItsPlaceToTheNext(t *testing.T) {
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{MaxSessions: 1}, func(t *testing.T, w *world) {
		closing := w.start().Session.ID
		slow := w.fake.last()
		slow.closeTakes = 5 * time.Second
		closed := make(chan error, 1)
		go func() {
			_, err := w.Close(t.Context(), me, core.CloseRequest{ID: closing})
			closed <- err
		}()
		synctest.Wait()
		if st := w.session(closing).Session.Status; st != core.StatusClosing {
			t.Fatalf("the session is %s", st)
		}
		next := w.start().Session.ID // takes the place
		if _, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}}); core.CodeOf(err) != core.CodeCapacity {
			t.Errorf("a second start: %v, want capacity_exceeded", err)
		}
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: next}); err != nil {
			t.Fatal(err)
		}
		// A resume waits for the close.
		v, err := w.StartSession(t.Context(), me, core.StartRequest{Resume: closing})
		if err != nil || v.Session.Status != core.StatusIdle {
			t.Errorf("a resume behind a close: %v, %v", v.Session.Status, err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func TestPruneLeavesASessionThatIsBeingOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New()
		fa, fb := newFake(), newFake()
		a := harness.New(harness.Config{Store: mem, Providers: []core.Provider{fa}, Limits: core.Limits{Retention: time.Millisecond}})
		b := harness.New(harness.Config{Store: mem.Reopen(), Providers: []core.Provider{fb}})
		defer func() { _, _ = a.Shutdown(t.Context()), b.Shutdown(t.Context()) }()
		w := &world{t: t, fake: fa, Harness: a, store: mem}
		id := w.start().Session.ID
		if _, err := a.Close(t.Context(), me, core.CloseRequest{ID: id}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		fb.open = func(context.Context, core.SessionConfig) error { time.Sleep(2 * time.Hour); return nil }
		got := make(chan error, 1)
		go func() {
			_, err := b.StartSession(t.Context(), me, core.StartRequest{Resume: id, Config: core.SessionConfig{Timeouts: core.Timeouts{Startup: 3 * time.Hour}}})
			got <- err
		}()
		time.Sleep(2 * time.Second) // b is opening it
		if _, err := a.Prune(t.Context(), me, core.PruneRequest{ID: id}); core.CodeOf(err) != core.CodeResourceActive {
			t.Errorf("prune by id: %v, want resource_active", err)
		}
		for _, dry := range []bool{true, false} {
			if ids, err := a.Prune(t.Context(), me, core.PruneRequest{DryRun: dry}); err != nil || len(ids) != 0 {
				t.Errorf("prune of all, dry run %v: %v %v", dry, ids, err)
			}
		}
		time.Sleep(90 * time.Minute) // the sweep runs every hour
		if err := <-got; err != nil {
			t.Errorf("the resume that was under way: %v", err)
		}
		if _, err := b.Get(t.Context(), me.Owner, id); err != nil {
			t.Errorf("the session: %v", err)
		}
	})
}

func TestPruneDeletesASessionWhoseOpeningDiedWithItsServer(t *testing.T) {
	for _, bulk := range []bool{false, true} {
		t.Run(fmt.Sprint("bulk=", bulk), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				id := w.start().Session.ID
				if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: id}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				won, err := w.store.Claim(t.Context(), me.Owner, id, w.store.Instance(), "ins_deadserver"+core.OpeningMark)
				if !won || err != nil {
					t.Fatal(won, err)
				}
				r := core.PruneRequest{ID: id}
				if bulk {
					r = core.PruneRequest{}
				}
				if ids, err := w.Prune(t.Context(), me, r); err != nil || len(ids) != 1 {
					t.Errorf("prune: %v, %v", ids, err)
				}
			})
		})
	}
}

func TestAKeyedInterruptOfAnIdleSessionCanBeRepeated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		for i := range 2 {
			r, err := w.Interrupt(t.Context(), me, core.InterruptRequest{SessionID: id, ClearQueue: true, Once: keyed("interrupt")})
			if err != nil || r.Turn.ID != "" || r.Turn.SessionID != id {
				t.Errorf("call %d before any turn: %+v, %v", i+1, r, err)
			}
		}
		turn := w.wait(w.send(id, "say x").ID).Results[0].Turn.ID
		for i := range 2 {
			r, err := w.Interrupt(t.Context(), me, core.InterruptRequest{SessionID: id, ClearQueue: true, Once: core.Once{Tool: "interrupt", Key: "after", Args: json.RawMessage(`{}`)}})
			if err != nil || r.Turn.ID != turn {
				t.Errorf("call %d after a turn: %+v, %v", i+1, r, err)
			}
		}
	})
}

func TestAKeyedCloseOfASessionThatOpensIsNoFailureOfTheJournal(t *testing.T) {
	for _, stop := range []bool{false, true} {
		t.Run(fmt.Sprint("stop=", stop), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				w := &world{t: t, fake: newFake(), store: memstore.New()}
				w.Harness = harness.New(harness.Config{Store: w.store, Providers: []core.Provider{w.fake}, Limits: core.Limits{StopOnStoreFailure: stop},
					Logger: slog.New(slog.NewTextHandler(&log, nil))})
				w.fake.open = func(ctx context.Context, _ core.SessionConfig) error { <-ctx.Done(); return ctx.Err() }
				started := make(chan error, 1)
				go func() {
					_, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir(), SessionID: "mine"}})
					started <- err
				}()
				synctest.Wait()
				_, err := w.Close(t.Context(), me, core.CloseRequest{ID: "mine", Once: keyed("close")})
				if err != nil || core.CodeOf(<-started) != core.CodeStartFailed {
					t.Errorf("close: %v", err)
				}
				_ = w.Shutdown(t.Context()) // the log is written no more
				if strings.Contains(log.String(), "could not be written") {
					t.Errorf("log: %s", log.String())
				}
			})
		})
	}
}

func TestATaskThatCannotBeSentStartsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for name, in := range map[string]core.TurnInput{
			"a blank prompt": {Prompt: "  "},
			"no such file":   {Prompt: "x", Attachments: []string{"/none"}},
			"a schema":       {Prompt: "x", OutputSchema: json.RawMessage(`{}`)},
			"an image":       {Prompt: "x", Content: []core.ContentBlock{{Type: "image"}}},
		} {
			once := keyed("delegate")
			_, err := w.StartSession(t.Context(), me, core.StartRequest{Task: &in, Once: once, Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}})
			if err == nil || w.fake.count() > 0 {
				t.Errorf("%s: %v, %d agents started", name, err, w.fake.count())
			}
		}
		in := core.TurnInput{Prompt: "say x"}
		if _, err := w.StartSession(t.Context(), me, core.StartRequest{Task: &in, Once: keyed("delegate"), Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}}); err != nil {
			t.Errorf("the key of a call that began nothing: %v", err)
		}
	})
}

// TestAResumeBesideAnyCommandSucceeds runs commands about a session that has ended
// while it is resumed: each has an outcome of its own, and the resume succeeds.
func TestAResumeBesideAnyCommandSucceeds(t *testing.T) {
	fake := newFake()
	w := &world{t: t, fake: fake, store: memstore.New()}
	w.Harness = harness.New(harness.Config{Store: w.store, Providers: []core.Provider{fake}})
	defer func() { _ = w.Shutdown(t.Context()) }()
	id := w.start().Session.ID
	commands := map[string]func() error{
		"send": func() error {
			_, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x"}})
			return err
		},
		"steer": func() error {
			_, err := w.Steer(t.Context(), me, core.SteerRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x"}})
			return err
		},
		"interrupt": func() error {
			_, err := w.Interrupt(t.Context(), me, core.InterruptRequest{SessionID: id, ClearQueue: true})
			return err
		},
		"configure": func() error {
			_, err := w.Configure(t.Context(), me, core.ConfigureRequest{SessionID: id, Changes: core.Changes{Model: "m"}})
			return err
		},
	}
	allowed := []core.Code{core.CodeSessionClosed, core.CodeSessionUnavailable, core.CodeTurnInProgress, core.CodeNoActiveTurn, core.CodeTurnNotActive, core.CodeCommandInProgress}
	for name, command := range commands {
		for range 50 {
			if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: id}); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range 3 {
						if err := command(); err != nil && !contains(allowed, core.CodeOf(err)) {
							t.Errorf("%s: %v", name, err)
						}
					}
				})
			}
			if _, err := w.StartSession(t.Context(), me, core.StartRequest{Resume: id}); err != nil {
				t.Errorf("a resume beside %s: %v", name, err)
			}
			all.Wait()
			w.wait(id)
		}
	}
}

func contains(codes []core.Code, c core.Code) bool {
	for _, have := range codes {
		if have == c {
			return true
		}
	}
	return false
}
