package harness_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// aMoment is longer than a session that has nothing to do keeps recent events,
// or stays when it is at rest.
const aMoment = 3 * time.Second

// loops counts the goroutines that host sessions.
func loops() int {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Count(string(buf[:n]), "harness.(*actor).loop(")
		}
		buf = make([]byte, 2*len(buf))
	}
}

func (w *world) wantLoops(want int) {
	w.t.Helper()
	synctest.Wait()
	if n := loops(); n != want {
		w.t.Errorf("%d goroutines host sessions, want %d", n, want)
	}
}

func TestALiveSessionIsOneGoroutineForItsLife(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start(func(r *core.StartRequest) { r.Config.Timeouts.SessionIdle = time.Minute }).Session.ID
		conn := w.fake.last()
		other := w.start().Session.ID
		w.wantLoops(2)
		time.Sleep(aMoment)
		w.wantLoops(2)
		before := w.types(id)

		turn := w.send(id, "say one") // a command
		w.wait(turn.ID)
		time.Sleep(aMoment)
		w.wantLoops(2)

		conn.say(core.SessionChanged{Model: "fake-2"}) // a report
		synctest.Wait()
		if m := w.session(id).Session.Model; m != "fake-2" {
			t.Errorf("the model is %q", m)
		}
		time.Sleep(aMoment) // recent events are freed: readers get the same from the store
		if after := w.types(id); !strings.HasPrefix(after, before+" ") || !strings.HasSuffix(after, "session_updated") {
			t.Errorf("a reader sees %s", after)
		}

		time.Sleep(time.Minute) // a timer
		if v := w.session(id); v.Session.Status != core.StatusClosed || v.Session.Reason != core.ReasonIdleTimeout {
			t.Errorf("the session is %s, %s", v.Session.Status, v.Session.Reason)
		}
		w.wantLoops(1)
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: other}); err != nil {
			t.Error(err)
		}
		w.wantLoops(0)
	})
}

// A session at rest is hosted for a command, so that the machine decides what
// becomes of it, and no longer.
func TestASessionAtRestIsHostedOnlyForACommand(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: id}); err != nil {
			t.Fatal(err)
		}
		w.wantLoops(0)
		for range 3 {
			_, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x"}})
			wantCode(t, err, core.CodeSessionClosed)
			w.wantLoops(0)
		}
		left, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = w.SendMessage(left, me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: "say x"}})
		_, err := w.SendMessage(t.Context(), me, core.SendRequest{SessionID: id, // refused before it is a command
			Input: core.TurnInput{Prompt: "say x", Attachments: []string{"/etc/hostname"}}})
		wantCode(t, err, core.CodeCapability)
		time.Sleep(aMoment)
		w.wantLoops(0)
	})
}

func TestAShutdownReachesQuietSessions(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		time.Sleep(aMoment)
		w.wantLoops(1)
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		w.wantLoops(0)
		if v := w.session(id); v.Session.Status != core.StatusClosed || v.Session.Reason != core.ReasonSessionShutdown {
			t.Errorf("the session is %s, %s", v.Session.Status, v.Session.Reason)
		}
	})
}

func TestAShutdownWithoutTimeReachesQuietSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fake: newFake(), store: memstore.New()}
		w.Harness = harness.New(harness.Config{Store: w.store, Providers: []core.Provider{w.fake}})
		for range 4 {
			w.start()
		}
		time.Sleep(aMoment)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = w.Shutdown(ctx)
		w.wantLoops(0)
	})
}

// A command that comes at the very moment at which the quiet time ends.
func TestNoCommandIsLostAtTheEndOfTheQuietTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		for i := range 100 {
			turn := w.send(id, "say x")
			if r := w.wait(turn.ID); r.Outcome != core.OutcomeDone {
				t.Fatalf("turn %d: %s", i, r.Outcome)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestAStoreThatFailsIsTriedAgainForAQuietSession(t *testing.T) {
	store := &brokenStore{}
	inWorldOn(t, func() core.Store { store.Store = memstore.New(); return store }, core.Limits{}, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		store.broken.Store(true)
		turn := w.send(id, "say x")
		w.wait(turn.ID)
		time.Sleep(time.Minute)
		if d := w.session(id).Session.Durability; d != core.DurabilityDegraded {
			t.Fatalf("durability = %s", d)
		}
		store.broken.Store(false)
		time.Sleep(time.Minute)
		w.wantLoops(1)
		if d := w.session(id).Session.Durability; d != core.Durable {
			t.Errorf("durability = %s", d)
		}
	})
}

// blindStore takes everything and remembers nothing.
type blindStore struct{ core.Store }

func (blindStore) Commit(context.Context, core.Batch) error { return nil }

// talker says as many pieces as its prompt says.
type talker struct{ core.Provider }

func (talker) Open(context.Context, core.SessionConfig) (core.Conn, error) {
	return &talking{out: make(chan core.Notice), end: make(chan struct{})}, nil
}

type talking struct {
	out  chan core.Notice
	end  chan struct{}
	once sync.Once
}

func (*talking) Ready() core.Ready { return core.Ready{ProviderSessionID: "x"} }

func (c *talking) Send(op core.Op) error {
	if start, ok := op.(core.StartTurn); ok {
		go c.speak(start)
	}
	return nil
}

func (c *talking) speak(op core.StartTurn) {
	say := func(n core.Notice) {
		select {
		case c.out <- n:
		case <-c.end:
		}
	}
	say(core.OpDone{Op: op.ID, Ref: "r"})
	n := 0
	_, _ = fmt.Sscan(op.Input.Prompt, &n)
	text := strings.Repeat("some words ", 30)
	for range n {
		say(core.Content{Turn: op.TurnID, Payload: core.MessageDelta{Item: "m", Text: text}})
	}
	say(core.TurnEnded{Turn: op.TurnID, Verdict: core.VerdictCompleted})
}

func (c *talking) Recv(ctx context.Context) (core.Notice, error) {
	select {
	case n := <-c.out:
		return n, nil
	case <-c.end:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *talking) Close(context.Context) error {
	c.once.Do(func() { close(c.end) })
	return nil
}

// memory is what is in use: objects and stacks, in bytes.
func memory() uint64 {
	for range 3 { // stacks shrink at a collection
		runtime.GC()
	}
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() + s[1].Value.Uint64()
}

func TestAQuietSessionTakesLittleMemory(t *testing.T) {
	const sessions = 500
	synctest.Test(t, func(t *testing.T) {
		h := harness.New(harness.Config{Store: blindStore{memstore.New()}, Providers: []core.Provider{talker{newFake()}},
			Limits: core.Limits{MaxSessions: 3 * sessions}})
		dir := t.TempDir()
		start := func() {
			for range sessions {
				cfg := core.SessionConfig{Provider: "fake", CWD: dir, SandboxMode: core.SandboxReadOnly}
				if _, err := h.StartSession(t.Context(), me, core.StartRequest{Config: cfg}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(aMoment)
			synctest.Wait()
		}
		start() // what the first ones bring for all
		before := memory()
		start()
		if per := (memory() - before) / sessions; per > idleBytes {
			t.Errorf("a quiet session takes %d bytes, more than %d", per, idleBytes)
		} else {
			t.Logf("%d bytes each", per)
		}
		if err := h.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
