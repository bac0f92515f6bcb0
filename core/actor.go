package core

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// actor hosts the machine of one session: it feeds step, commits what step
// wants stored, and only then lets anything out. One goroutine, loop, owns all
// fields that are not marked otherwise; it blocks on its mailbox and on the
// store, and on nothing else.
type actor struct {
	host  *Harness
	prov  Provider
	log   *slog.Logger
	owner string
	id    string

	calls chan call // commands: never behind output
	box   chan mail // what the provider and its helpers report
	done  chan struct{}
	wg    sync.WaitGroup // reader, opener, hangups

	state    State
	seq      uint64
	stored   Session // the snapshot on disk
	fresh    bool    // nothing of this aggregate is on disk yet
	replace  bool    // the first commit drops an older aggregate of this id
	timers   map[TimerID]time.Time
	waiting  map[Token]chan doReply
	conns    map[uint64]Conn
	opens    map[uint64]context.CancelFunc
	reading  uint64          // epoch whose reader runs
	spans    map[string]span // where turns stand in the journal
	again    []Input         // to be stepped before the mailbox
	lost     *lostWrites     // not nil while the store fails
	taken    bool            // the stored session is not this one's any more
	leaving  bool            // the server ends
	gone     bool            // the session leaves nothing behind
	giveBack func()          // frees the session that a start was to replace; may be nil
	left     bool            // the harness has forgotten this host: another may follow
	talks    string          // the provider conversation that was last told to the harness
	redactor *Redactor       // of this epoch; nil until needed
	observer *observer
	instead  map[Token]*Error // what a starter is told in place of the reply to come

	ring     ring                      // any goroutine
	wakes    wakes                     // any goroutine
	view     atomic.Pointer[published] // any goroutine
	degraded atomic.Bool               // any goroutine
	conn     atomic.Pointer[Conn]      // any goroutine: the open conversation, for a kill
	work     watched                   // any goroutine

	convs []string // provider conversations held; guarded by the harness's lock
}

// published is what readers see: a state that has been committed.
type published struct {
	state State
	seq   uint64
}

// call is a command and where its reply goes.
type call struct {
	in    Input
	token Token
	reply chan doReply
}

// mail is an input from the provider's side; conn comes with an inOpened.
type mail struct {
	in   Input
	conn Conn
}

// span is where a turn stands in the journal.
type span struct{ first, last, text uint64 }

func newActor(h *Harness, p Provider, s State, seq uint64) *actor {
	base := *s.Base
	base.CheckSchema = h.schemas
	s.Base = &base
	c := s.Base.Config
	a := &actor{
		host: h, prov: p, owner: c.Owner, id: c.SessionID, state: s, seq: seq,
		log:   h.log.With("session", c.SessionID),
		calls: make(chan call, mailboxCalls), box: make(chan mail, mailboxInputs), done: make(chan struct{}),
		timers: map[TimerID]time.Time{}, waiting: map[Token]chan doReply{},
		conns: map[uint64]Conn{}, opens: map[uint64]context.CancelFunc{}, spans: map[string]span{},
	}
	a.observer, a.instead = newObserver(h.telemetry), map[Token]*Error{}
	a.ring.from = seq // what came before is the store's to tell
	a.view.Store(&published{state: s, seq: seq})
	return a
}

// errRetired says that the actor has ended; the caller looks the session up
// again.
var errRetired = errors.New("core: the session's actor has ended")

// do hands the actor a command and waits for its reply. When ctx ends, the
// command goes on and its reply is dropped.
func (a *actor) do(ctx context.Context, token Token, in Input) (any, error) {
	return a.doThen(ctx, token, in, nil)
}

// doThen is do, with something to do once the command lies in the mailbox.
func (a *actor) doThen(ctx context.Context, token Token, in Input, then func()) (any, error) {
	c := newCall(token, in)
	select {
	case a.calls <- c:
	case <-a.done:
		return nil, errRetired
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if then != nil {
		then()
	}
	return a.reply(ctx, c)
}

func newCall(token Token, in Input) call {
	return call{in: in, token: token, reply: make(chan doReply, 1)}
}

// first puts a command into the mailbox of an actor that nobody knows yet:
// whatever becomes of its caller, it is the first that the actor meets. reply
// waits for what comes of it.
func (a *actor) first(token Token, in Input) call {
	c := newCall(token, in)
	a.calls <- c // has room
	return c
}

// reply waits for the reply to a command that lies in the mailbox. When ctx
// ends, the command goes on and its reply is dropped.
func (a *actor) reply(ctx context.Context, c call) (any, error) {
	select {
	case r := <-c.reply:
		return r.value()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.done:
		select {
		case r := <-c.reply:
			return r.value()
		default:
			return nil, errRetired
		}
	}
}

func (r doReply) value() (any, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	return r.Value, nil
}

// loop is the session's life. It ends when the session needs no host any more:
// it has ended or lost its provider, and all of it is stored.
func (a *actor) loop() {
	defer a.end()
	for {
		batch, ok := a.next()
		if !ok {
			return
		}
		a.turn(batch)
		if a.settled() {
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
	return !st.Live() && a.state.Closing == nil && (a.lost == nil || a.leaving) && len(a.opens) == 0 && len(a.conns) == 0 && len(a.again) == 0 && len(a.calls) == 0
}

// end leaves the harness, then answers whoever came too late.
func (a *actor) end() {
	a.freeHeld()
	if a.lost != nil {
		a.dropLostTurns()
	}
	a.host.forget(a)
	close(a.done)
	a.wg.Wait()
	for {
		select {
		case <-a.calls: // its caller sees done and looks the session up again
		default:
			a.wakes.wake()
			return
		}
	}
}

// freeHeld gives back the session that this one was to replace, if it did not.
func (a *actor) freeHeld() {
	if a.fresh && a.giveBack != nil {
		a.giveBack()
		a.giveBack = nil
	}
}

// next waits for work and drains what else lies there: commands first, then
// reports, up to the bounds of one commit. It is not ok when the server ends.
func (a *actor) next() (batch []Input, ok bool) {
	batch, a.again = a.again, nil
	if len(batch) == 0 {
		alarm, stop := a.alarm()
		defer stop()
		select {
		case c := <-a.calls:
			batch = append(batch, a.accept(c))
		case m := <-a.box:
			batch = append(a.callsBefore(batch), a.receive(m))
		case <-alarm:
		case <-a.tried():
		case <-a.host.quit:
			return nil, false
		}
	}
	bytes := 0
	for len(batch) < drainInputs && bytes < drainBytes {
		select {
		case c := <-a.calls:
			batch = append(batch, a.accept(c))
			continue
		default:
		}
		select {
		case m := <-a.box:
			batch = append(a.callsBefore(batch), a.receive(m))
			bytes += inputBytes(m.in)
			continue
		default:
		}
		break
	}
	return batch, true
}

// callsBefore takes the commands that lie there before a report that has been
// taken. A kill lies there before it ends the conversation from outside: the
// end must not be met first and be taken for a loss.
func (a *actor) callsBefore(batch []Input) []Input {
	for {
		select {
		case c := <-a.calls:
			batch = append(batch, a.accept(c))
		default:
			return batch
		}
	}
}

func (a *actor) accept(c call) Input {
	if c.token != 0 {
		a.waiting[c.token] = c.reply
	}
	if _, ok := c.in.(inShutdown); ok && !a.leaving {
		a.leaving = true
		if a.lost != nil {
			a.lost.retryAt = time.Now() // one last try
		}
	}
	if in, ok := c.in.(inSend); ok {
		in.Preview = a.red().String(in.Input.Prompt)
		return in
	}
	return c.in
}

// red knows the secrets that must not be stored or shown. The agent itself is
// told what its caller wrote.
func (a *actor) red() *Redactor {
	if a.redactor == nil {
		a.redactor = a.host.redactor(a.state.Base.Config)
	}
	return a.redactor
}

func (a *actor) receive(m mail) Input {
	switch in := m.in.(type) {
	case inOpened:
		delete(a.opens, in.Epoch)
		if m.conn != nil {
			a.conns[in.Epoch] = m.conn
		}
	case inLinkLost:
		delete(a.conns, in.Epoch)
	case inHungUp:
		delete(a.conns, in.Epoch)
	}
	return m.in
}

// inputBytes estimates what an input brings, for the bound of a drain.
func inputBytes(in Input) int {
	n, ok := in.(inNotice)
	if !ok {
		return 0
	}
	switch n := n.Notice.(type) {
	case Content:
		return 2*len(n.Raw) + 100
	case TurnEnded:
		return 2*len(n.Raw) + len(n.Result.Text)
	case RequestRaised:
		return 2 * len(n.Raw)
	}
	return 100
}

// alarm fires when the next timer is due.
func (a *actor) alarm() (<-chan time.Time, func()) {
	var at time.Time
	for _, t := range a.timers {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if a.lost != nil && a.lost.try == nil && (at.IsZero() || a.lost.retryAt.Before(at)) {
		at = a.lost.retryAt
	}
	if at.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(at))
	return t.C, func() { t.Stop() }
}

// turn steps a batch and the timers that are due, commits what they want
// stored and releases what they let out.
func (a *actor) turn(batch []Input) {
	now := time.Now()
	if a.tryDue(now) {
		a.tryStore(now)
	}
	before := mark{a.state, maps.Clone(a.timers)}
	var out []Effect
	a.state, out = stepAll(a.state, batch, time.Now())
	a.moveTimers(out)
	for _, id := range a.due(now) {
		if _, armed := a.timers[id]; armed { // a result in the same drain may have disarmed it
			delete(a.timers, id)
			a.observer.saw([]Input{inTimer{Timer: id}})
			out = append(out, a.step(inTimer{Timer: id})...)
		}
	}
	a.observer.saw(batch)
	a.commit(before, batch, out)
}

// mark is what a batch that cannot be stored goes back to.
type mark struct {
	state  State
	timers map[TimerID]time.Time
}

func (a *actor) goBack(to mark) { a.state, a.timers = to.state, to.timers }

// step feeds the machine; timers move at once, the rest waits for the commit.
func (a *actor) step(in Input) []Effect {
	var out []Effect
	a.state, out = step(a.state, in, time.Now())
	a.moveTimers(out)
	return out
}

func (a *actor) moveTimers(out []Effect) {
	for _, e := range out {
		switch e := e.(type) {
		case doArm:
			a.timers[e.Timer] = e.At
		case doDisarm:
			delete(a.timers, e.Timer)
		}
	}
}

// due gives the timers whose time has come, the earliest first.
func (a *actor) due(now time.Time) []TimerID {
	var ids []TimerID
	for id, at := range a.timers {
		if !at.After(now) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y TimerID) int { return a.timers[x].Compare(a.timers[y]) })
	return ids
}

// release lets out what the commit has made true, in order, and then shows the
// new state to readers.
func (a *actor) release(out []Effect) {
	// Before anyone is told: what has ended is the store's, and an id that came
	// to nothing is free again.
	if a.state.End == EndGone {
		a.freeHeld()
		a.host.forget(a)
	} else if a.settled() {
		a.left = true
		a.host.forget(a)
	}
	a.view.Store(&published{state: a.state, seq: a.seq})
	if a.state.asks() {
		select {
		case a.host.asked <- struct{}{}:
		default:
		}
	}
	a.observer.did(a.state, out)
	for _, e := range out {
		switch e := e.(type) {
		case doSend:
			a.send(e.Op)
		case doReply:
			a.answer(e)
		case doOpen:
			a.open(e)
		case doCancelOpen:
			if cancel := a.opens[e.Epoch]; cancel != nil {
				cancel()
			}
		case doHangup:
			a.hangup(e)
		case doDiscard:
			a.gone = true
		}
	}
	if a.state.Link == LinkUp && a.reading != a.state.Epoch {
		a.read()
	}
	if a.state.Link != LinkUp {
		a.conn.Store(nil)
	} else if id := a.state.ProviderSessionID; id != a.talks {
		a.talks = id
		a.host.converse(a, conversation(a.state.Base.Config.Provider, id))
	}
	a.wakes.wake()
	a.host.changes.wake()
}

func (a *actor) answer(r doReply) {
	if err := a.instead[r.Token]; err != nil {
		delete(a.instead, r.Token)
		r = doReply{Token: r.Token, Err: err}
	}
	if ch := a.waiting[r.Token]; ch != nil {
		delete(a.waiting, r.Token)
		switch v := r.Value.(type) {
		case SessionView:
			v.Session.LastSeq, v.Instance, v.Session.Durability = a.seq, a.host.store.Instance(), a.state.Durability
			r.Value = v
		case Turn:
			v.LastSeq = a.seq
			r.Value = v
		case InterruptResult:
			v.Turn.LastSeq = a.seq
			r.Value = v
		}
		ch <- r // has room for it
	}
}

// send hands an op over. One that the conversation does not take is rejected
// for certain.
func (a *actor) send(op Op) {
	conn := a.conns[a.state.Epoch]
	if start, ok := op.(StartTurn); ok && a.host.work != nil && conn != nil {
		a.sendWatched(start, conn)
		return
	}
	err := errors.New("the conversation is closed")
	if conn != nil {
		if err = conn.Send(op); err == nil {
			return
		}
	}
	a.again = append(a.again, inNotice{Epoch: a.state.Epoch, Notice: OpDone{Op: op.OpID(),
		Err: Errorf(CodeSessionUnavailable, "the provider could not be told: %w", err)}})
}
