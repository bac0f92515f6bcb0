package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// conn is one `claude -p` with one conversation. Its goroutines are the reader
// of stdout, the writer of the outbox, the reader of stderr, and one that Close
// starts; all end with the child.
type conn struct {
	child process.Child
	out   *outbox
	log   *slog.Logger
	queue *queue
	ready core.Ready
	clean func() // gives back what the session had on disk
	stall stallTimes

	mu    sync.Mutex // the translator, and the order of lines and notices
	t     *translator
	watch *time.Timer // for a model that went silent
	dead  bool        // nothing is sent any more

	stderr    tail
	readers   sync.WaitGroup
	closeOnce sync.Once
	closing   chan struct{} // closed when Close began
	finished  chan struct{} // closed when nothing is left
	stopErr   error         // of the stop; valid after finished
}

// stallTimes are how long a model may be silent, and how long the interrupt of
// the turn may take after that.
type stallTimes struct{ silence, grace time.Duration }

func newConn(child process.Child, t *translator, log *slog.Logger, stall stallTimes, clean func()) *conn {
	c := &conn{
		child: child, t: t, log: log, queue: newQueue(), clean: clean, stall: stall,
		out:      newOutbox(child.Stdin()),
		closing:  make(chan struct{}),
		finished: make(chan struct{}),
	}
	c.readers.Add(2)
	go c.read()
	go c.readStderr()
	return c
}

// Ready says what the opening found out.
func (c *conn) Ready() core.Ready { return c.ready }

// Recv gives the next notice.
func (c *conn) Recv(ctx context.Context) (core.Notice, error) { return c.queue.take(ctx) }

// Send takes an op.
func (c *conn) Send(op core.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return core.Errorf(core.CodeSessionUnavailable, "the connection to Claude Code is closed")
	}
	var err *core.Error
	switch op := op.(type) {
	case core.StartTurn:
		err = c.t.startTurn(op)
	case core.Steer:
		err = c.t.steer(op)
	case core.Respond:
		err = c.t.respond(op)
	case core.Interrupt:
		err = c.t.interrupt(op)
	case core.Configure:
		err = c.t.configure(op)
	default:
		return core.Errorf(core.CodeInternal, "claude does not know the op %T", op)
	}
	if err != nil {
		c.t.opDone(op.OpID(), "", err, nil)
	}
	if err := c.apply(); err != nil {
		return core.Errorf(core.CodeSessionUnavailable, "Claude Code does not take messages: %w", err)
	}
	return nil
}

// apply does what the translator wants; mu is held.
func (c *conn) apply() error {
	out := c.t.take()
	c.queue.add(out.notices)
	err := error(nil)
	if out.fatal != nil {
		err = out.fatal
	}
	for _, l := range out.lines {
		if e := c.post(l); e != nil && err == nil {
			err = e
		}
	}
	if err != nil {
		c.lose(err)
	}
	c.guard()
	return err
}

func (c *conn) post(l line) error {
	if l.written == 0 {
		return c.out.add(l.value, nil)
	}
	return c.out.add(l.value, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.dead {
			c.t.wrote(l.written)
			_ = c.apply() // a lost link is reported by Recv
		}
	})
}

// guard sets the watchdog anew: it runs while the turn waits for the model
// alone; mu is held.
func (c *conn) guard() {
	if c.watch != nil {
		c.watch.Stop()
		c.watch = nil
	}
	if c.dead || c.stall.silence <= 0 || !c.t.busy() {
		return
	}
	wait, u := c.stall.silence, c.t.running
	if u.stalled {
		wait = c.stall.grace
	}
	c.watch = time.AfterFunc(wait, func() { c.stalled(u) })
}

func (c *conn) stalled(u *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.dead || c.t.running != u:
	case u.stalled:
		c.lose(core.Errorf(core.CodeSessionUnavailable, "Claude Code did not stop a turn whose model went silent"))
	default:
		c.t.stall()
		_ = c.apply() // a lost link is reported by Recv
	}
}

// lose gives the link up; mu is held. What is open is closed before the error.
func (c *conn) lose(err error) {
	if c.dead {
		return
	}
	c.dead = true
	c.t.lost()
	c.queue.add(c.t.take().notices)
	c.queue.end(err)
}

// read is the reader of stdout.
func (c *conn) read() {
	defer c.readers.Done()
	lines := ndjson.NewReader(c.child.Stdout(), 0)
	for c.queue.waitRoom(c.closing) {
		raw, err := lines.Next()
		if err != nil {
			c.ended(err)
			return
		}
		c.mu.Lock()
		if !c.dead {
			c.t.read(raw)
			_ = c.apply() // a lost link is reported by Recv
		}
		c.mu.Unlock()
	}
	// The rest is read and dropped, so that the CLI can end in peace.
	_, _ = io.Copy(io.Discard, c.child.Stdout())
}

// ended takes the end of stdout: of the CLI, unless we are closing.
func (c *conn) ended(err error) {
	select {
	case <-c.closing:
		return // Close says io.EOF
	case <-c.child.Done():
		err = fmt.Errorf("claude ended: %s%s", exitText(c.child.Exit()), c.lastWords())
	case <-time.After(exitWait):
		if errors.Is(err, io.EOF) {
			err = errors.New("claude closed its output")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lose(core.Errorf(core.CodeSessionUnavailable, "the connection to Claude Code was lost: %w", err))
}

func exitText(e process.Exit) string {
	switch {
	case e.Signal != "":
		return "signal " + e.Signal
	case e.Err != nil:
		return e.Err.Error()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Close ends the CLI and everything it started.
func (c *conn) Close(ctx context.Context) error {
	c.closeOnce.Do(func() {
		close(c.closing)
		go c.stop(ctx)
	})
	select {
	case <-c.finished:
	case <-ctx.Done():
		_ = c.child.Kill() // joins a polite stop and overtakes it
		<-c.finished
	}
	if c.stopErr != nil {
		return core.Errorf(core.CodeInternal, "claude could not be stopped: %w", c.stopErr)
	}
	return nil
}

// stop is the ladder: end_session, which aborts a turn and leaves in peace,
// then end of input, TERM and KILL.
func (c *conn) stop(ctx context.Context) {
	defer close(c.finished)
	if ctx.Err() == nil && c.farewell() {
		timer := time.NewTimer(endWait)
		select {
		case <-c.child.Done():
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	c.stopErr = c.child.Stop(ctx)
	c.out.close()
	c.readers.Wait()
	<-c.out.done
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	c.guard()
	c.queue.end(io.EOF)
	c.clean()
}

// farewell asks the CLI to end.
func (c *conn) farewell() bool {
	select {
	case <-c.child.Done():
		return false
	default:
	}
	return c.out.add(wire.OutRequest{Type: wire.ControlRequest, RequestID: "end",
		Request: wire.EndRequest{Subtype: wire.EndSession, Reason: "closed"}}, nil) == nil
}
