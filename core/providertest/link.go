package providertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// link is one open Conn under watch. A check uses it from one goroutine.
type link struct {
	env   *Env
	conn  core.Conn
	watch *Watch
	ops   core.OpID
	trail trail
}

// within runs a call that must return within d. The call has a goroutine of its
// own, since a faulty adapter may block for ever: then within returns an error and
// the goroutine stays until the call returns. done has capacity 1, so that the
// goroutine does not wait for a reader.
func within(d time.Duration, what string, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%s did not return within %v", what, d)
	}
}

// open opens a session with the check's configuration, changed by change.
func (e *Env) open(change func(*core.SessionConfig)) (*link, error) {
	cfg := e.Launch
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
	defer cancel()
	var conn core.Conn
	err := within(2*e.Timeout, "Open", func() (err error) {
		conn, err = e.Provider.Open(ctx, cfg)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if conn == nil {
		return nil, errors.New("Open gave neither a Conn nor an error")
	}
	return &link{env: e, conn: conn, watch: NewWatch(conn.Ready())}, nil
}

// with opens a session, runs do in it and closes it, also when do fails.
// After a success it plays a turn first, behind which nothing of the earlier
// ones may come.
func (e *Env) with(do func(*link) error) error {
	l, err := e.open(nil)
	if err != nil {
		return err
	}
	if err = do(l); err == nil {
		err = l.fence()
	}
	return l.end(err)
}

// end closes the Conn and returns err, or the error of closing it. A
// failed closing is never hidden by a skip.
func (l *link) end(err error) error {
	shown := l.trail.behind(err)
	closed := l.close()
	var s skip
	if errors.As(err, &s) {
		shown = err
		if closed != nil {
			return closed
		}
	}
	return errors.Join(shown, closed)
}

// fence plays a turn that must work, and then looks for ops that were never
// answered.
func (l *link) fence() error {
	const word = "fence"
	p, err := l.play(l.env.Prompts.Say(word), nil)
	if err == nil {
		err = p.says(word)
	}
	if err != nil {
		return fmt.Errorf("in the turn that follows: %w", err)
	}
	return l.watch.Unanswered()
}

// close closes the Conn, reads what is left, and wants Recv to end.
func (l *link) close() error {
	if err := l.shut(); err != nil {
		return err
	}
	return l.drain()
}

// shut closes the Conn. Close gets a context of Timeout, and twice that time to
// return.
func (l *link) shut() error {
	ctx, cancel := context.WithTimeout(context.Background(), l.env.Timeout)
	defer cancel()
	return within(2*l.env.Timeout, "Close", func() error {
		if err := l.conn.Close(ctx); err != nil {
			return fmt.Errorf("close: %w", err)
		}
		return nil
	})
}

// maxLeft is how many notices may be left to read when a Conn is closed; more
// is a Recv that never ends.
const maxLeft = 100_000

// drain reads to the end of a closed Conn.
func (l *link) drain() error {
	for range maxLeft {
		_, err := l.next("the end after Close")
		var rule violation
		switch {
		case errors.As(err, &rule):
			return err
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("Recv goes on waiting after Close: %w", err)
		case errors.Is(err, errHung):
			return err
		case err != nil:
			return nil
		}
	}
	return fmt.Errorf("Recv still gives notices after Close and %d of them", maxLeft)
}

// violation is a rule of the watch that a notice broke.
type violation struct{ error }

func (v violation) Unwrap() error { return v.error }

// errHung is the error of a Recv that did not return when its context ended.
var errHung = errors.New("Recv ignores its context")

// next reads one notice through the watch. For names what is waited for.
func (l *link) next(what string) (core.Notice, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.env.Timeout)
	defer cancel()
	n, err := l.recv(ctx)
	if err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", what, err)
	}
	return n, l.see(n)
}

// see puts a notice through the watch.
func (l *link) see(n core.Notice) error {
	l.trail.add(n)
	if err := l.watch.See(n); err != nil {
		return violation{err}
	}
	return nil
}

// recv calls Recv in a goroutine of its own and returns errHung if Recv does not
// return within Timeout after ctx has ended. No second recv follows errHung.
func (l *link) recv(ctx context.Context) (core.Notice, error) {
	type result struct {
		n   core.Notice
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := l.conn.Recv(ctx)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(l.env.Timeout) // time to heed ctx
	defer timer.Stop()
	select {
	case r := <-done:
		return r.n, r.err
	case <-timer.C:
		return nil, errHung
	}
}

// until reads on until the condition holds.
func (l *link) until(what string, enough func(core.Notice) bool) error {
	for {
		n, err := l.next(what)
		if err != nil {
			return err
		}
		if enough(n) {
			return nil
		}
	}
}

// send sends an op that must be taken.
func (l *link) send(op core.Op) error {
	l.watch.Sending(op)
	err := within(l.env.Timeout, "Send", func() error { return l.conn.Send(op) })
	if err != nil {
		l.watch.Refused(op)
		return fmt.Errorf("send %T: %w", op, err)
	}
	return nil
}

// op returns the next op id. Ids ascend from 1.
func (l *link) op() core.OpID { l.ops++; return l.ops }

// start sends a turn.
func (l *link) start(prompt string) (turn string, op core.OpID, err error) {
	turn, op = core.NewID(core.PrefixTurn), l.op()
	return turn, op, l.send(core.StartTurn{ID: op, TurnID: turn, Input: core.TurnInput{Prompt: prompt}})
}

// begin sends a turn and waits until the provider has taken it.
func (l *link) begin(prompt string) (turn string, err error) {
	turn, op, err := l.start(prompt)
	if err != nil {
		return "", err
	}
	var rejected *core.Error
	err = l.until("the acceptance of the turn", func(n core.Notice) bool {
		switch n := n.(type) {
		case core.OpDone:
			if n.Op == op {
				rejected = n.Err
				return true
			}
		case core.TurnBegan:
			return n.Turn == turn
		}
		return l.watch.turns[turn].begun
	})
	if err == nil && rejected != nil {
		err = fmt.Errorf("the turn was rejected: %w", rejected)
	}
	return turn, err
}

// settle sends an op and reads until its outcome, which it returns: nil for
// done, an error from Send or OpDone.
func (l *link) settle(op core.Op) (rejected error, err error) {
	l.watch.Sending(op)
	var refused error
	if err := within(l.env.Timeout, "Send", func() error { refused = l.conn.Send(op); return nil }); err != nil {
		return nil, err
	}
	if refused != nil {
		l.watch.Refused(op)
		return refused, nil
	}
	err = l.until(fmt.Sprintf("the OpDone of %T", op), func(n core.Notice) bool {
		d, ok := n.(core.OpDone)
		if !ok || d.Op != op.OpID() {
			return false
		}
		if d.Err != nil {
			rejected = d.Err
		}
		return true
	})
	return rejected, err
}
