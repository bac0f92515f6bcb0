package codex

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// conn is one `codex app-server` with one thread. Its goroutines are the reader
// of stdout, the writer of the peer, and those of the child; all end with it.
type conn struct {
	child *link.Child
	peer  *jsonrpc.Peer
	inbox *link.Inbox
	ready core.Ready

	mu    sync.Mutex // the translator, and the order of frames and notices
	t     *translator
	drain *time.Timer
	dead  bool // nothing is sent any more
}

func newConn(child process.Child, t *translator, log *slog.Logger) *conn {
	c := &conn{
		child: link.NewChild(child, "Codex", log), t: t,
		inbox: link.NewInbox(link.Limits{Count: maxQueued, Bytes: maxQueuedBytes}),
		peer:  jsonrpc.NewPeer(child.Stdout(), child.Stdin(), jsonrpc.Options{}),
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
		return core.Errorf(core.CodeSessionUnavailable, "the connection to Codex is closed")
	}
	c.t.op(op)
	if err := c.apply(); err != nil {
		return core.Errorf(core.CodeSessionUnavailable, "Codex does not take messages: %w", err)
	}
	return nil
}

// apply does what the translator wants; mu is held.
func (c *conn) apply() error {
	out := c.t.take()
	c.inbox.Add(out.notices)
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
	c.inbox.Add(c.t.take().notices)
	c.inbox.End(err)
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

func (c *conn) drainExpired() {
	c.tell(func() {
		c.drain = nil
		c.t.drainExpired()
	})
}

// read is the reader of stdout.
func (c *conn) read() {
	for c.inbox.WaitRoom(c.child.Closing()) {
		m, err := c.peer.Recv()
		if err != nil {
			c.ended(err)
			return
		}
		c.tell(func() {
			if !jsonrpc.Answered(m) {
				c.t.message(m)
			}
		})
	}
	c.child.Drain()
}

// ended takes the end of stdout.
func (c *conn) ended(err error) {
	if err = c.child.Lost(err); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lose(err)
	}
}

// Close ends Codex and everything it started.
func (c *conn) Close(ctx context.Context) error { return c.child.Close(ctx, c.stop) }

func (c *conn) stop(ctx context.Context) error {
	err := c.child.Stop(ctx)
	c.peer.Close()
	c.child.Wait()
	<-c.peer.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	if c.drain != nil {
		c.drain.Stop()
	}
	c.inbox.End(io.EOF)
	return err
}
