package harness_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// readOnlyStore is a store that takes no writes while it refuses.
type readOnlyStore struct {
	core.Store
	refuses atomic.Bool
}

var errReadOnly = errors.New("attempt to write a readonly database")

func (s *readOnlyStore) Commit(ctx context.Context, b core.Batch) error {
	if s.refuses.Load() {
		return errReadOnly
	}
	return s.Store.Commit(ctx, b)
}

func (s *readOnlyStore) PutKey(ctx context.Context, k core.KeyRecord) error {
	if s.refuses.Load() {
		return errReadOnly
	}
	return s.Store.PutKey(ctx, k)
}

func (s *readOnlyStore) DeleteKey(ctx context.Context, owner, tool, key string) error {
	if s.refuses.Load() {
		return errReadOnly
	}
	return s.Store.DeleteKey(ctx, owner, tool, key)
}

// counted are processes that only count what is asked of them. What is not
// written here is not called.
type counted struct {
	core.Processes
	fails  bool
	starts []core.ProcessSnapshot
	inputs int
}

func (p *counted) Start(_ context.Context, r core.ProcessStart) (core.ProcessSnapshot, error) {
	if p.fails {
		return core.ProcessSnapshot{}, core.Errorf(core.CodeCapacity, "full")
	}
	p.starts = append(p.starts, core.ProcessSnapshot{ID: r.ID, Owner: r.Owner, Status: core.ProcessIsRunning})
	return p.starts[len(p.starts)-1], nil
}

func (p *counted) Input(_ context.Context, _, id string, _ core.ProcessInput) (core.InputResult, error) {
	p.inputs++
	snap, _ := p.Get("", id)
	return core.InputResult{Process: snap}, nil
}

func (p *counted) Get(_, id string) (core.ProcessSnapshot, bool) {
	for _, s := range p.starts {
		if s.ID == id {
			return s, true
		}
	}
	return core.ProcessSnapshot{}, false
}

func (p *counted) All(string) []core.ProcessSnapshot { return p.starts }

func (p *counted) Shutdown(context.Context) error { return nil }

func onReadOnlyStore(t *testing.T, limits core.Limits, f func(*harness.Harness, *readOnlyStore, *counted)) {
	t.Helper()
	st, p := &readOnlyStore{Store: memstore.New()}, &counted{}
	h := harness.New(harness.Config{Store: st, Processes: p, Limits: limits})
	f(h, st, p)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func TestAKeyThatTheStoreDoesNotTakeIsKeptByTheServer(t *testing.T) {
	onReadOnlyStore(t, core.Limits{}, func(h *harness.Harness, st *readOnlyStore, p *counted) {
		st.refuses.Store(true)
		start := func(key, args string) (core.ProcessSnapshot, error) {
			return h.StartProcess(t.Context(), me, core.StartProcessRequest{Spec: core.ProcessSpec{Executable: "true", CWD: t.TempDir()},
				Once: core.Once{Tool: "start_process", Key: key, Args: []byte(args)}})
		}
		first, err := start("k", "{}")
		if err != nil {
			t.Fatalf("a start with a key that cannot be stored: %v", err)
		}
		if again, err := start("k", "{}"); err != nil || again.ID != first.ID {
			t.Errorf("the same call again: %s, %v, want %s", again.ID, err, first.ID)
		}
		if _, err := start("k", `{"other":1}`); core.CodeOf(err) != core.CodeIdempotency {
			t.Errorf("another call with the key: %v", err)
		}
		p.fails = true
		if _, err := start("freed", "{}"); core.CodeOf(err) != core.CodeCapacity {
			t.Errorf("a start that is refused: %v", err)
		}
		p.fails = false
		if _, err := start("freed", `{"other":1}`); err != nil {
			t.Errorf("the key of a call that started nothing is not free: %v", err)
		}
		input := func() {
			t.Helper()
			if _, err := h.SendInput(t.Context(), me, core.InputRequest{ProcessID: first.ID, Input: core.ProcessInput{Data: []byte("x")},
				Once: core.Once{Tool: "send_input", Key: "k", Args: []byte("{}")}}); err != nil {
				t.Errorf("input with a key: %v", err)
			}
		}
		input()
		input()
		if len(p.starts) != 2 || p.inputs != 1 {
			t.Errorf("%d starts and %d inputs, want 2 and 1", len(p.starts), p.inputs)
		}
	})
}

func TestWhereAFailureOfTheStoreStopsAKeyedStartIsRefused(t *testing.T) {
	onReadOnlyStore(t, core.Limits{StopOnStoreFailure: true}, func(h *harness.Harness, st *readOnlyStore, p *counted) {
		st.refuses.Store(true)
		_, err := h.StartProcess(t.Context(), me, core.StartProcessRequest{Spec: core.ProcessSpec{Executable: "true", CWD: t.TempDir()},
			Once: core.Once{Tool: "start_process", Key: "k", Args: []byte("{}")}})
		wantCode(t, err, core.CodeStoreFailed)
		if len(p.starts) != 0 {
			t.Error("it was started")
		}
	})
}

func TestASteerWithAKeyThatTheStoreDoesNotTakeIsMadeOnce(t *testing.T) {
	st := &readOnlyStore{Store: memstore.New()}
	inWorldOn(t, func() core.Store { return st }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		turn := w.send(id, "hold")
		synctest.Wait()
		st.refuses.Store(true)
		for range 2 {
			got, err := w.Steer(t.Context(), me, core.SteerRequest{SessionID: id, Input: core.TurnInput{Prompt: "more"},
				Once: core.Once{Tool: "steer", Key: "k", Args: []byte("{}")}})
			if err != nil || got.ID != turn.ID {
				t.Errorf("turn %s, %v", got.ID, err)
			}
		}
		if n := count(replayed(t, w, id), func(e core.Event) bool { return e.Type == core.Steered }); n != 1 {
			t.Errorf("%d steers", n)
		}
		st.refuses.Store(false)
		time.Sleep(time.Minute)
	})
}

func replayed(t *testing.T, w *world, id string) []core.Event {
	t.Helper()
	p, err := w.Replay(t.Context(), me.Owner, core.ReplayRequest{ID: id, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return p.Events
}
