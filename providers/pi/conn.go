package pi

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// conn is one `pi --mode rpc` with one conversation. Its goroutines are the
// reader of stdout, the writer of the outbox, and those of the child; all end
// with it.
type conn struct {
	child *link.Child
	out   *ndjson.Outbox
	inbox *link.Inbox
	ready core.Ready
	clean func() // removes what the session had on disk

	mu     sync.Mutex // the translator, and the order of lines and notices
	t      *translator
	timers map[string]*time.Timer // of dialogs that Pi answers itself
	dead   bool                   // nothing is sent any more
}

func newConn(child process.Child, t *translator, log *slog.Logger, clean func()) *conn {
	c := &conn{
		child: link.NewChild(child, "Pi", log), t: t, clean: clean,
		inbox:  link.NewInbox(link.Limits{Count: maxQueued, Bytes: maxQueuedBytes}),
		out:    ndjson.NewOutbox(child.Stdin(), ndjson.Limits{Lines: maxOutbox, Bytes: maxOutboxBytes}),
		timers: map[string]*time.Timer{},
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
		return core.Errorf(core.CodeSessionUnavailable, "the connection to Pi is closed")
	}
	c.t.op(op)
	if err := c.apply(); err != nil {
		return core.Errorf(core.CodeSessionUnavailable, "Pi does not take messages: %w", err)
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
	for _, w := range out.timers {
		c.timers[w.ref] = time.AfterFunc(w.after, func() { c.dialogExpired(w.ref) })
	}
	if err != nil {
		c.lose(err)
	}
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

func (c *conn) dialogExpired(ref string) {
	c.tell(func() {
		delete(c.timers, ref)
		c.t.dialogExpired(ref)
	})
}

// stopTimers ends what would still tell of dialogs; mu is held.
func (c *conn) stopTimers() {
	for _, w := range c.timers {
		w.Stop()
	}
	clear(c.timers)
}

// lose gives the link up; mu is held. What is open is closed before the error.
func (c *conn) lose(err error) {
	if c.dead {
		return
	}
	c.dead = true
	c.stopTimers()
	c.t.lost()
	c.inbox.Add(c.t.take().notices)
	c.inbox.End(err)
}

// read is the reader of stdout. Records end at LF alone: other line separators
// are characters of a text.
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

// refusals are what Pi says on stderr about why it does not start. Only these
// are repeated to callers: other text may quote the environment.
var refusals = []string{
	"No session found", "Session not found", "Session found in different project", "Unknown option", "Unknown provider", "No models match", "not found",
	"Invalid thinking level", "does not provide an export named", "Unsupported Node", "requires Node", "Failed to load extension", "No API key found", "No model",
}

// ended takes the end of stdout.
func (c *conn) ended(err error) {
	if err = c.child.Lost(err, refusals...); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lose(err)
	}
}

// Close ends Pi and everything it started: by the end of its input, at which
// Pi ends its tools and writes its files.
func (c *conn) Close(ctx context.Context) error { return c.child.Close(ctx, c.stop) }

func (c *conn) stop(ctx context.Context) error {
	err := c.child.Stop(ctx)
	c.out.Close()
	c.child.Wait()
	<-c.out.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	c.stopTimers()
	c.inbox.End(io.EOF)
	c.clean()
	return err
}
