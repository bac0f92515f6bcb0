package acp

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
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// conn is one agent with one session. Its goroutines are the reader of stdout,
// the writer of the peer, the reader of stderr, those of its terminals, and one
// that Close starts; all end with the child.
type conn struct {
	agent Agent
	child process.Child
	peer  *jsonrpc.Peer
	log   *slog.Logger
	queue *queue
	ready core.Ready
	fence fence
	terms *terminals

	mu      sync.Mutex // the translator, and the order of frames and notices
	t       *translator
	again   *time.Timer
	settle  *time.Timer
	dead    bool // nothing is sent any more
	history int  // bytes of a conversation that is repeated

	readers   sync.WaitGroup
	jobs      sync.WaitGroup
	closeOnce sync.Once
	closing   chan struct{}   // closed when Close began
	life      context.Context // ends then too
	end       context.CancelFunc
	calls     chan struct{} // one token for each call that a terminal holds up
	finished  chan struct{} // closed when nothing is left
	stopErr   error         // of the stop; valid after finished

	errMu sync.Mutex
	tail  []byte // the end of stderr
}

func newConn(child process.Child, p *provider, cfg core.SessionConfig, env []string) *conn {
	f := newFence(directories(cfg))
	c := &conn{
		agent: p.agent, child: child, log: p.log.With("session", cfg.SessionID), queue: newQueue(), fence: f,
		t:        newTranslator(newSettings(p.agent, cfg, f)),
		peer:     jsonrpc.NewPeer(child.Stdout(), child.Stdin(), jsonrpc.Options{Version: "2.0"}),
		closing:  make(chan struct{}),
		finished: make(chan struct{}),
		calls:    make(chan struct{}, maxTerminalCalls),
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.terms = &terminals{runner: p.opts.Runner, fence: f, cwd: cfg.CWD, env: env, resource: cfg.SessionID,
		output: c.terminalOutput, ended: c.terminalEnded}
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
		return core.Errorf(core.CodeSessionUnavailable, "the connection to the agent is closed")
	}
	var err *core.Error
	switch op := op.(type) {
	case core.StartTurn:
		err = c.t.startTurn(op)
	case core.Steer:
		err = core.Errorf(core.CodeCapability, "ACP agents cannot be steered")
	case core.Respond:
		err = c.t.respond(op)
	case core.Interrupt:
		err = c.t.interrupt(op)
	case core.Configure:
		err = c.t.configure(op)
	default:
		return core.Errorf(core.CodeInternal, "acp does not know the op %T", op)
	}
	if err != nil {
		c.t.opDone(op.OpID(), err)
	}
	if err := c.apply(); err != nil {
		return core.Errorf(core.CodeSessionUnavailable, "the agent does not take messages: %w", err)
	}
	return nil
}

// applyJobs does what the translator wants but its jobs, which it returns; mu is
// held.
func (c *conn) applyJobs() ([]job, error) {
	out := c.t.take()
	c.queue.add(out.notices)
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

func (c *conn) post(f frame) error {
	var written func()
	if f.written != nil {
		written = func() { c.wrote(f.written) }
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

// wrote is called by the peer's writer.
func (c *conn) wrote(tag any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		c.t.wrote(tag)
		_ = c.apply() // a lost link is reported by Recv
	}
}

// lose gives the link up; mu is held. What is open is closed before the error.
func (c *conn) lose(err error) {
	if c.dead {
		return
	}
	c.dead = true
	c.t.lostLink()
	c.queue.add(c.t.take().notices)
	c.queue.end(err)
}

// sayAgain repeats a cancel that has had no effect.
func (c *conn) sayAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again = nil
	if !c.dead {
		c.t.cancelAgain()
		_ = c.apply() // a lost link is reported by Recv
	}
}

// settled is when an agent is done with a turn that failed.
func (c *conn) settled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		c.t.settled()
		_ = c.apply() // a lost link is reported by Recv
	}
}

// read is the reader of stdout.
func (c *conn) read() {
	defer c.readers.Done()
	for c.room() {
		m, err := c.peer.Recv()
		if err != nil {
			c.ended(err)
			return
		}
		var jobs []job
		c.mu.Lock()
		if !c.dead && !exchanged(m) && c.keep(m) {
			c.t.message(m)
			jobs, _ = c.applyJobs() // a lost link is reported by Recv
		}
		c.mu.Unlock()
		for _, j := range jobs {
			c.do(j)
		}
	}
	// The rest is read and dropped, so that the agent can end in peace.
	_, _ = io.Copy(io.Discard, c.child.Stdout())
}

// room waits until more may be read. While the session opens nobody takes
// notices, so what an agent repeats then is bounded by keep.
func (c *conn) room() bool {
	c.mu.Lock()
	live := c.t.phase == live
	c.mu.Unlock()
	if live {
		return c.queue.waitRoom(c.closing)
	}
	return true
}

// keep says whether a message of the opening can be kept; mu is held.
func (c *conn) keep(m jsonrpc.Message) bool {
	if c.t.phase == live || m.Kind != jsonrpc.Notification {
		return true
	}
	c.history++
	if c.history > maxHistory || c.queue.full(maxHistory, maxHistoryBytes) {
		c.t.lost++
		return false
	}
	return true
}

// ended takes the end of stdout: of the agent, unless we are closing.
func (c *conn) ended(err error) {
	select {
	case <-c.closing:
		return // Close says io.EOF
	case <-c.child.Done():
		err = fmt.Errorf("the agent ended: %s", exitText(c.child.Exit()))
	case <-time.After(exitWait):
		if errors.Is(err, io.EOF) {
			err = errors.New("the agent closed its output")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lose(core.Errorf(core.CodeSessionUnavailable, "the connection to the agent was lost: %w", err))
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

// readStderr keeps the end of stderr. It may quote the environment, so it goes
// to the log only.
func (c *conn) readStderr() {
	defer c.readers.Done()
	buf := make([]byte, 4<<10)
	for {
		n, err := c.child.Stderr().Read(buf)
		c.errMu.Lock()
		c.tail = append(c.tail, buf[:n]...)
		if over := len(c.tail) - maxStderr; over > 0 {
			c.tail = append([]byte(nil), c.tail[over:]...)
		}
		tail := string(c.tail)
		c.errMu.Unlock()
		if err != nil {
			c.log.Debug("the agent ended", "stderr", tail)
			return
		}
	}
}

// do does a job of the agent's: files here, in the order in which they were
// asked for; what may take long in a goroutine of its own, which Close waits
// for.
func (c *conn) do(j job) {
	switch j.method {
	case wire.ReadTextFile, wire.WriteTextFile:
		c.jobDone(j.id, c.fence.file(j))
	case wire.TerminalCreate:
		c.createTerminal(j)
	default:
		c.useTerminal(j)
	}
}

func (c *conn) jobDone(id json.RawMessage, d done) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		c.t.jobDone(id, d)
		_ = c.apply() // a lost link is reported by Recv
	}
}

func (c *conn) createTerminal(j job) {
	var p wire.CreateParams
	if json.Unmarshal(j.params, &p) != nil || strings.TrimSpace(p.Command) == "" {
		c.jobDone(j.id, failed(errors.New("there is no command"), wire.InvalidParams))
		return
	}
	ctx, cancel := context.WithTimeout(c.life, terminalStart)
	defer cancel()
	t, err := c.terms.create(ctx, p)
	if err != nil {
		c.jobDone(j.id, failed(err, 0))
		return
	}
	c.mu.Lock()
	if !c.dead {
		c.t.terminalStarted(t)
		c.t.jobDone(j.id, done{result: wire.TerminalRef{TerminalID: t.id}})
		_ = c.apply() // a lost link is reported by Recv
	}
	c.mu.Unlock()
	c.terms.follow(t)
}

func (c *conn) useTerminal(j job) {
	t, err := c.terms.find(j.params)
	if err != nil {
		c.jobDone(j.id, failed(err, wire.ResourceNotFound))
		return
	}
	if j.method == wire.TerminalOutput {
		c.jobDone(j.id, done{result: t.shown()})
		return
	}
	select {
	case c.calls <- struct{}{}:
	default:
		c.jobDone(j.id, failed(errors.New("too many calls wait for terminals"), 0))
		return
	}
	c.jobs.Go(func() {
		defer func() { <-c.calls }()
		var result any = struct{}{}
		switch j.method {
		case wire.TerminalWait:
			<-t.done
			result = exitStatus(t.child.Exit())
		case wire.TerminalRelease:
			c.terms.release(t)
		default:
			t.kill()
		}
		c.jobDone(j.id, done{result: result})
	})
}

// terminalOutput reports output once there is room for it: that is the
// command's back-pressure.
func (c *conn) terminalOutput(t *terminal, text string) {
	c.queue.waitRoom(c.closing)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		c.t.terminalOutput(t, text)
		_ = c.apply() // a lost link is reported by Recv
	}
}

func (c *conn) terminalEnded(t *terminal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		c.t.terminalEnded(t, t.child.Exit())
		_ = c.apply() // a lost link is reported by Recv
	}
}

// Close ends the agent and everything it started.
func (c *conn) Close(ctx context.Context) error {
	c.closeOnce.Do(func() {
		close(c.closing)
		c.end()
		go c.stop(ctx)
	})
	select {
	case <-c.finished:
	case <-ctx.Done():
		_ = c.child.Kill() // joins a polite stop and overtakes it
		<-c.finished
	}
	if c.stopErr != nil {
		return core.Errorf(core.CodeInternal, "the agent could not be stopped: %w", c.stopErr)
	}
	return nil
}

func (c *conn) stop(ctx context.Context) {
	defer close(c.finished)
	c.stopErr = c.child.Stop(ctx)
	c.peer.Close()
	c.readers.Wait()
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
	c.queue.end(io.EOF)
}
