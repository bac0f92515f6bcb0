package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
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

// refusals are what the CLI says on stderr about why it does not start. Only
// these are repeated to callers: other text may quote the environment.
var refusals = []string{
	"already in use", "root/sudo privileges", "No conversation found", "requires --verbose", "unknown option", "Invalid MCP configuration",
	"andbox", "Invalid model", "argument missing", "Invalid session ID", "It must be one of", "Allowed choices are",
}

// lastWords gives the line of stderr that says why the CLI ended.
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
			c.log.Debug("claude ended", "stderr", c.stderr.String())
			return
		}
	}
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

// exchange is a call of the opening: the reader answers it in its place among
// the lines.
type exchange struct{ done chan exchanged }

type exchanged struct {
	body json.RawMessage
	err  *core.Error
}

// answer is called once, with room in the channel.
func (e *exchange) answer(body json.RawMessage, err *core.Error) { e.done <- exchanged{body, err} }

// open shakes hands.
func (c *conn) open(ctx context.Context, l launch, cfg core.SessionConfig) error {
	e := &exchange{done: make(chan exchanged, 1)}
	c.mu.Lock()
	c.t.call(l.init, e)
	err := c.apply()
	c.mu.Unlock()
	if err != nil {
		return core.Errorf(core.CodeStartFailed, "claude does not take messages: %w", err)
	}
	select {
	case r := <-e.done:
		if r.err != nil {
			return core.Errorf(core.CodeStartFailed, "claude did not open: %s", r.err.Message)
		}
		return c.opened(r.body, l, cfg)
	case <-c.queue.lost:
		return c.failedToOpen(c.queue.reason())
	case <-ctx.Done():
		return core.Errorf(core.CodeStartFailed, "claude did not open: %w", ctx.Err())
	}
}

// failedToOpen says why the CLI ended before it could take a turn.
func (c *conn) failedToOpen(err error) error {
	said := c.stderr.String()
	var coded *core.Error
	switch {
	case strings.Contains(said, "root/sudo privileges"):
		return rootError()
	case errors.As(err, &coded) && coded.Code == core.CodeStartFailed:
		return coded
	}
	e := core.Errorf(core.CodeStartFailed, "claude did not open: %w", err)
	if strings.Contains(said, "andbox") {
		return e.WithHint(sandboxHint)
	}
	return e
}

func (c *conn) opened(body json.RawMessage, l launch, cfg core.SessionConfig) error {
	var r wire.Initialized
	if err := json.Unmarshal(body, &r); err != nil {
		return core.Errorf(core.CodeStartFailed, "claude did not open: its response to initialize cannot be read")
	}
	if l.opts.Auth == authSubscription {
		if err := checkAccount(r); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t.session, c.t.model = l.session, cfg.Model
	c.t.literal = takesComposed(r.Version)
	c.ready.ProviderSessionID, c.ready.Model, c.ready.ReasoningEffort = l.session, cfg.Model, cfg.ReasoningEffort
	c.ready.Version, c.ready.PID = r.Version, c.child.PID()
	return nil
}
