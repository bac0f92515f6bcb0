package harness

import (
	"context"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// desk is what a session needs while there is something to do. A loop that ends
// clears it away if all that lies on it can be had again; the next one lays it
// again.
type desk struct {
	state    machine.State
	stored   core.Session // the snapshot on disk
	waiting  map[machine.Token]chan machine.Reply
	opens    map[uint64]context.CancelFunc
	spans    map[string]span               // where turns stand in the journal
	instead  map[machine.Token]*core.Error // what a starter is told in place of the reply to come
	again    []machine.Input               // to be stepped before the inbox
	lost     *lostWrites                   // not nil while the store fails
	giveBack func()                        // frees the session that a start was to replace; may be nil

	// Room that each turn uses anew.
	batch   []machine.Input
	calls   []call
	reports []mail
}

func newDesk(s machine.State) *desk {
	return &desk{state: s, waiting: map[machine.Token]chan machine.Reply{}, opens: map[uint64]context.CancelFunc{},
		spans: map[string]span{}, instead: map[machine.Token]*core.Error{}}
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
	a.ring.Reset(a.seq) // the store has all of it
	a.desk = nil
}

// tidy says that nothing is on the desk that its session and the store do not
// tell.
func (a *actor) tidy() bool {
	shown := a.state.Snapshot()
	return a.state.Status() == core.StatusIdle && len(a.state.Queue) == 0 && a.lost == nil && !a.taken && !a.fresh &&
		len(a.waiting)+len(a.opens)+len(a.spans)+len(a.instead)+len(a.again) == 0 &&
		sameSnapshot(&shown, &a.stored)
}

// sitDown lays the desk of a session that was quiet.
func (a *actor) sitDown() {
	a.desk = newDesk(a.view.Load().state)
	a.stored = a.state.Snapshot()
}
