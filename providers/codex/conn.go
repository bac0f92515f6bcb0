package codex

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
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// conn is one `codex app-server` with one thread. Its goroutines are the reader
// of stdout, the writer of the peer, the reader of stderr, and one that Close
// starts; all end with the child.
type conn struct {
	child process.Child
	peer  *jsonrpc.Peer
	log   *slog.Logger
	queue *queue
	ready core.Ready

	mu    sync.Mutex // the translator, and the order of frames and notices
	t     *translator
	drain *time.Timer
	dead  bool // nothing is sent any more

	readers   sync.WaitGroup
	closeOnce sync.Once
	closing   chan struct{} // closed when Close began
	finished  chan struct{} // closed when nothing is left
	stopErr   error         // of the stop; valid after finished
}

func newConn(child process.Child, t *translator, log *slog.Logger) *conn {
	c := &conn{
		child: child, t: t, log: log, queue: newQueue(),
		peer:     jsonrpc.NewPeer(child.Stdout(), child.Stdin(), jsonrpc.Options{}),
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
		return core.Errorf(core.CodeSessionUnavailable, "the connection to Codex is closed")
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
		return core.Errorf(core.CodeInternal, "codex does not know the op %T", op)
	}
	if err != nil {
		c.t.opDone(op.OpID(), "", err, nil)
	}
	if err := c.apply(); err != nil {
		return core.Errorf(core.CodeSessionUnavailable, "Codex does not take messages: %w", err)
	}
	return nil
}

// apply does what the translator wants; mu is held.
func (c *conn) apply() error {
	out := c.t.take()
	c.queue.add(out.notices)
	err := out.fatal
	for _, f := range out.frames {
		if e := c.post(f); e != nil && err == nil {
			err = e
		}
	}
	if out.arm && c.drain == nil {
		c.drain = time.AfterFunc(drainTimeout, c.drainExpired)
	}
	if err != nil {
		c.lose(err)
	}
	return err
}

func (c *conn) post(f frame) error {
	switch {
	case f.method != "":
		return c.peer.Call(f.method, f.params, f.tag, nil)
	case f.refuse != "":
		return c.peer.Refuse(f.id, jsonrpc.CodeMethodNotFound, f.refuse)
	}
	return c.peer.Reply(f.id, f.params, nil)
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

func (c *conn) drainExpired() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drain = nil
	if !c.dead {
		c.t.drainExpired()
		_ = c.apply() // a lost link is reported by Recv
	}
}

// read is the reader of stdout.
func (c *conn) read() {
	defer c.readers.Done()
	for c.queue.waitRoom(c.closing) {
		m, err := c.peer.Recv()
		if err != nil {
			c.ended(err)
			return
		}
		c.mu.Lock()
		if !c.dead && !exchanged(m) {
			c.t.message(m)
			_ = c.apply() // a lost link is reported by Recv
		}
		c.mu.Unlock()
	}
	// The rest is read and dropped, so that Codex can end in peace.
	_, _ = io.Copy(io.Discard, c.child.Stdout())
}

// ended takes the end of stdout: of Codex, unless we are closing.
func (c *conn) ended(err error) {
	select {
	case <-c.closing:
		return // Close says io.EOF
	case <-c.child.Done():
		err = fmt.Errorf("codex ended: %s", exitText(c.child.Exit()))
	case <-time.After(exitWait):
		if errors.Is(err, io.EOF) {
			err = errors.New("codex closed its output")
		}
	}
	select { // it may have ended because we are closing
	case <-c.closing:
		return
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lose(core.Errorf(core.CodeSessionUnavailable, "the connection to Codex was lost: %w", err))
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

// readStderr keeps the end of stderr for the log. It may quote the
// environment, so it goes nowhere else.
func (c *conn) readStderr() {
	defer c.readers.Done()
	var tail []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := c.child.Stderr().Read(buf)
		tail = append(tail, buf[:n]...)
		if over := len(tail) - maxStderr; over > 0 {
			tail = append([]byte(nil), tail[over:]...)
		}
		if err != nil {
			c.log.Debug("codex ended", "stderr", string(tail))
			return
		}
	}
}

// Close ends Codex and everything it started.
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
		return core.Errorf(core.CodeInternal, "codex could not be stopped: %w", c.stopErr)
	}
	return nil
}

func (c *conn) stop(ctx context.Context) {
	defer close(c.finished)
	c.stopErr = c.child.Stop(ctx)
	c.peer.Close()
	c.readers.Wait()
	<-c.peer.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	if c.drain != nil {
		c.drain.Stop()
	}
	c.queue.end(io.EOF)
}
