// Package conntest helps tests of an adapter to use a Conn: it reads all notices,
// waits for the one that a test needs, and checks the whole conversation against
// the rules of every Conn. It is for tests only.
package conntest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
)

// MaxWait is how long a test waits for what has to come.
const MaxWait = 60 * time.Second

// Recorder reads a Conn to its end and keeps the notices.
type Recorder struct {
	t    *testing.T
	Conn core.Conn
	done chan struct{} // closed at the end

	mu      sync.Mutex
	wake    chan struct{} // closed and replaced at every notice
	notices []core.Notice
	err     error
	watch   *providertest.Watch
	ops     core.OpID
	seen    int // what until has consumed
}

// Record reads conn until it ends; the test's cleanup closes it.
func Record(t *testing.T, conn core.Conn) *Recorder {
	t.Helper()
	r := &Recorder{t: t, Conn: conn, done: make(chan struct{}), wake: make(chan struct{}),
		watch: providertest.NewWatch(conn.Ready())}
	go func() {
		defer close(r.done)
		for {
			n, err := conn.Recv(context.Background())
			r.mu.Lock()
			if err != nil {
				r.err = err
			} else {
				r.notices = append(r.notices, n)
				if broken := r.watch.See(n); broken != nil {
					r.t.Errorf("%v\n  at %s", broken, Brief(n))
				}
			}
			close(r.wake)
			r.wake = make(chan struct{})
			r.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { r.Close() })
	return r
}

// Close ends the conversation, which must work, and waits for the end of Recv.
func (r *Recorder) Close() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.Conn.Close(ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
	<-r.done
}

// Ended waits for the error of Recv.
func (r *Recorder) Ended() error {
	r.t.Helper()
	select {
	case <-r.done:
		return r.err
	case <-time.After(MaxWait):
		r.t.Fatal("the link did not end")
		return nil
	}
}

// Until waits for a notice that was not looked at before and returns it.
func (r *Recorder) Until(what string, ok func(core.Notice) bool) core.Notice {
	r.t.Helper()
	late := time.After(MaxWait)
	for {
		r.mu.Lock()
		for r.seen < len(r.notices) {
			n := r.notices[r.seen]
			r.seen++
			if ok(n) {
				r.mu.Unlock()
				return n
			}
		}
		wake, err := r.wake, r.err
		r.mu.Unlock()
		if err != nil {
			r.t.Fatalf("the link ended with %v before %s; saw %s", err, what, r.Summary())
		}
		select {
		case <-wake:
		case <-late:
			r.t.Fatalf("no %s; saw %s", what, r.Summary())
		}
	}
}

// All returns what came so far.
func (r *Recorder) All() []core.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]core.Notice(nil), r.notices...)
}

// Summary shows all that came so far, a line for each notice.
func (r *Recorder) Summary() string {
	var b strings.Builder
	for _, n := range r.All() {
		b.WriteString("\n  " + Brief(n))
	}
	return b.String()
}

// NextOp returns the id of the next op.
func (r *Recorder) NextOp() core.OpID {
	r.ops++
	return r.ops
}

// Send sends an op, which must be taken, and returns its id.
func (r *Recorder) Send(op core.Op) core.OpID {
	r.t.Helper()
	r.mu.Lock()
	r.watch.Sending(op)
	r.mu.Unlock()
	if err := r.Conn.Send(op); err != nil {
		r.t.Fatalf("send %T: %v", op, err)
	}
	return op.OpID()
}

// Start sends a turn with lines of script.
func (r *Recorder) Start(turn string, script ...string) core.OpID {
	r.t.Helper()
	return r.Send(core.StartTurn{ID: r.NextOp(), TurnID: turn, Input: core.TurnInput{Prompt: strings.Join(script, "\n")}})
}

// OpDone waits for the outcome of an op.
func (r *Recorder) OpDone(op core.OpID) core.OpDone {
	r.t.Helper()
	return r.Until("OpDone", func(n core.Notice) bool { d, ok := n.(core.OpDone); return ok && d.Op == op }).(core.OpDone)
}

// TurnEnded waits for the end of a turn.
func (r *Recorder) TurnEnded(turn string) core.TurnEnded {
	r.t.Helper()
	return r.Until("end of "+turn, func(n core.Notice) bool { e, ok := n.(core.TurnEnded); return ok && e.Turn == turn }).(core.TurnEnded)
}

// Request waits for the next request.
func (r *Recorder) Request() core.RequestRaised {
	r.t.Helper()
	return r.Until("request", func(n core.Notice) bool { _, ok := n.(core.RequestRaised); return ok }).(core.RequestRaised)
}

// Content waits for a payload of a type.
func Content[P core.Payload](r *Recorder) P {
	r.t.Helper()
	n := r.Until("content", func(n core.Notice) bool {
		c, ok := n.(core.Content)
		if !ok {
			return false
		}
		_, ok = c.Payload.(P)
		return ok
	})
	return n.(core.Content).Payload.(P)
}

// Contents returns all payloads of a type so far.
func Contents[P core.Payload](r *Recorder) []P {
	var list []P
	for _, n := range r.All() {
		if c, ok := n.(core.Content); ok {
			if p, ok := c.Payload.(P); ok {
				list = append(list, p)
			}
		}
	}
	return list
}
