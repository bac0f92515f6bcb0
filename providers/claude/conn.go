package claude

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// conn is one `claude -p` with one conversation. Its goroutines are the reader
// of stdout, the writer of the outbox, and those of the child; all end with it.
type conn struct {
	child *link.Child
	out   *ndjson.Outbox
	inbox *link.Inbox
	ready core.Ready
	clean func() // gives back what the session had on disk
	stall stallTimes

	mu    sync.Mutex // the translator, and the order of lines and notices
	t     *translator
	watch *time.Timer // for a model that went silent
	dead  bool        // nothing is sent any more
}

// stallTimes are how long a model may be silent, and how long the interrupt of
// the turn may take after that.
type stallTimes struct{ silence, grace time.Duration }

func newConn(child process.Child, t *translator, log *slog.Logger, stall stallTimes, clean func()) *conn {
	c := &conn{
		child: link.NewChild(child, "Claude Code", log), t: t, clean: clean, stall: stall,
		inbox: link.NewInbox(link.Limits{Count: maxQueued, Bytes: maxQueuedBytes}),
		out:   ndjson.NewOutbox(child.Stdin(), ndjson.Limits{Lines: maxOutbox, Bytes: maxOutboxBytes}),
	}
	c.child.Go(c.read)
	return c
}

// Ready says what the opening found out.
func (c *conn) Ready() core.Ready { return c.ready }

// Recv gives the next notice.
func (c *conn) Recv(ctx context.Context) (core.Notice, error) { return c.inbox.Take(ctx) }

// Send takes an op.
func (c *conn) Send(op core.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return core.Errorf(core.CodeSessionUnavailable, "the connection to Claude Code is closed")
	}
	c.t.op(op)
	if err := c.apply(); err != nil {
		return core.Errorf(core.CodeSessionUnavailable, "Claude Code does not take messages: %w", err)
	}
	return nil
}

// apply does what the translator wants; mu is held.
func (c *conn) apply() error {
	out := c.t.take()
	c.inbox.Add(out.notices)
	err := out.fatal
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

// tell has the translator hear of something and does what it wants; mu is not
// held.
func (c *conn) tell(what func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		what()
		_ = c.apply() // a lost link is reported by Recv
	}
}

func (c *conn) post(l line) error {
	if l.written == 0 {
		return c.out.Add(l.value, nil)
	}
	return c.out.Add(l.value, func() { c.tell(func() { c.t.wrote(l.written) }) })
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
	c.inbox.Add(c.t.take().notices)
	c.inbox.End(err)
}

// read is the reader of stdout.
func (c *conn) read() {
	lines := ndjson.NewReader(c.child.Stdout(), 0)
	for c.inbox.WaitRoom(c.child.Closing()) {
		raw, err := lines.Next()
		if err != nil {
			c.ended(err)
			return
		}
		c.tell(func() { c.t.read(raw) })
	}
	c.child.Drain()
}

// refusals are what the CLI says on stderr about why it does not start. Only
// these are repeated to callers: other text may quote the environment.
var refusals = []string{
	"already in use", "root/sudo privileges", "No conversation found", "requires --verbose", "unknown option", "Invalid MCP configuration",
	"andbox", "Invalid model", "argument missing", "Invalid session ID", "It must be one of", "Allowed choices are",
}

// ended takes the end of stdout.
func (c *conn) ended(err error) {
	if err = c.child.Lost(err, refusals...); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lose(err)
	}
}

// Close ends the CLI and everything it started.
func (c *conn) Close(ctx context.Context) error { return c.child.Close(ctx, c.stop) }

// stop is the ladder: end_session, which aborts a turn and leaves in peace,
// then end of input, TERM and KILL.
func (c *conn) stop(ctx context.Context) error {
	if ctx.Err() == nil && c.farewell() {
		timer := time.NewTimer(endWait)
		select {
		case <-c.child.Done():
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	err := c.child.Stop(ctx)
	c.out.Close()
	c.child.Wait()
	<-c.out.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	c.guard()
	c.inbox.End(io.EOF)
	c.clean()
	return err
}

// farewell asks the CLI to end.
func (c *conn) farewell() bool {
	select {
	case <-c.child.Done():
		return false
	default:
	}
	return c.out.Add(wire.OutRequest{Type: wire.ControlRequest, RequestID: "end",
		Request: wire.EndRequest{Subtype: wire.EndSession, Reason: "closed"}}, nil) == nil
}
