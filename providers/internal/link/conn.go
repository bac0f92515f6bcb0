package link

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// Translator turns an agent's messages into notices, and ops into frames of type
// F. It is pure: it does no I/O and has no lock, goroutine or clock. A Conn calls
// it with its lock held, and does what Take returns before the next call.
//
// A method that takes an op returns an error to reject it.
type Translator[F any] interface {
	StartTurn(core.StartTurn) *core.Error
	Steer(core.Steer) *core.Error
	Respond(core.Respond) *core.Error
	Interrupt(core.Interrupt) *core.Error
	Configure(core.Configure) *core.Error

	// Lost closes what is open when the connection ends before the turn.
	Lost()
	// Take returns what has to be done since the last call.
	Take() Output[F]
	// Notice adds a notice to what Take returns.
	Notice(core.Notice)
}

// Do passes an op to the translator's method for it. A rejected op is done with
// the error.
func Do[F any](t Translator[F], op core.Op) {
	var err *core.Error
	switch op := op.(type) {
	case core.StartTurn:
		err = t.StartTurn(op)
	case core.Steer:
		err = t.Steer(op)
	case core.Respond:
		err = t.Respond(op)
	case core.Interrupt:
		err = t.Interrupt(op)
	case core.Configure:
		err = t.Configure(op)
	default:
		err = core.Errorf(core.CodeInternal, "the adapter does not know the op %T", op)
	}
	if err != nil {
		t.Notice(core.OpDone{Op: op.OpID(), Err: err})
	}
}

// Agent is what a Conn has to know about its agent.
type Agent[F any] struct {
	Name       string // in sentences
	Translator Translator[F]
	Wire       Wire[F]

	// Refusals are phrases of stderr by which the agent explains why it does not
	// start. Only lines that have one are repeated to callers: others may quote
	// the environment.
	Refusals []string

	// After, unless nil, runs in the reader after each message, without the lock.
	After func()
	// Stopping, unless nil, runs when Close begins, before the process is stopped.
	Stopping func(context.Context)
	// Stopped, unless nil, runs when the process, the reader and the writer have
	// ended, and before Recv returns io.EOF.
	Stopped func()
}

// Conn is the part of a core.Conn that is the same for every agent: the order of
// ops, messages, frames and notices, the timers, the loss of the connection and
// the steps of Close. F is the type of the frames that the agent takes.
//
// Its goroutines are the reader of stdout, the writer of the wire, and those of
// the child. All end when the child is closed.
type Conn[F any] struct {
	Child  *Child
	Inbox  *Inbox
	Opened core.Ready // written by the opening alone, before Ready is called

	agent Agent[F]

	// Mu guards the translator. It is held from a step until what the step asks
	// for is queued, so that frames and notices keep the order of the steps.
	Mu     sync.Mutex
	timers map[string]*time.Timer
	dead   bool // nothing is sent any more
}

// NewConn returns a Conn for a process that was just started. Start has to be
// called next, and Close at the end.
func NewConn[F any](child process.Child, log *slog.Logger, a Agent[F]) *Conn[F] {
	return &Conn[F]{
		Child: NewChild(child, a.Name, log), Inbox: NewInbox(DefaultLimits), agent: a, timers: map[string]*time.Timer{},
	}
}

// Start starts the reader.
func (c *Conn[F]) Start() { c.Child.Go(func() { c.Guard(c.read) }) }

// Ready returns the facts that the opening found.
func (c *Conn[F]) Ready() core.Ready { return c.Opened }

// Recv returns the next notice. One goroutine calls it.
func (c *Conn[F]) Recv(ctx context.Context) (core.Notice, error) { return c.Inbox.Take(ctx) }

// Send takes an op. It never waits for the pipe.
//
// Errors: CodeSessionUnavailable.
func (c *Conn[F]) Send(op core.Op) (err error) {
	defer func() {
		if fault := c.caught(recover()); fault != nil {
			err = fault
		}
	}()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.dead {
		return core.Errorf(core.CodeSessionUnavailable, "the connection to %s is closed", c.agent.Name)
	}
	Do(c.agent.Translator, op)
	if err := c.apply(); err != nil {
		return core.Errorf(core.CodeSessionUnavailable, "%s does not take messages: %w", c.agent.Name, err)
	}
	return nil
}

// Step runs a step of the translator and does what it asks for. It does
// nothing once the connection is lost, which Recv reports. Mu must not be held.
// Code that panics loses the connection.
func (c *Conn[F]) Step(step func()) {
	defer func() { _ = c.caught(recover()) }()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if !c.dead {
		step()
		_ = c.apply()
	}
}

// caught ends the conversation after a panic of the adapter, with an error whose
// id is in the log. It returns nil without a panic. Mu must not be held.
func (c *Conn[F]) caught(panicked any) error {
	if panicked == nil {
		return nil
	}
	err := core.Panicked(c.Child.log, c.agent.Name+"'s adapter", panicked)
	c.Mu.Lock()
	defer c.Mu.Unlock()
	defer c.Inbox.End(err) // also when what follows panics again
	defer func() { _ = recover() }()
	c.lose(err)
	return err
}

// Guard runs a part of the adapter that is no step. When it panics, the
// connection is lost.
func (c *Conn[F]) Guard(f func()) {
	defer func() { _ = c.caught(recover()) }()
	f()
}

// Await runs a step, and waits until a later step calls done, once.
//
// Errors: that of Inbox when the connection is lost first, ctx's.
func (c *Conn[F]) Await(ctx context.Context, step func(done func())) error {
	finished := make(chan struct{})
	c.Step(func() { step(func() { close(finished) }) })
	select {
	case <-finished:
		return nil
	case <-c.Inbox.Ended():
		return c.Inbox.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// apply does what the translator asks for; Mu is held.
func (c *Conn[F]) apply() error {
	out := c.agent.Translator.Take()
	c.Inbox.Add(out.Notices)
	err := out.Fatal
	for _, f := range out.Frames {
		if e := c.post(f); e != nil && err == nil {
			err = e
		}
	}
	for _, t := range out.Timers {
		c.setTimer(t)
	}
	if err != nil {
		c.lose(err)
	}
	return err
}

func (c *Conn[F]) post(f F) error {
	step := c.agent.Wire.Written(f)
	if step == nil {
		return c.agent.Wire.Post(f, nil)
	}
	return c.agent.Wire.Post(f, func() { c.Step(step) })
}

// setTimer starts, replaces or stops a timer; Mu is held.
func (c *Conn[F]) setTimer(t Timer) {
	if running := c.timers[t.Name]; running != nil {
		if t.Keep {
			return
		}
		running.Stop()
		delete(c.timers, t.Name)
	}
	if t.Fire == nil {
		return
	}
	var own *time.Timer
	own = time.AfterFunc(t.After, func() {
		c.Step(func() {
			if c.timers[t.Name] == own { // else it was replaced or stopped at the same time
				delete(c.timers, t.Name)
				t.Fire()
			}
		})
	})
	c.timers[t.Name] = own
}

func (c *Conn[F]) stopTimers() {
	for _, t := range c.timers {
		t.Stop()
	}
	clear(c.timers)
}

// lose ends the conversation with an error; Mu is held. What is open is closed
// before the error.
func (c *Conn[F]) lose(err error) {
	if c.dead {
		return
	}
	c.dead = true
	c.stopTimers()
	c.agent.Translator.Lost()
	c.Inbox.Add(c.agent.Translator.Take().Notices)
	c.Inbox.End(err)
}

// read is the reader of stdout, the only goroutine that calls Wire.Next. It stops
// reading while the inbox is full, which is the back-pressure on the agent, and
// ends with stdout or when Close has begun. After that it drops the rest of the
// output, so that the agent does not wait for a reader.
func (c *Conn[F]) read() {
	for c.Inbox.WaitSpace(c.Child.Closing()) {
		step, err := c.agent.Wire.Next()
		if err != nil {
			if err = c.Child.Lost(err, c.agent.Refusals...); err != nil {
				c.Mu.Lock()
				defer c.Mu.Unlock()
				c.lose(err)
			}
			return
		}
		c.Step(step)
		if c.agent.After != nil {
			c.agent.After()
		}
	}
	c.Child.Drain()
}

// Close ends the agent and everything it started. It may be called more than
// once and unblocks Recv. When ctx ends, the process is killed.
func (c *Conn[F]) Close(ctx context.Context) error { return c.Child.Close(ctx, c.stop) }

// stop ends the parts of a Conn in this order: the process, which closes its
// pipes; the writer; the readers; what the adapter owns. Child.Close calls it
// once, in a goroutine of its own. Mu is taken last, because the writer may wait
// for it in a step.
func (c *Conn[F]) stop(ctx context.Context) error {
	if c.agent.Stopping != nil {
		c.agent.Stopping(ctx)
	}
	err := c.Child.Stop(ctx)
	c.agent.Wire.Close()
	c.Child.Wait()
	<-c.agent.Wire.Done()
	if c.agent.Stopped != nil {
		c.agent.Stopped()
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.dead = true
	c.stopTimers()
	c.Inbox.End(io.EOF)
	return err
}
