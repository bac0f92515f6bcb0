package harness

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/journal"
	"github.com/harness-mcp/harness-mcp/core/machine"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// actor hosts the machine of one session: it feeds step, commits what step
// wants stored, and only then lets anything out. One goroutine at a time, loop,
// owns all fields that are not marked otherwise; it blocks on its inbox and on
// the store, and on nothing else. It is there only while there is work: see
// inbox and desk.
type actor struct {
	host  *Harness
	prov  core.Provider
	owner string
	id    string

	inbox inbox          // any goroutine
	wg    sync.WaitGroup // reader, opener, hangups

	*desk    // what only a session at work needs; nil while it is quiet
	seq      uint64
	fresh    bool // nothing of this aggregate is on disk yet
	replace  bool // the first commit drops an older aggregate of this id
	taken    bool // the stored session is not this one's any more
	leaving  bool // the server ends
	gone     bool // the session leaves nothing behind
	left     bool // the harness has forgotten this host: another may follow
	timers   machine.Timers
	conns    conns
	reading  uint64           // epoch whose reader runs
	talks    string           // the provider conversation that was last told to the harness
	redactor *redact.Redactor // of this epoch; nil until needed
	observer observer

	ring     journal.Ring              // any goroutine
	wakes    journal.Wakes             // any goroutine
	view     atomic.Pointer[published] // any goroutine
	degraded atomic.Bool               // any goroutine
	conn     atomic.Pointer[core.Conn] // any goroutine: the open conversation, for a kill
	work     watched                   // any goroutine

	convs []string // provider conversations held; guarded by the harness's lock
}

// published is what readers see: a state that has been committed.
type published struct {
	state machine.State
	seq   uint64
}

// call is a command and where its reply goes.
type call struct {
	in    machine.Input
	token machine.Token
	reply chan machine.Reply
}

// mail is an input from the provider's side; conn comes with an Opened.
type mail struct {
	in   machine.Input
	conn core.Conn
}

// span is where a turn stands in the journal.
type span struct{ first, last, text uint64 }

// newActor makes the host of a session that is at s. It takes s over.
func newActor(h *Harness, p core.Provider, s machine.State, seq uint64) *actor {
	s.Base.CheckSchema = h.schemas
	c := &s.Base.Config
	a := &actor{
		host: h, prov: p, owner: c.Owner, id: c.SessionID,
		desk: newDesk(s), seq: seq, observer: observer{to: h.telemetry},
	}
	a.ring.From = seq // what came before is the store's to tell
	a.view.Store(&published{state: s, seq: seq})
	return a
}

// log is made when it is needed: a session that waits keeps none.
func (a *actor) log() *slog.Logger { return a.host.log.With("session", a.id) }

// errRetired says that the actor has ended; the caller looks the session up
// again.
var errRetired = errors.New("core: the session's actor has ended")

// do hands the actor a command and waits for its reply. When ctx ends, the
// command goes on and its reply is dropped.
func (a *actor) do(ctx context.Context, token machine.Token, in machine.Input) (any, error) {
	return a.doThen(ctx, token, in, nil)
}

// doThen is do, with something to do once the command lies in the inbox.
func (a *actor) doThen(ctx context.Context, token machine.Token, in machine.Input, then func()) (any, error) {
	c := newCall(token, in)
	if err := a.put(ctx, c); err != nil {
		return nil, err
	}
	if then != nil {
		then()
	}
	return a.reply(ctx, c)
}

func newCall(token machine.Token, in machine.Input) call {
	return call{in: in, token: token, reply: make(chan machine.Reply, 1)}
}

// first puts a command into the inbox of an actor that nobody knows yet:
// whatever becomes of its caller, it is the first that the actor meets. reply
// waits for what comes of it.
func (a *actor) first(token machine.Token, in machine.Input) call {
	c := newCall(token, in)
	_ = a.put(context.Background(), c) // has room, and has not ended
	return c
}

// reply waits for the reply to a command that lies in the inbox. When ctx
// ends, the command goes on and its reply is dropped.
func (a *actor) reply(ctx context.Context, c call) (any, error) {
	select {
	case r, ok := <-c.reply:
		switch {
		case ctx.Err() != nil: // both are there: whoever has left has left
			return nil, ctx.Err()
		case !ok:
			return nil, errRetired
		}
		return r.Result()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// loop is the session's life while there is work. The session's own end comes
// when it needs no host any more: it has ended or lost its provider, and all of
// it is stored.
func (a *actor) loop() {
	if a.desk == nil {
		a.sitDown()
	}
	wake := make(chan struct{}, 1)
	for {
		switch batch, next := a.next(wake); next {
		case nextQuiet:
			return
		case nextEnd:
			a.end()
			return
		default:
			a.turn(batch)
		}
		if a.settled() {
			a.end()
			return
		}
	}
}

// settled says that nothing waits for this host.
func (a *actor) settled() bool {
	if a.left {
		return true
	}
	if a.gone {
		return len(a.opens) == 0 && len(a.conns) == 0
	}
	st := a.state.Status()
	return !st.Live() && a.state.Closing == nil && (a.lost == nil || a.leaving) && len(a.opens) == 0 && len(a.conns) == 0 && len(a.again) == 0 && !a.called()
}

// called says that a command lies there.
func (a *actor) called() bool {
	a.inbox.mu.Lock()
	defer a.inbox.mu.Unlock()
	return len(a.inbox.calls.lies) > 0
}

// end leaves the harness, then answers whoever came too late: its caller looks
// the session up again.
func (a *actor) end() {
	a.freeHeld()
	if a.lost != nil {
		a.dropLostTurns()
	}
	a.host.forget(a)
	for _, c := range a.shut() {
		if c.reply != nil {
			close(c.reply)
		}
	}
	for _, reply := range a.waiting {
		close(reply)
	}
	a.wg.Wait()
	a.wakes.Wake()
	a.host.ended(a)
}

// freeHeld gives back the session that this one was to replace, if it did not.
func (a *actor) freeHeld() {
	if a.fresh && a.giveBack != nil {
		a.giveBack()
		a.giveBack = nil
	}
}

// What the loop is to do next.
type next int

const (
	nextTurn  next = iota
	nextQuiet      // the goroutine ends, the session goes on
	nextEnd        // the server ends
)

// next waits for work and takes what else lies there: commands first, then
// reports, up to the bounds of one commit. Whoever kills puts the command there
// before he ends the conversation from outside: so that end is never met first
// and taken for a loss.
func (a *actor) next(wake chan struct{}) (batch []machine.Input, _ next) {
	batch = append(a.batch[:0], a.again...)
	a.again = nil
	b := &a.inbox
	b.mu.Lock()
	for len(batch) == 0 {
		if a.host.quitting() {
			b.mu.Unlock()
			return nil, nextEnd
		}
		if b.work() {
			break
		}
		if b.retire {
			a.fallQuiet()
			b.mu.Unlock()
			return nil, nextQuiet
		}
		now := time.Now()
		if b.due = a.nextTimer(); !b.due.IsZero() && !now.Before(b.due) {
			break
		}
		a.park(wake, now)
	}
	b.poked, b.retire = false, false
	calls, reports := b.take(a.calls[:0], a.reports[:0], drainInputs-len(batch))
	b.mu.Unlock()
	for _, c := range calls {
		batch = append(batch, a.accept(c))
	}
	for _, m := range reports {
		batch = append(batch, a.receive(m))
	}
	clear(calls)
	clear(reports)
	a.batch, a.calls, a.reports = batch, calls, reports
	return batch, nextTurn
}

func (a *actor) accept(c call) machine.Input {
	if c.token != 0 {
		a.waiting[c.token] = c.reply
	}
	if _, ok := c.in.(machine.Shutdown); ok && !a.leaving {
		a.leaving = true
		if a.lost != nil {
			a.lost.retryAt = time.Now() // one last try
		}
	}
	if in, ok := c.in.(machine.Prompt); ok {
		in.Preview = a.red().String(in.Input.Prompt)
		in.Input.Metadata = a.red().Metadata(in.Input.Metadata)
		return in
	}
	return c.in
}

// red knows the secrets that must not be stored or shown. The agent itself is
// told what its caller wrote.
func (a *actor) red() *redact.Redactor {
	if a.redactor == nil {
		a.redactor = a.host.redactor(a.state.Base.Config)
	}
	return a.redactor
}

func (a *actor) receive(m mail) machine.Input {
	switch in := m.in.(type) {
	case machine.Opened:
		delete(a.opens, in.Epoch)
		if m.conn != nil {
			a.conns = append(a.conns, openConn{in.Epoch, m.conn})
		}
	case machine.ConnLost:
		a.conns = a.conns.without(in.Epoch)
	case machine.HungUp:
		a.conns = a.conns.without(in.Epoch)
	}
	return m.in
}

// inputBytes estimates what an input brings, for the bound of a drain.
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

// nextTimer says when the next timer is due, or the next attempt to reach the
// store; the zero time for never.
func (a *actor) nextTimer() time.Time {
	at := a.timers.First()
	if a.lost != nil && a.lost.try == nil && (at.IsZero() || a.lost.retryAt.Before(at)) {
		at = a.lost.retryAt
	}
	return at
}

// turn steps a batch and the timers that are due, commits what they want
// stored and releases what they let out.
func (a *actor) turn(batch []machine.Input) {
	now := time.Now()
	if a.tryDue(now) {
		a.tryStore(now)
	}
	before := mark{a.state, a.timers}
	var out []machine.Effect
	a.state, out = machine.StepAll(a.state, batch, time.Now())
	a.moveTimers(out)
	for _, id := range a.timers.Due(now) {
		if a.timers.Has(id) { // a result in the same drain may have disarmed it
			a.timers = a.timers.Without(id)
			a.observer.saw([]machine.Input{machine.TimerDue{Timer: id}})
			out = append(out, a.step(machine.TimerDue{Timer: id})...)
		}
	}
	a.observer.saw(batch)
	a.commit(before, batch, out)
	clear(batch)
}

// mark is what a batch that cannot be stored goes back to.
type mark struct {
	state  machine.State
	timers machine.Timers
}

func (a *actor) goBack(to mark) { a.state, a.timers = to.state, to.timers }

// step feeds the machine; timers move at once, the rest waits for the commit.
func (a *actor) step(in machine.Input) []machine.Effect {
	var out []machine.Effect
	a.state, out = machine.Step(a.state, in, time.Now())
	a.moveTimers(out)
	return out
}

func (a *actor) moveTimers(out []machine.Effect) {
	for _, e := range out {
		switch e := e.(type) {
		case machine.Arm:
			a.timers = a.timers.With(e.Timer, e.At)
		case machine.Disarm:
			a.timers = a.timers.Without(e.Timer)
		}
	}
}

// release lets out what the commit has made true, in order, and then shows the
// new state to readers.
func (a *actor) release(out []machine.Effect) {
	// Before anyone is told: what has ended is the store's, an id that came to
	// nothing is free again, and a conversation is this session's alone.
	if a.state.End == machine.EndGone {
		a.freeHeld()
		a.host.forget(a)
	} else if a.settled() {
		a.left = true
		a.host.forget(a)
	}
	if id := a.state.ProviderSessionID; a.state.Link == machine.LinkUp && id != a.talks {
		a.talks = id
		a.host.converse(a, conversation(a.state.Base.Config.Provider, id))
	}
	a.view.Store(&published{state: a.state, seq: a.seq})
	if a.state.Asks() {
		select {
		case a.host.asked <- struct{}{}:
		default:
		}
	}
	a.observer.did(a.state, out)
	for _, e := range out {
		switch e := e.(type) {
		case machine.Send:
			a.send(e.Op)
		case machine.Reply:
			a.answer(e)
		case machine.Open:
			a.open(e)
		case machine.CancelOpen:
			if cancel := a.opens[e.Epoch]; cancel != nil {
				cancel()
			}
		case machine.Hangup:
			a.hangup(e)
		case machine.Discard:
			a.gone = true
		}
	}
	if a.state.Link == machine.LinkUp && a.reading != a.state.Epoch {
		a.read()
	}
	if a.state.Link != machine.LinkUp {
		a.conn.Store(nil)
	}
	a.wakes.Wake()
	a.host.changes.Wake()
}

func (a *actor) answer(r machine.Reply) {
	if err := a.instead[r.Token]; err != nil {
		delete(a.instead, r.Token)
		r = machine.Reply{Token: r.Token, Err: err}
	}
	if ch := a.waiting[r.Token]; ch != nil {
		delete(a.waiting, r.Token)
		switch v := r.Value.(type) {
		case core.SessionView:
			v.Session.LastSeq, v.Instance, v.Session.Durability = a.seq, a.host.store.Instance(), a.state.Durability
			r.Value = v
		case core.Turn:
			v.LastSeq = a.seq
			r.Value = v
		case core.InterruptResult:
			v.Turn.LastSeq = a.seq
			r.Value = v
		}
		ch <- r // has room for it
	}
}

// send hands an op over. One that the conversation does not take is rejected
// for certain.
func (a *actor) send(op core.Op) {
	conn := a.conns.of(a.state.Epoch)
	if start, ok := op.(core.StartTurn); ok && a.host.work != nil && conn != nil {
		a.sendWatched(start, conn)
		return
	}
	err := errors.New("the conversation is closed")
	if conn != nil {
		if err = conn.Send(op); err == nil {
			return
		}
	}
	a.again = append(a.again, machine.Notice{Epoch: a.state.Epoch, Notice: core.OpDone{Op: op.OpID(),
		Err: core.Errorf(core.CodeSessionUnavailable, "the provider could not be told: %w", err)}})
}
