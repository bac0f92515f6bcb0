package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/harness-mcp/harness-mcp/core"
)

// Why a turn stops before its script does. errClosed also ends the
// conversation's goroutine.
var (
	errCancelled = errors.New("demo: the turn was cancelled")
	errFailed    = errors.New("demo: the script said fail")
	errClosed    = errors.New("demo: the conversation was closed")
)

// conn is one open conversation. The fields below the line belong to the
// goroutine of run alone.
type conn struct {
	options Options
	ready   core.Ready
	ops     chan core.Op
	notices chan core.Notice
	quit    chan struct{} // closed by Close
	done    chan struct{} // closed when run has ended
	close   sync.Once
	queued  atomic.Int64 // bytes of the prompts in ops

	// ------
	folder   *folder
	model    string
	approval core.ApprovalMode
	sandbox  core.SandboxMode
	allowed  map[core.RequestKind]bool // approved for the session
	turns    int
	requests int
}

func newConn(o Options, cfg core.SessionConfig, f *folder) *conn {
	model := cfg.Model
	if model == "" {
		model = modelPaced
	}
	c := &conn{
		options: o,
		ready: core.Ready{
			ProviderSessionID: f.id,
			Model:             model,
			Version:           version,
			Warnings:          ignored(cfg),
		},
		ops:      make(chan core.Op, maxQueuedOps),
		notices:  make(chan core.Notice, noticeBuffer),
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
		folder:   f,
		model:    model,
		approval: cfg.ApprovalMode,
		sandbox:  cfg.SandboxMode,
		allowed:  make(map[core.RequestKind]bool),
	}
	go c.run()
	return c
}

// Ready returns the facts that the opening found.
func (c *conn) Ready() core.Ready { return c.ready }

// Send queues an op. It refuses when the conversation is closed or the queue
// is full.
func (c *conn) Send(op core.Op) error {
	if op == nil {
		return core.Errorf(core.CodeInvalidArgument, "an op is needed")
	}
	select {
	case <-c.quit:
		return core.Errorf(core.CodeSessionClosed, "the conversation is closed")
	default:
	}
	full := core.Errorf(core.CodeQueueFull, "the demo agent has %d ops to do", len(c.ops)).Retry()
	if _, steer := op.(core.Steer); steer && len(c.ops) >= maxQueuedOps-urgentOps {
		return full
	}
	size := sizeOf(op)
	if c.queued.Add(size) <= maxQueuedBytes || size == 0 {
		select {
		case c.ops <- op:
			return nil
		default:
		}
	}
	c.queued.Add(-size)
	return full
}

// took subtracts an op that has left the queue.
func (c *conn) took(op core.Op) { c.queued.Add(-sizeOf(op)) }

// sizeOf is what an op counts against maxQueuedBytes: its prompt. Answers are
// not counted, so that a full queue never keeps one out.
func sizeOf(op core.Op) int64 {
	switch op := op.(type) {
	case core.StartTurn:
		return int64(op.Input.Size())
	case core.Steer:
		return int64(op.Input.Size())
	}
	return 0
}

// Recv returns the next notice; what was played before Close is still given
// after it.
func (c *conn) Recv(ctx context.Context) (core.Notice, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case n := <-c.notices:
		return n, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.done:
	}
	select {
	case n := <-c.notices:
		return n, nil
	default:
		return nil, io.EOF
	}
}

// Close ends the goroutine and waits for it. It needs no bound of its own: the
// goroutine waits for nothing that Close does not end.
func (c *conn) Close(context.Context) error {
	c.close.Do(func() { close(c.quit) })
	<-c.done
	return nil
}

// run takes one op after the other until Close.
func (c *conn) run() {
	defer close(c.done)
	defer c.folder.close()
	for {
		select {
		case <-c.quit:
			return
		case op := <-c.ops:
			c.took(op)
			if c.serve(op) != nil {
				return
			}
		}
	}
}

// serve does an op that comes between turns. Its only error is errClosed.
func (c *conn) serve(op core.Op) error {
	switch op := op.(type) {
	case core.StartTurn:
		return c.playTurn(op)
	case core.Configure:
		return c.configure(op)
	case core.Respond:
		return c.reject(op.ID, core.Errorf(core.CodeRequestNotPending, "the demo agent has not asked %q", op.Ref))
	case core.Interrupt:
		return c.reject(op.ID, core.Errorf(core.CodeNoActiveTurn, "no turn runs"))
	case core.Steer:
		return c.reject(op.ID, core.Errorf(core.CodeNoActiveTurn, "no turn runs"))
	}
	return c.reject(op.OpID(), core.Errorf(core.CodeCapability, "the demo agent knows no %T", op))
}

// configure changes settings; the model counts from the next turn on, the
// modes from the next decision.
func (c *conn) configure(op core.Configure) error {
	ch := op.Changes
	if ch.ReasoningEffort != "" {
		return c.reject(op.ID, unsupported(core.CodeOption, "reasoning_effort"))
	}
	if err := checkModel(ch.Model); err != nil {
		return c.reject(op.ID, err)
	}
	if ch.ApprovalMode != "" {
		c.approval = ch.ApprovalMode
	}
	if ch.SandboxMode != "" {
		c.sandbox = ch.SandboxMode
	}
	if ch.Model != "" {
		c.model = ch.Model
	}
	return c.emit(core.OpDone{Op: op.ID})
}

func (c *conn) reject(op core.OpID, err *core.Error) error {
	return c.emit(core.OpDone{Op: op, Err: err})
}

// emit queues a notice. It waits while the queue is full.
func (c *conn) emit(n core.Notice) error {
	select {
	case <-c.quit:
		return errClosed
	case c.notices <- n:
		return nil
	}
}

// nextRef names a request, once in the life of the Conn.
func (c *conn) nextRef() string {
	c.requests++
	return fmt.Sprintf("ask-%d", c.requests)
}
