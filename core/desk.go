package core

import (
	"context"
	"time"
)

// desk is what a session needs while there is something to do. A loop that ends
// clears it away if all that lies on it can be had again; the next one lays it
// again.
type desk struct {
	state    State
	stored   Session // the snapshot on disk
	waiting  map[Token]chan doReply
	opens    map[uint64]context.CancelFunc
	spans    map[string]span  // where turns stand in the journal
	instead  map[Token]*Error // what a starter is told in place of the reply to come
	again    []Input          // to be stepped before the inbox
	lost     *lostWrites      // not nil while the store fails
	giveBack func()           // frees the session that a start was to replace; may be nil

	// Room that each turn uses anew.
	batch   []Input
	calls   []call
	reports []mail
}

func newDesk(s State) *desk {
	return &desk{state: s, waiting: map[Token]chan doReply{}, opens: map[uint64]context.CancelFunc{},
		spans: map[string]span{}, instead: map[Token]*Error{}}
}

// fallQuiet ends the loop until there is work. The caller holds the inbox and ends
// the loop as soon as it has given it up.
func (a *actor) fallQuiet() {
	b := &a.inbox
	b.running, b.retire = false, false
	b.calls.forget()
	b.reports.forget()
	b.due = a.nextTimer()
	a.arm(time.Now())
	if !a.tidy() {
		a.batch, a.calls, a.reports = nil, nil, nil
		return
	}
	// What is shown is what a loop begins with.
	a.view.Store(&published{state: a.state, seq: a.seq})
	a.ring.reset(a.seq) // the store has all of it
	a.desk = nil
}

// tidy says that nothing is on the desk that its session and the store do not
// tell.
func (a *actor) tidy() bool {
	shown := a.state.Snapshot()
	return a.state.Status() == StatusIdle && len(a.state.Queue) == 0 && a.lost == nil && !a.taken && !a.fresh &&
		len(a.waiting)+len(a.opens)+len(a.spans)+len(a.instead)+len(a.again) == 0 &&
		sameSnapshot(&shown, &a.stored)
}

// sitDown lays the desk of a session that was quiet.
func (a *actor) sitDown() {
	a.desk = newDesk(a.view.Load().state)
	a.stored = a.state.Snapshot()
}
