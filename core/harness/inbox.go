package harness

import (
	"context"
	"errors"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// inbox is where an actor's work waits until its loop takes it. Both channels
// are bounded. Commands have their own: an interrupt never waits behind output.
// A full reports channel blocks the provider's reader, which is the
// back-pressure on the agent. All may be used by any goroutine.
type inbox struct {
	calls   chan call
	reports chan report
	done    chan struct{} // closed at the actor's end: nothing is taken any more
}

// call is a command and where its reply goes.
type call struct {
	in    machine.Input
	token machine.Token
	reply chan machine.Reply // of capacity 1
}

// report is an input from the provider's side. conn is set with an Opened that
// succeeded.
type report struct {
	in   machine.Input
	conn core.Conn
}

// errRetired reports that the actor has ended; the caller looks the session up
// again.
var errRetired = errors.New("harness: the session's actor has ended")

// newInbox returns an inbox with the capacities inboxCalls and inboxReports.
func newInbox() inbox {
	return inbox{calls: make(chan call, inboxCalls), reports: make(chan report, inboxReports), done: make(chan struct{})}
}

// put adds a command to the inbox. It waits while the channel is full.
//
// Errors: errRetired; ctx's, when the command was not taken before ctx ended:
// it then has no effect.
func (b *inbox) put(ctx context.Context, c call) error {
	select {
	case <-b.done:
		return errRetired
	default:
	}
	select { // free capacity is used even when ctx has ended
	case b.calls <- c:
		return nil
	default:
	}
	select {
	case b.calls <- c:
		return nil
	case <-b.done:
		return errRetired
	case <-ctx.Done():
		return ctx.Err()
	}
}

// post adds a report to the inbox and waits while the channel is full. It reports whether
// the actor may still take it.
func (b *inbox) post(m report) bool {
	select {
	case <-b.done:
		return false
	default:
	}
	select {
	case b.reports <- m:
		return true
	case <-b.done:
		return false
	}
}

// do sends the actor a command and waits for its reply. When ctx ends after
// the command was taken, the command goes on and its reply is dropped.
func (a *actor) do(ctx context.Context, token machine.Token, in machine.Input) (any, error) {
	return a.doThen(ctx, token, in, nil)
}

// doThen is do with a function that is called once the command is in the inbox.
func (a *actor) doThen(ctx context.Context, token machine.Token, in machine.Input, then func()) (any, error) {
	c := newCall(token, in)
	if err := a.inbox.put(ctx, c); err != nil {
		return nil, err
	}
	if then != nil {
		then()
	}
	return a.reply(ctx, c)
}

// newCall returns a command with a reply channel of capacity 1, so that the actor
// never waits for a caller that has left.
func newCall(token machine.Token, in machine.Input) call {
	return call{in: in, token: token, reply: make(chan machine.Reply, 1)}
}

// putFirst puts a command into the inbox of an actor that is not in the registry
// yet: it is the first that the actor takes, also when its caller leaves. reply
// waits for its outcome.
func (a *actor) putFirst(token machine.Token, in machine.Input) call {
	c := newCall(token, in)
	a.inbox.calls <- c // it is empty
	return c
}

// reply waits for the reply to a command in the inbox. A caller that has left
// gets its ctx's error even when the reply is there.
func (a *actor) reply(ctx context.Context, c call) (any, error) {
	var r machine.Reply
	select {
	case r = <-c.reply:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.inbox.done:
		select { // what was answered was answered before the end
		case r = <-c.reply:
		default:
			return nil, errRetired
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case r.Err != nil:
		return nil, r.Err
	}
	return r.Value, nil
}

// next waits for work and returns what is there, up to the bounds of one
// commit. It is not ok when the server ends. Commands come before reports. A
// forced close first puts its command into the inbox and then kills, so the
// machine sees the command before the lost link and does not report a crash.
func (a *actor) next(timer <-chan time.Time) (batch []machine.Input, ok bool) {
	batch, a.again = append(a.batch[:0], a.again...), nil
	var first report // a report that ended the wait
	room := drainInputs
	if len(batch) == 0 {
		if a.host.quitting() {
			return nil, false
		}
		select {
		case c := <-a.inbox.calls:
			batch = append(batch, a.accept(c))
		case first = <-a.inbox.reports:
			room--
		case <-timer:
		case <-a.catchup.Trying():
		case <-a.host.quit:
			return nil, false
		}
	}
	for len(batch) < room {
		c, ok := poll(a.inbox.calls)
		if !ok {
			break
		}
		batch = append(batch, a.accept(c))
	}
	for size := 0; len(batch) < drainInputs && size < drainBytes; {
		m, ok := first, first.in != nil
		if first = (report{}); !ok {
			if m, ok = poll(a.inbox.reports); !ok {
				break
			}
		}
		size += inputBytes(m.in)
		batch = append(batch, a.receive(m))
	}
	a.batch = batch
	return batch, true
}

// poll receives from ch without waiting.
func poll[T any](ch <-chan T) (x T, ok bool) {
	select {
	case x = <-ch:
		return x, true
	default:
		return x, false
	}
}

// accept returns the input of a command, with what is stored of it redacted.
func (a *actor) accept(c call) machine.Input {
	if c.token != 0 {
		a.waiting[c.token] = c.reply
	}
	if _, ok := c.in.(machine.Shutdown); ok && !a.leaving {
		a.leaving = true
		if a.catchup != nil {
			a.catchup.RetryAt = time.Now() // one last attempt
		}
	}
	if in, ok := c.in.(machine.Prompt); ok {
		in.Preview = a.red().String(in.Input.Prompt)
		in.Input.Metadata = a.red().Metadata(in.Input.Metadata)
		return in
	}
	return c.in
}

// red returns the redactor of the session: it removes the secrets that must not
// be stored or shown. The agent itself gets what its caller wrote.
func (a *actor) red() *redact.Redactor {
	if a.redactor == nil {
		a.redactor = a.host.redactor(a.state.Base.Config)
	}
	return a.redactor
}

// receive returns the input of a report and keeps the list of open conversations.
func (a *actor) receive(m report) machine.Input {
	switch in := m.in.(type) {
	case machine.Opened:
		delete(a.opens, in.Epoch)
		if m.conn != nil {
			a.conns = append(a.conns, openConn{in.Epoch, m.conn})
		}
	case machine.LinkLost:
		a.conns = a.conns.without(in.Epoch)
	case machine.HungUp:
		a.conns = a.conns.without(in.Epoch)
	}
	return m.in
}

// inputBytes estimates the size of an input in bytes, for the bound of a drain.
func inputBytes(in machine.Input) int {
	n, ok := in.(machine.Notice)
	if !ok {
		return 0
	}
	switch n := n.Notice.(type) {
	case core.Content:
		return 2*len(n.Raw) + 100
	case core.TurnEnded:
		return 2*len(n.Raw) + len(n.Result.Text)
	case core.RequestRaised:
		return 2 * len(n.Raw)
	}
	return 100
}
