package core

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
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
	turns    map[string]TurnRecord
	requests map[string]Request
	ends     []Event
	keys     []KeyRecord
	wait     time.Duration
	retryAt  time.Time
}

// newLost begins to keep what the store does not take, from the batch that
// failed on.
func (a *actor) newLost(failed pendingBatch) {
	a.lost = &lostWrites{stored: a.seq, from: a.seq + 1, to: failed.seq,
		turns: map[string]TurnRecord{}, requests: map[string]Request{},
		wait: storeRetryFirst, retryAt: time.Now().Add(storeRetryFirst)}
	a.seq = failed.seq // its numbers may be on disk
	a.degraded.Store(true)
}

// store commits within the deadline. A commit that failed may have happened:
// the batch's last seq on disk, in a row of ours, says so.
func (a *actor) store(b Batch, within time.Duration) error {
	ctx, cancel := context.WithTimeout(a.host.ctx, within)
	defer cancel()
	end := a.host.telemetry.Begin(Operation{Name: OpStoreWrite, Session: a.id})
	err := a.host.store.Commit(ctx, b)
	end(endedBy(err))
	if err == nil || len(b.Events) == 0 {
		return err
	}
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		return err
	}
	if last, mine := a.onDisk(within); mine && last == b.Events[len(b.Events)-1].Seq {
		return nil
	}
	return err
}

// onDisk gives the last stored seq, and whether the stored session is this
// one: of this instance, or of none while it is opened.
func (a *actor) onDisk(within time.Duration) (last uint64, mine bool) {
	ctx, cancel := context.WithTimeout(a.host.ctx, within)
	defer cancel()
	last, err := a.host.store.LastSeq(ctx, a.owner, a.id)
	if err != nil {
		return 0, false
	}
	rec, err := a.host.store.Session(ctx, a.owner, a.id)
	return last, err == nil && holder(rec.Instance) == a.host.store.Instance()
}

// degrade goes on without durability: store_failed comes first, then the
// events of the failed batch, numbered after it so that no number is used
// twice.
func (a *actor) degrade(out []Effect, failed pendingBatch, err error) {
	a.log.Error("the journal could not be written; the session goes on without durability", "err", err)
	a.newLost(failed)
	first := a.step(inStoreFailed{Message: "the journal could not be written"})
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
		if _, ok := l.turns[t.Turn.ID]; ok || len(l.turns) < lostTurns {
			l.turns[t.Turn.ID] = t
		}
	}
	for _, r := range b.Requests {
		if _, ok := l.requests[r.ID]; ok || len(l.requests) < lostTurns {
			l.requests[r.ID] = r
		}
	}
	for _, e := range b.Events {
		if e.Type.ends() && len(l.ends) < lostTurns {
			l.ends = append(l.ends, e)
		}
	}
	for _, k := range b.Keys {
		if len(l.keys) < lostTurns {
			l.keys = append(l.keys, k)
			a.host.lostKeys.put(k)
		}
	}
}

// ends says that the journal would be untrue without the event: a turn or
// session would look unfinished, or ended while it lives.
func (t EventType) ends() bool {
	switch t {
	case SessionReady, SessionClosed, SessionFailed, SessionKilled, TransportError:
		return true
	}
	return t.EndsTurn()
}

// tryStore writes one batch with what was missed. If the store takes it, the
// session is durable again and its replay shows the gap.
func (a *actor) tryStore(now time.Time) {
	prior := a.state
	out := a.step(inStoreRecovered{LostFrom: a.lost.from, LostTo: a.lost.to})
	b := a.build(out)
	recovered := b.Events
	err := a.storeLost(&b)
	if err != nil {
		a.log.Debug("the journal still fails", "err", err)
		a.state = prior
		// The attempt may come through late, as any commit that failed.
		a.seq, a.lost.to = b.seq, b.seq
		a.lost.wait = min(2*a.lost.wait, storeRetryMost)
		a.lost.retryAt = now.Add(a.lost.wait)
		return
	}
	a.log.Info("the journal works again", "lost_from", a.lost.from, "lost_to", a.lost.to)
	to := a.lost.to
	a.host.lostKeys.drop(a.lost.keys)
	a.lost = nil
	a.seq = b.seq
	a.stored, a.fresh, a.replace = b.Session.Session, false, false
	// Whatever was live only is gone for readers now, as the gap says.
	a.ring.reset(to)
	a.ring.add(recovered)
	a.degraded.Store(false)
	a.view.Store(&published{state: a.state, seq: a.seq})
	a.wakes.wake()
}

// storeLost commits what was missed behind what turns out to be on disk. Each
// conflict tells something that came through after all: a batch, or a key.
func (a *actor) storeLost(b *pendingBatch) error {
	l := a.lost
	recovered := b.Events
	b.Turns = slices.Collect(maps.Values(l.turns))
	b.Requests = slices.Collect(maps.Values(l.requests))
	snap := a.state.Snapshot()
	snap.LastSeq = b.seq
	b.Session = &SessionRecord{Session: snap, Launch: a.state.Base.Config}
	for range len(l.keys) + 3 {
		b.ExpectSeq = l.stored
		b.Create, b.Replace = a.fresh, a.fresh && a.replace
		b.Events = slices.Concat(l.ends, recovered)
		b.Keys = l.keys
		err := a.store(b.Batch, recoverTimeout)
		var conflict *ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		if conflict.Kind == "key" { // stored after all: by the batch that failed, or by another server's call
			i := slices.IndexFunc(l.keys, func(k KeyRecord) bool { return k.Key == conflict.ID })
			if i < 0 {
				return err
			}
			a.host.lostKeys.drop(l.keys[i : i+1])
			l.keys = slices.Delete(l.keys, i, i+1)
			continue
		}
		if err := a.catchUp(conflict); err != nil {
			return err
		}
	}
	return errors.New("the store answers with ever new conflicts")
}

// catchUp takes over what the disk has of this session beyond what was known.
func (a *actor) catchUp(c *ConflictError) error {
	l := a.lost
	last, mine := a.onDisk(recoverTimeout)
	switch {
	case last == 0 && l.stored > 0: // it was deleted meanwhile, as an ended one may be
		l.stored, a.fresh, a.replace = 0, true, false
		return nil
	case !mine || last <= l.stored:
		return c
	}
	ctx, cancel := context.WithTimeout(a.host.ctx, recoverTimeout)
	defer cancel()
	q := EventQuery{Owner: a.owner, Resource: a.id, After: l.stored, Limit: maxReplayPage}
	events, err := a.host.store.Events(ctx, q)
	if err != nil {
		return err
	}
	for _, e := range events {
		l.ends = slices.DeleteFunc(l.ends, func(o Event) bool { return o.Type == e.Type && o.TurnID == e.TurnID })
	}
	l.stored, a.fresh, a.replace = last, false, false
	return nil
}

// reset forgets all events up to seq.
func (r *ring) reset(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.bytes, r.from = nil, 0, seq
}
