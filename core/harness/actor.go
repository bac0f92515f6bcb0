package harness

import (
	"context"
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
// wants stored, and only then releases what step wants done. One goroutine,
// loop, runs for the whole life of the actor and owns all fields that are not
// marked otherwise. It blocks on the inbox and on the store and on nothing
// else.
type actor struct {
	host      *Harness
	prov      core.Provider
	owner     string
	id        string
	unreserve func() // releases the reservation of the session that a start replaces; may be nil

	inbox inbox          // any goroutine
	wg    sync.WaitGroup // reader, opener, hangups

	state     machine.State
	timers    machine.Timers
	seq       uint64          // of the last event
	stored    core.Session    // the snapshot on disk
	fresh     bool            // nothing of this aggregate is on disk yet
	replace   bool            // the first commit drops an older aggregate of this id
	taken     bool            // the stored session is not this one's any more
	leaving   bool            // the server ends: there is no later attempt to store
	discarded bool            // the session is not kept
	forgotten bool            // not in the registry any more: another actor may follow
	batch     []machine.Input // memory of the last drain, used again
	again     []machine.Input // to be stepped before the inbox
	quietAt   time.Time
	waiting   map[machine.Token]chan machine.Reply
	opens     map[uint64]context.CancelFunc
	conns     conns
	reading   uint64           // epoch whose reader runs
	convID    string           // the provider conversation that the registry has
	redactor  *redact.Redactor // of this epoch; nil until needed
	spans     map[string]span  // where open turns are in the journal
	catchup   *journal.Catchup // not nil while the store fails
	observer  observer

	ring     journal.Ring              // any goroutine
	wakes    journal.Wakes             // any goroutine
	view     atomic.Pointer[published] // any goroutine
	degraded atomic.Bool               // any goroutine
	conn     atomic.Pointer[core.Conn] // any goroutine: the open conversation, for a kill
	work     watched                   // any goroutine

	convs    []string // provider conversations reserved; guarded by the registry's lock
	admitted int      // openings that were given a place; guarded by the registry's lock
}

// published is what readers see: a state that has been committed.
type published struct {
	state machine.State
	seq   uint64
}

// newActor returns the host of a session in state s, whose last event is seq.
// It takes s over. It starts no goroutine: see serve.
func newActor(h *Harness, p core.Provider, s machine.State, seq uint64) *actor {
	s.Base.CheckSchema = h.schemas
	c := &s.Base.Config
	a := &actor{
		host: h, prov: p, owner: c.Owner, id: c.SessionID, inbox: newInbox(), state: s, seq: seq,
		waiting: map[machine.Token]chan machine.Reply{}, opens: map[uint64]context.CancelFunc{}, spans: map[string]span{},
		observer: observer{to: h.telemetry},
	}
	a.ring.From = seq // earlier events are read from the store
	a.view.Store(&published{state: s, seq: seq})
	return a
}

// log returns a logger that names the session. It is made per use: few lines
// are logged for a session.
func (a *actor) log() *slog.Logger { return a.host.log.With("session", a.id) }

// serve starts the actor's goroutine, which the harness waits for at its own
// end. The caller has put the actor into the registry.
func (a *actor) serve() {
	a.quietAt = time.Now().Add(quietAfter)
	a.host.wg.Go(a.loop)
}

// loop is the session's whole life. It ends when the session needs no host any
// more (see settled) or when the server ends. The order is the contract: wait,
// step all that is there, commit once, then release.
func (a *actor) loop() {
	defer a.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Stop()
		if at := a.deadline(); !at.IsZero() {
			timer.Reset(time.Until(at))
		}
		batch, ok := a.next(timer.C)
		if !ok {
			return
		}
		a.turn(batch)
		if a.settled() {
			return
		}
	}
}

// deadline returns when the loop has work although nothing arrives: the next
// timer of the session, the next attempt to reach the store, or the end of its
// quiet time. The zero time is never.
func (a *actor) deadline() time.Time {
	return earlier(earlier(a.timers.First(), a.quietAt), a.catchup.Due())
}

// turn steps a batch and the timers that are due, commits what they want
// stored and releases the rest. The batch comes before the timers: a result in
// the same drain wins over the timer that waits for it.
func (a *actor) turn(batch []machine.Input) {
	now := time.Now()
	a.catchUp(now)
	before := mark{a.state, a.timers}
	var out []machine.Effect
	a.state, out = machine.StepAll(a.state, batch, time.Now())
	a.moveTimers(out)
	due := a.timers.Due(now)
	for _, id := range due {
		if a.timers.Has(id) { // a result in the same drain may have disarmed it
			a.timers = a.timers.Without(id)
			a.observer.tell(machine.ObserveInputs([]machine.Input{machine.TimerDue{Timer: id}}))
			out = append(out, a.step(machine.TimerDue{Timer: id})...)
		}
	}
	if len(batch)+len(due) == 0 {
		a.quiet(now)
		return
	}
	a.quietAt = now.Add(quietAfter)
	a.observer.tell(machine.ObserveInputs(batch))
	a.commit(before, batch, out)
	clear(batch)
}

// quiet frees the memory of recent events once nothing has happened for
// quietAfter: the store has all of them.
func (a *actor) quiet(now time.Time) {
	if a.quietAt.IsZero() || now.Before(a.quietAt) {
		return
	}
	a.quietAt, a.batch = time.Time{}, nil
	if a.state.Status() == core.StatusIdle && a.catchup == nil && !a.taken && !a.fresh {
		a.ring.Reset(a.seq)
	}
}

// settled reports whether the session needs this host no more: it has ended or
// lost its provider, all of it is stored and no command waits.
func (a *actor) settled() bool {
	if a.forgotten {
		return true
	}
	if a.discarded {
		return len(a.opens) == 0 && len(a.conns) == 0
	}
	return !a.state.Status().Live() && a.state.Closing == nil && (a.catchup == nil || a.leaving) &&
		len(a.opens)+len(a.conns)+len(a.again)+len(a.inbox.calls) == 0
}

// end removes the actor from the registry before it refuses callers, so that a
// caller that gets errRetired finds another actor or none.
func (a *actor) end() {
	a.freeReserved()
	if a.catchup != nil {
		a.dropLostTurns()
	}
	a.host.forget(a)
	close(a.inbox.done)
	a.wg.Wait()
	for m, ok := poll(a.inbox.reports); ok; m, ok = poll(a.inbox.reports) {
		if m.conn != nil { // it opened too late
			_ = closeConn(a.host.ctx, m.conn, 0)
		}
	}
	a.wakes.Wake()
}
