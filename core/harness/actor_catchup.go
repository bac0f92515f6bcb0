package harness

import (
	"context"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/journal"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// newLost begins to keep what the store does not take, from the batch that
// failed on.
func (a *actor) newLost(failed pendingBatch) {
	a.catchup = journal.NewCatchup(journal.CatchupTarget{Store: a.host.store, Kind: core.KindSession, Owner: a.owner, Resource: a.id, Ring: &a.ring,
		Log: a.log(), Within: journal.RecoverTimeout, Commit: a.store}, a.seq, failed.seq)
	a.catchup.Create, a.catchup.Replace = a.fresh, a.fresh && a.replace
	a.seq = failed.seq // its numbers may be on disk
	a.degraded.Store(true)
}

// store commits within the deadline, and at most as long as the harness lives.
// It uses nothing that the loop owns.
func (a *actor) store(ctx context.Context, within time.Duration, b core.Batch) error {
	end := a.host.telemetry.Begin(core.Operation{Name: core.OpStoreWrite, Session: a.id})
	err := journal.CommitChecked(ctx, a.host.store, within, b)
	end(core.EndedBy(err))
	if err == nil && a.host.outage.Over() {
		a.log().Info("the journal is written again")
	}
	return err
}

// degrade goes on without durability: store_failed comes first, then the
// events of the failed batch, numbered after it so that no number is used
// twice.
func (a *actor) degrade(out []machine.Effect, failed pendingBatch, err error) {
	a.log().Log(a.host.ctx, a.host.outage.Began(), "the journal could not be written; sessions go on without durability", "err", err)
	a.newLost(failed)
	first := a.step(machine.StoreFailed{Message: "the journal could not be written"})
	out = append(first, out...)
	b := a.build(out)
	a.keepLost(b)
	a.committed(b)
	a.release(out)
}

// keepLost keeps what a batch would have stored, and has its turns and keys found
// by those who look them up.
func (a *actor) keepLost(b pendingBatch) {
	c := a.catchup
	keys := len(c.Keys)
	c.Keep(b.Batch)
	for _, t := range b.Turns {
		if _, ok := c.Turns[t.Turn.ID]; ok {
			a.host.unstoredTurns.put(a.owner, t.Turn)
		}
	}
	for _, k := range c.Keys[keys:] {
		a.host.keys.unstored.put(k)
	}
}

// dropLostTurns has turns looked up in the store again.
func (a *actor) dropLostTurns() {
	for id := range a.catchup.Turns {
		a.host.unstoredTurns.drop(a.owner, id)
	}
}

// catchUp begins an attempt to write what was missed when it is time for one, or
// takes over what the one before has made true. The session goes on beside an
// attempt. Only at the end of the server it is waited for, since there is no
// later one.
func (a *actor) catchUp(now time.Time) {
	c := a.catchup
	if c == nil {
		return
	}
	if c.Attempt == nil && (now.Before(c.RetryAt) || !a.beginAttempt(now)) {
		return
	}
	if a.leaving {
		<-c.Trying()
	}
	select {
	case <-c.Trying():
		a.settleAttempt()
	default:
	}
}

// beginAttempt starts an attempt, unless there is nothing yet that could be
// written. Its numbers are not used again: it may come to the disk late.
func (a *actor) beginAttempt(now time.Time) bool {
	c := a.catchup
	stop := a.host.limits.StopOnStoreFailure
	if a.state.Link == machine.LinkOpening || stop && a.state.Closing != nil {
		c.RetryAt = now.Add(journal.StoreRetryFirst)
		return false
	}
	prior := a.state
	b := a.build(a.step(machine.StoreRecovered{LostFrom: c.From, LostTo: c.To}))
	a.seq = b.seq
	if stop {
		c.Rewrite = a.rewriteStopped(c.From, b.seq)
		a.seq += journal.RewriteRoom
	}
	c.Begin(a.host.ctx, b.Events, a.setRow, a.wg.Go)
	a.state = prior // the recovery is shown when it is true
	return true
}

// rewriteStopped is for a session that the failure of its store has ended. Of
// the batch that failed nothing happened here; where it came to the disk all the
// same, what it left open ends as the rest did, by what is on disk.
func (a *actor) rewriteStopped(from, seq uint64) func(context.Context) (core.Batch, error) {
	return func(ctx context.Context) (core.Batch, error) {
		rec, err := a.host.store.Session(ctx, a.owner, a.id)
		if err != nil {
			return core.Batch{}, err
		}
		return a.host.endBatch(ctx, rec, seq, machine.StoreFailed{Message: "the journal could not be written", Stop: true},
			machine.HungUp{Epoch: rec.Session.Epoch}, machine.StoreRecovered{LostFrom: from, LostTo: seq})
	}
}

// settleAttempt applies an attempt that has ended.
func (a *actor) settleAttempt() {
	c, prior := a.catchup, a.state
	a.step(machine.StoreRecovered{LostFrom: c.From, LostTo: c.To}) // its event is in the attempt's batch
	done := c.Settle(a.host.ctx, a.host.limits.StoreTimeout, a.setRow)
	a.fresh, a.replace = c.Create, c.Replace
	a.host.keys.unstored.drop(done.Keys)
	if !done.Durable {
		a.state = prior
		return
	}
	a.dropLostTurns()
	a.catchup = nil
	a.seq = max(a.seq, done.Seq)
	if a.stored = (core.Session{}); done.Row.Session != nil {
		a.stored = done.Row.Session.Session
	}
	a.degraded.Store(false)
	a.view.Store(&published{state: a.state, seq: a.seq})
	a.wakes.Wake()
}

// setRow sets the session's row as it is to be stored. Until it is open again a
// resume has changed nothing.
func (a *actor) setRow(b *core.Batch, seq uint64) {
	shown := a.state
	if o := shown.Opening; o != nil && o.Prior != nil {
		shown = *o.Prior
		shown.Durability = a.state.Durability
	}
	snap := shown.Snapshot()
	snap.LastSeq = seq
	b.Session = &core.SessionRecord{Session: snap, Launch: a.state.Base.Config}
}
