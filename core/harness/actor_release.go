package harness

import (
	"errors"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// release carries out the effects of a commit. It runs only after the commit:
// nothing leaves the process before it is stored, unless the store fails and the
// session says so. The order is: registry, state for readers, effects in the order
// of the machine, wakes. So whoever is woken or gets a reply reads at least the
// state that the reply is about.
func (a *actor) release(out []machine.Effect) {
	// The registry comes first: whoever gets a reply finds an ended session in
	// the store, a discarded id free, and a conversation reserved.
	if a.state.End == machine.EndGone {
		a.freeReserved()
		a.host.forget(a)
	} else if a.settled() {
		a.forgotten = true
		a.host.forget(a)
	}
	if id := a.state.ProviderSessionID; a.state.Link == machine.LinkUp && id != a.convID {
		a.convID = id
		a.host.converse(a, conversation(a.state.Base.Config.Provider, id))
	}
	a.view.Store(&published{state: a.state, seq: a.seq})
	if a.state.Asks() { // answers that others left are looked for while it does
		select {
		case a.host.asked <- struct{}{}:
		default:
		}
	}
	a.observer.tell(machine.ObserveEffects(&a.state, out))
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
			a.discarded = true
		}
	}
	// The reader starts after the ready session is stored, so no output precedes
	// session_ready.
	if a.state.Link == machine.LinkUp && a.reading != a.state.Epoch {
		a.read()
	}
	if a.state.Link != machine.LinkUp {
		a.conn.Store(nil)
	}
	a.wakes.Wake()
	a.host.changes.Wake()
}

// answer sends the one reply to a token, with what only the host knows: the
// cursor, the instance and the durability. It never blocks: the channel has room.
// A token without a caller, as that of a second reply, is ignored.
func (a *actor) answer(r machine.Reply) {
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

// send sends an op. One that the conversation does not accept is a definite
// rejection, which the next turn of the loop steps.
func (a *actor) send(op core.Op) {
	conn := a.conns.of(a.state.Epoch)
	if start, ok := op.(core.StartTurn); ok && a.host.work != nil && conn != nil {
		a.sendWatched(start, conn)
		return
	}
	err := errors.New("the conversation is closed")
	if conn != nil {
		switch err = conn.Send(op); {
		case err == nil:
			return
		case faulted(err): // its loss is the outcome
			a.wg.Go(func() { _ = closeConn(a.host.ctx, conn, 0) })
			return
		}
	}
	a.again = append(a.again, machine.Notice{Epoch: a.state.Epoch, Notice: core.OpDone{Op: op.OpID(),
		Err: core.Errorf(core.CodeSessionUnavailable, "the provider could not be told: %w", err)}})
}

// faulted reports whether an error is that of an adapter that panicked.
func faulted(err error) bool {
	var fault *core.PanicError
	return errors.As(err, &fault)
}

// freeReserved releases the stored session that this one was to replace, if its
// first commit never came.
func (a *actor) freeReserved() {
	if a.fresh && a.unreserve != nil {
		a.unreserve()
		a.unreserve = nil
	}
}
