package harness

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/journal"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// lostWrites is what a session could not store, kept until the store works
// again: the newest snapshots, the ends that were missed, and the range of
// events that lived in memory only.
type lostWrites struct {
	// stored is the last seq that is known to be on disk. A commit that failed
	// may still come through, so its numbers are never used again and the
	// store's word on a conflict moves stored on.
	stored   uint64
	from, to uint64 // seqs that live in memory only
	turns    map[string]core.TurnRecord
	requests map[string]core.Request
	ends     []core.Event
	said     map[string]core.Event // the last whole message of each turn, by turn
	keys     []core.KeyRecord
	wait     time.Duration
	retryAt  time.Time
	try      *journal.Attempt // under way
}

// newLost begins to keep what the store does not take, from the batch that
// failed on.
func (a *actor) newLost(failed pendingBatch) {
	a.lost = &lostWrites{stored: a.seq, from: a.seq + 1, to: failed.seq,
		turns: map[string]core.TurnRecord{}, requests: map[string]core.Request{}, said: map[string]core.Event{},
		wait: journal.StoreRetryFirst, retryAt: time.Now().Add(journal.StoreRetryFirst)}
	a.seq = failed.seq // its numbers may be on disk
	a.degraded.Store(true)
	journal.NoteLoss(a.host.store, a.owner, a.id, true)
}

// store commits within the deadline, and at most as long as the harness lives.
// It touches nothing that the loop owns.
func (a *actor) store(b core.Batch, within time.Duration) error {
	end := a.host.telemetry.Begin(core.Operation{Name: core.OpStoreWrite, Session: a.id})
	err := journal.CommitChecked(a.host.ctx, a.host.store, within, b)
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

// keepLost remembers what a batch would have stored.
func (a *actor) keepLost(b pendingBatch) {
	l := a.lost
	l.to = max(l.to, b.seq)
	for _, t := range b.Turns {
		if _, ok := l.turns[t.Turn.ID]; ok || len(l.turns) < journal.LostTurns {
			l.turns[t.Turn.ID] = t
			a.host.unstoredTurns.put(a.owner, t.Turn)
		}
	}
	for _, r := range b.Requests {
		if _, ok := l.requests[r.ID]; ok || len(l.requests) < journal.LostTurns {
			l.requests[r.ID] = r
		}
	}
	for _, e := range b.Events {
		l.keepEvent(e)
	}
	for _, k := range b.Keys {
		if len(l.keys) < journal.LostTurns {
			l.keys = append(l.keys, k)
			a.host.keys.unstored.put(k)
		}
	}
	if l.try != nil {
		l.try.Keep(b.Batch)
	}
}

// keepEvent remembers an end, and before it the message that holds the turn's
// answer, when that is too long for the turn's own row.
func (l *lostWrites) keepEvent(e core.Event) {
	switch {
	case e.Type == core.TypeMessage && (len(l.said) < journal.LostTurns || l.said[e.TurnID].ID != ""):
		l.said[e.TurnID] = e
	case e.Type.Essential() && len(l.ends) < journal.LostTurns:
		if e.Type.EndsTurn() {
			if m := l.said[e.TurnID]; m.ID != "" && l.turns[e.TurnID].Turn.TextSeq == m.Seq {
				l.ends = append(l.ends, m)
			}
			delete(l.said, e.TurnID)
		}
		l.ends = append(l.ends, e)
		slices.SortFunc(l.ends, func(x, y core.Event) int { return cmp.Compare(x.Seq, y.Seq) })
	}
}

// dropLostTurns has turns looked up in the store again.
func (a *actor) dropLostTurns() {
	for id := range a.lost.turns {
		a.host.unstoredTurns.drop(a.owner, id)
	}
}

// tryDue says whether there is something to do about what the store missed. A
// server that ends waits for the attempt under way.
func (a *actor) tryDue(now time.Time) bool {
	switch l := a.lost; {
	case l == nil:
		return false
	case l.try != nil:
		return a.leaving || l.try.Over()
	default:
		return !now.Before(l.retryAt)
	}
}

// trying returns a channel that is closed when the attempt under way has ended,
// nil without one.
func (a *actor) trying() <-chan struct{} {
	if a.lost == nil || a.lost.try == nil {
		return nil
	}
	return a.lost.try.Done
}

// tryStore begins an attempt to write what was missed, or takes over what the
// one before has come to. The session goes on beside an attempt: no command
// waits for a store that stands still. Only at the end of the server it is
// waited for, since there is no later.
func (a *actor) tryStore(now time.Time) {
	l := a.lost
	if l.try == nil && !a.begin(now) {
		return
	}
	if a.leaving {
		<-l.try.Done
	}
	if !l.try.Over() {
		return
	}
	t := l.try
	l.try = nil
	if t.Err == nil {
		a.recovered(t)
		return
	}
	a.log().Debug("the journal still fails", "err", t.Err)
	a.learn(t)
	l.wait = min(2*l.wait, journal.StoreRetryMost)
	l.retryAt = now.Add(l.wait)
}

// begin starts an attempt, unless there is nothing yet that could be written.
// Its numbers are not used again: it may come through late, as any commit that
// failed.
func (a *actor) begin(now time.Time) bool {
	l := a.lost
	stop := a.host.limits.StopOnStoreFailure
	if a.state.Link == machine.LinkOpening || stop && a.state.Closing != nil {
		l.retryAt = now.Add(journal.StoreRetryFirst)
		return false
	}
	prior := a.state
	out := a.step(machine.StoreRecovered{LostFrom: l.from, LostTo: l.to})
	b := a.build(out)
	b.Session = a.record(b.seq)
	a.state = prior // it is shown when it is true
	a.seq, l.to = b.seq, b.seq
	b.Events = slices.Concat(l.ends, b.Events)
	b.Turns = slices.Collect(maps.Values(l.turns))
	b.Requests = slices.Collect(maps.Values(l.requests))
	b.Keys = slices.Clone(l.keys)
	b.Create, b.Replace = a.fresh, a.fresh && a.replace
	l.try = &journal.Attempt{Rescue: journal.Rescue{Store: a.host.store, Within: journal.RecoverTimeout, Kind: core.KindSession, Batch: b.Batch, Stored: l.stored,
		Commit: func(b core.Batch) error { return a.store(b, journal.RecoverTimeout) }}}
	if stop {
		l.try.Rewrite = a.rewriteStopped(l.from, b.seq)
		a.seq += journal.RewriteRoom
	}
	l.try.Begin(a.host.ctx, a.wg.Go)
	return true
}

// rewriteStopped is for a session that the failure of its store has ended. Of
// the batch that failed nothing happened here; where it came through all the
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

// learn takes over what an attempt that failed has found on disk.
func (a *actor) learn(t *journal.Attempt) {
	l := a.lost
	l.stored, a.fresh, a.replace = t.Stored, t.Batch.Create, t.Batch.Replace
	a.host.keys.unstored.drop(t.Keys)
	l.keys = journal.Without(l.keys, t.Keys)
	for _, e := range t.Found {
		if i := slices.IndexFunc(l.ends, func(o core.Event) bool { return journal.SameEnd(o, e) }); i >= 0 {
			l.ends = slices.Delete(l.ends, i, i+1)
		}
		if e.Type.EndsTurn() {
			delete(l.turns, e.TurnID)
		}
	}
}

// recovered is the end of an attempt that succeeded. What came meanwhile is
// written right behind it; if that fails, it is what is lost now.
func (a *actor) recovered(t *journal.Attempt) {
	l := a.lost
	a.seq, a.fresh, a.replace = max(a.seq, t.Last()), false, false
	prior := a.state
	a.step(machine.StoreRecovered{LostFrom: l.from, LostTo: l.to}) // its event is in the batch
	b := t.Next()
	var err error
	if len(t.Since) > 0 {
		b.Session = a.record(a.seq)
		err = a.store(b, a.host.limits.StoreTimeout)
	}
	if t.Full || err != nil {
		a.state = prior
		a.loseAgain(t, err)
		return
	}
	a.log().Info("the journal works again", "lost_from", l.from, "lost_to", l.to)
	a.host.keys.unstored.drop(l.keys)
	a.dropLostTurns()
	journal.NoteLoss(a.host.store, a.owner, a.id, false)
	a.lost = nil
	if a.stored = (core.Session{}); b.Session != nil {
		a.stored = b.Session.Session
	} else if t.Batch.Session != nil {
		a.stored = t.Batch.Session.Session
	}
	// Whatever was live only is gone for readers now, as the gap says.
	a.ring.Reset(t.Last() - 1)
	a.ring.Add(slices.Concat(t.Batch.Events[max(0, len(t.Batch.Events)-1):], b.Events))
	a.degraded.Store(false)
	a.view.Store(&published{state: a.state, seq: a.seq})
	a.wakes.Wake()
}

// loseAgain goes on without durability behind what an attempt has written.
func (a *actor) loseAgain(t *journal.Attempt, err error) {
	l := a.lost
	a.learn(t)
	l.stored, l.from, l.to = t.Last(), t.Last()+1, a.seq
	l.ends = slices.DeleteFunc(l.ends, func(e core.Event) bool { return e.Seq <= t.Last() })
	l.keys = journal.Without(l.keys, t.Batch.Keys)
	a.host.keys.unstored.drop(t.Batch.Keys)
	l.retryAt = time.Now()
	if err != nil {
		l.wait = min(2*l.wait, journal.StoreRetryMost)
		l.retryAt = l.retryAt.Add(l.wait)
	}
}

// record is the session's row as it is to be stored. Until it is open again a
// resume has changed nothing.
func (a *actor) record(seq uint64) *core.SessionRecord {
	shown := a.state
	if o := shown.Opening; o != nil && o.Prior != nil {
		shown = *o.Prior
		shown.Durability = a.state.Durability
	}
	snap := shown.Snapshot()
	snap.LastSeq = seq
	return &core.SessionRecord{Session: snap, Launch: a.state.Base.Config}
}
