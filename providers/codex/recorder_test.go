package codex

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// patience is how long a test waits for what has to come.
const patience = 60 * time.Second

// recorder reads a Conn to its end and keeps what it said.
type recorder struct {
	t    *testing.T
	conn core.Conn
	done chan struct{} // closed at the end

	mu      sync.Mutex
	wake    chan struct{} // closed and replaced at every notice
	notices []core.Notice
	err     error
	ops     core.OpID
	seen    int // what until has consumed
}

// record reads conn until it ends; the test's cleanup closes it.
func record(t *testing.T, conn core.Conn) *recorder {
	t.Helper()
	r := &recorder{t: t, conn: conn, done: make(chan struct{}), wake: make(chan struct{})}
	go func() {
		defer close(r.done)
		for {
			n, err := conn.Recv(context.Background())
			r.mu.Lock()
			if err != nil {
				r.err = err
			} else {
				r.notices = append(r.notices, n)
			}
			close(r.wake)
			r.wake = make(chan struct{})
			r.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { r.close() })
	return r
}

func (r *recorder) close() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.conn.Close(ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
	<-r.done
}

// ended waits for the error of Recv.
func (r *recorder) ended() error {
	r.t.Helper()
	select {
	case <-r.done:
		return r.err
	case <-time.After(patience):
		r.t.Fatal("the link did not end")
		return nil
	}
}

// until waits for a notice that was not looked at before and gives it.
func (r *recorder) until(what string, ok func(core.Notice) bool) core.Notice {
	r.t.Helper()
	late := time.After(patience)
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
			r.t.Fatalf("the link ended with %v before %s; saw %s", err, what, r.summary())
		}
		select {
		case <-wake:
		case <-late:
			r.t.Fatalf("no %s; saw %s", what, r.summary())
		}
	}
}

// all gives what came so far.
func (r *recorder) all() []core.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]core.Notice(nil), r.notices...)
}

func (r *recorder) summary() string {
	var b strings.Builder
	for _, n := range r.all() {
		b.WriteString("\n  " + brief(n))
	}
	return b.String()
}

func (r *recorder) nextOp() core.OpID {
	r.ops++
	return r.ops
}

func (r *recorder) send(op core.Op) core.OpID {
	r.t.Helper()
	if err := r.conn.Send(op); err != nil {
		r.t.Fatalf("send %T: %v", op, err)
	}
	return op.OpID()
}

// start sends a turn with lines of script.
func (r *recorder) start(turn string, script ...string) core.OpID {
	r.t.Helper()
	return r.send(core.StartTurn{ID: r.nextOp(), TurnID: turn, Input: core.TurnInput{Prompt: strings.Join(script, "\n")}})
}

func (r *recorder) opDone(op core.OpID) core.OpDone {
	r.t.Helper()
	return r.until("OpDone", func(n core.Notice) bool { d, ok := n.(core.OpDone); return ok && d.Op == op }).(core.OpDone)
}

func (r *recorder) turnEnded(turn string) core.TurnEnded {
	r.t.Helper()
	return r.until("end of "+turn, func(n core.Notice) bool { e, ok := n.(core.TurnEnded); return ok && e.Turn == turn }).(core.TurnEnded)
}

func (r *recorder) request() core.RequestRaised {
	r.t.Helper()
	return r.until("request", func(n core.Notice) bool { _, ok := n.(core.RequestRaised); return ok }).(core.RequestRaised)
}

// content waits for a payload of a type.
func content[P core.Payload](r *recorder) P {
	r.t.Helper()
	n := r.until("content", func(n core.Notice) bool {
		c, ok := n.(core.Content)
		if !ok {
			return false
		}
		_, ok = c.Payload.(P)
		return ok
	})
	return n.(core.Content).Payload.(P)
}

// contents gives all payloads of a type so far.
func contents[P core.Payload](r *recorder) []P {
	var list []P
	for _, n := range r.all() {
		if c, ok := n.(core.Content); ok {
			if p, ok := c.Payload.(P); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

// checkStream checks the promises of every conversation: deltas join to their
// message, every item ends once, nothing comes after a turn's end.
func (r *recorder) checkStream() {
	r.t.Helper()
	joined := map[string]string{}
	open := map[string]bool{}
	ended := map[string]bool{}
	for _, n := range r.all() {
		switch n := n.(type) {
		case core.TurnEnded:
			if ended[n.Turn] {
				r.t.Errorf("turn %s ended twice", n.Turn)
			}
			ended[n.Turn] = true
			for item := range open {
				r.t.Errorf("turn %s ended with the open item %s", n.Turn, item)
			}
		case core.Content:
			if ended[n.Turn] && n.Turn != "" {
				r.t.Errorf("%s came after the end of its turn", brief(n))
			}
			switch p := n.Payload.(type) {
			case core.MessageDelta:
				joined[p.Item] += p.Text
				open[p.Item] = true
			case core.ReasoningDelta:
				joined[p.Item] += p.Text
				open[p.Item] = true
			case core.Message:
				r.checkJoined(p.Item, joined[p.Item], p.Text)
				delete(open, p.Item)
			case core.Reasoning:
				r.checkJoined(p.Item, joined[p.Item], p.Text)
				delete(open, p.Item)
			case core.ToolStarted:
				open[p.Item] = true
			case core.ToolCompleted:
				delete(open, p.Item)
			}
		}
	}
}

func (r *recorder) checkJoined(item, joined, text string) {
	r.t.Helper()
	if joined != text {
		r.t.Errorf("item %s: the deltas join to %q, the whole is %q", item, joined, text)
	}
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
