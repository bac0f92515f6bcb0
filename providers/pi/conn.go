package pi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// conn is one `pi --mode rpc` with one conversation. Its goroutines are the
// reader of stdout, the writer of the outbox, the reader of stderr, and one
// that Close starts; all end with the child.
type conn struct {
	child process.Child
	out   *link.Outbox
	inbox *link.Inbox
	log   *slog.Logger
	ready core.Ready
	clean func() // removes what the session had on disk

	mu     sync.Mutex // the translator, and the order of lines and notices
	t      *translator
	timers map[string]*time.Timer // of dialogs that Pi answers itself
	dead   bool                   // nothing is sent any more

	stderr    tail
	readers   sync.WaitGroup
	closeOnce sync.Once
	closing   chan struct{} // closed when Close began
	finished  chan struct{} // closed when nothing is left
	stopErr   error         // of the stop; valid after finished
}

func newConn(child process.Child, t *translator, log *slog.Logger, clean func()) *conn {
	c := &conn{
		child: child, t: t, log: log, clean: clean,
		inbox:    link.NewInbox(link.Limits{Count: maxQueued, Bytes: maxQueuedBytes}),
		out:      link.NewOutbox(child.Stdin(), link.Limits{Count: maxOutbox, Bytes: maxOutboxBytes}),
		timers:   map[string]*time.Timer{},
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
func (c *conn) Recv(ctx context.Context) (core.Notice, error) { return c.inbox.Take(ctx) }

// Send takes an op.
func (c *conn) Send(op core.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return core.Errorf(core.CodeSessionUnavailable, "the connection to Pi is closed")
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
		return core.Errorf(core.CodeInternal, "pi does not know the op %T", op)
	}
	if err != nil {
		c.t.opDone(op.OpID(), err, nil)
	}
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

func (c *conn) post(l line) error {
	if l.written == 0 {
		return c.out.Add(l.value, nil)
	}
	return c.out.Add(l.value, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.dead {
			c.t.wrote(l.written)
			_ = c.apply() // a lost link is reported by Recv
		}
	})
}

func (c *conn) dialogExpired(ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.timers, ref)
	if !c.dead {
		c.t.dialogExpired(ref)
		_ = c.apply() // a lost link is reported by Recv
	}
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
	defer c.readers.Done()
	lines := ndjson.NewReader(c.child.Stdout(), 0)
	for c.inbox.WaitRoom(c.closing) {
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
	// The rest is read and dropped, so that Pi can end in peace.
	_, _ = io.Copy(io.Discard, c.child.Stdout())
}

// ended takes the end of stdout: of Pi, unless we are closing.
func (c *conn) ended(err error) {
	wait := time.NewTimer(exitWait)
	defer wait.Stop()
	select {
	case <-c.closing:
		return // Close says io.EOF
	case <-c.child.Done():
		err = fmt.Errorf("pi ended: %s%s", exitText(c.child.Exit()), c.lastWords())
	case <-wait.C:
		if errors.Is(err, io.EOF) {
			err = errors.New("pi closed its output")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lose(core.Errorf(core.CodeSessionUnavailable, "the connection to Pi was lost: %w", err))
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

// refusals are what Pi says on stderr about why it does not start. Only these
// are repeated to callers: other text may quote the environment.
var refusals = []string{
	"No session found", "Session not found", "Session found in different project", "Unknown option", "Unknown provider", "No models match", "not found",
	"Invalid thinking level", "does not provide an export named", "Unsupported Node", "requires Node", "Failed to load extension", "No API key found", "No model",
}

// lastWords gives the line of stderr that says why Pi ended.
func (c *conn) lastWords() string {
	for l := range strings.Lines(c.stderr.String()) {
		for _, r := range refusals {
			if strings.Contains(l, r) {
				return ": " + strings.TrimSpace(l)
			}
		}
	}
	return ""
}

// tail keeps the end of what was written.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - maxStderr; over > 0 {
		t.data = append([]byte(nil), t.data[over:]...)
	}
}

// String is what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}

// readStderr keeps the end of stderr for the log.
func (c *conn) readStderr() {
	defer c.readers.Done()
	buf := make([]byte, 4<<10)
	for {
		n, err := c.child.Stderr().Read(buf)
		c.stderr.add(buf[:n])
		if err != nil {
			c.log.Debug("pi ended", "stderr", c.stderr.String())
			return
		}
	}
}

// Close ends Pi and everything it started: by the end of its input, at which
// Pi ends its tools and writes its files.
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
		return core.Errorf(core.CodeInternal, "pi could not be stopped: %w", c.stopErr)
	}
	return nil
}

func (c *conn) stop(ctx context.Context) {
	defer close(c.finished)
	c.stopErr = c.child.Stop(ctx)
	c.out.Close()
	c.readers.Wait()
	<-c.out.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	c.stopTimers()
	c.inbox.End(io.EOF)
	c.clean()
}
