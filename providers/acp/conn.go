package acp

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// conn is one agent with one session. Its goroutines are the reader of stdout,
// the writer of the peer, those of the child and of its terminals; all end with
// the child.
type conn struct {
	agent Agent
	child *link.Child
	peer  *jsonrpc.Peer
	inbox *link.Inbox
	ready core.Ready
	fence fence
	terms *terminals

	mu      sync.Mutex // the translator, and the order of frames and notices
	t       *translator
	again   *time.Timer
	settle  *time.Timer
	dead    bool // nothing is sent any more
	history int  // messages of a conversation that is repeated

	jobs  sync.WaitGroup
	life  context.Context // ends when Close begins
	end   context.CancelFunc
	calls chan struct{} // one token for each call that a terminal holds up
}

func newConn(child process.Child, p *provider, cfg core.SessionConfig, env []string) *conn {
	f := newFence(directories(cfg))
	c := &conn{
		agent: p.agent, child: link.NewChild(child, "the agent", p.log.With("session", cfg.SessionID)), fence: f,
		inbox: link.NewInbox(link.Limits{Count: maxQueued, Bytes: maxQueuedBytes}),
		t:     newTranslator(newSettings(p.agent, cfg, f)),
		peer:  jsonrpc.NewPeer(child.Stdout(), child.Stdin(), jsonrpc.Options{Version: "2.0"}),
		calls: make(chan struct{}, maxTerminalCalls),
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.terms = &terminals{runner: p.opts.Runner, fence: f, cwd: cfg.CWD, env: env, resource: cfg.SessionID,
		output: c.terminalOutput, ended: c.terminalEnded}
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
		return core.Errorf(core.CodeSessionUnavailable, "the connection to the agent is closed")
	}
	c.t.op(op)
	if err := c.apply(); err != nil {
		return core.Errorf(core.CodeSessionUnavailable, "the agent does not take messages: %w", err)
	}
	return nil
}

// applyJobs does what the translator wants but its jobs, which it returns; mu is
// held.
func (c *conn) applyJobs() ([]job, error) {
	out := c.t.take()
	c.inbox.Add(out.notices)
	var err error
	for _, f := range out.frames {
		if e := c.post(f); e != nil && err == nil {
			err = e
		}
	}
	if out.arm && c.again == nil {
		c.again = time.AfterFunc(cancelAgain, c.sayAgain)
	}
	if out.settle {
		if c.settle != nil {
			c.settle.Stop()
		}
		c.settle = time.AfterFunc(time.Duration(c.agent.Quirks.SettleMS)*time.Millisecond, c.settled)
	}
	if err != nil {
		c.lose(err)
	}
	return out.jobs, err
}

// apply is applyJobs where there are no jobs; mu is held.
func (c *conn) apply() error {
	_, err := c.applyJobs()
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

func (c *conn) post(f frame) error {
	var written func()
	if f.written != nil {
		written = func() { c.tell(func() { c.t.wrote(f.written) }) }
	}
	switch f.kind {
	case callFrame:
		return c.peer.Call(f.method, f.params, f.tag, written)
	case notifyFrame:
		return c.peer.Notify(f.method, f.params, written)
	case refuseFrame:
		return c.peer.Refuse(f.id, f.code, f.why)
	}
	return c.peer.Reply(f.id, f.params, written)
}

// lose gives the link up; mu is held. What is open is closed before the error.
func (c *conn) lose(err error) {
	if c.dead {
		return
	}
	c.dead = true
	c.t.lostLink()
	c.inbox.Add(c.t.take().notices)
	c.inbox.End(err)
}

// sayAgain repeats a cancel that has had no effect.
func (c *conn) sayAgain() {
	c.tell(func() {
		c.again = nil
		c.t.cancelAgain()
	})
}

// settled is when an agent is done with a turn that failed.
func (c *conn) settled() { c.tell(c.t.settled) }

// read is the reader of stdout.
func (c *conn) read() {
	for c.room() {
		m, err := c.peer.Recv()
		if err != nil {
			c.ended(err)
			return
		}
		for _, j := range c.heard(m) {
			c.do(j)
		}
	}
	c.child.Drain()
}

// heard has the translator hear of a message and gives what the agent wants
// done.
func (c *conn) heard(m jsonrpc.Message) []job {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || jsonrpc.Answered(m) || !c.keep(m) {
		return nil
	}
	c.t.message(m)
	jobs, _ := c.applyJobs() // a lost link is reported by Recv
	return jobs
}

// room waits until more may be read. While the session opens nobody takes
// notices, so what an agent repeats then is bounded by keep.
func (c *conn) room() bool {
	c.mu.Lock()
	live := c.t.phase == live
	c.mu.Unlock()
	if live {
		return c.inbox.WaitRoom(c.child.Closing())
	}
	return true
}

// keep says whether a message of the opening can be kept; mu is held.
func (c *conn) keep(m jsonrpc.Message) bool {
	if c.t.phase == live || m.Kind != jsonrpc.Notification {
		return true
	}
	c.history++
	if c.history > maxHistory || c.inbox.Holds(link.Limits{Count: maxHistory, Bytes: maxHistoryBytes}) {
		c.t.lost++
		return false
	}
	return true
}

// ended takes the end of stdout.
func (c *conn) ended(err error) {
	if err = c.child.Lost(err); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lose(err)
	}
}

// Close ends the agent and everything it started.
func (c *conn) Close(ctx context.Context) error {
	return c.child.Close(ctx, c.stop)
}

func (c *conn) stop(ctx context.Context) error {
	c.end()
	err := c.child.Stop(ctx)
	c.peer.Close()
	c.child.Wait()
	c.terms.close()
	c.jobs.Wait()
	<-c.peer.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	for _, timer := range []*time.Timer{c.again, c.settle} {
		if timer != nil {
			timer.Stop()
		}
	}
	c.inbox.End(io.EOF)
	return err
}
