package core

import "time"

// lostWrites is what a session could not store, kept until the store works
// again: the newest snapshots, the terminals that were missed, and the range
// of events that lived in memory only.
type lostWrites struct {
	from, to  uint64 // seqs that are not on disk
	turns     map[string]TurnRecord
	requests  map[string]Request
	terminals []Event
	keys      []KeyRecord
	wait      time.Duration
	retryAt   time.Time
}

func newLost(seq uint64) *lostWrites {
	return &lostWrites{from: seq + 1, to: seq, turns: map[string]TurnRecord{}, requests: map[string]Request{},
		wait: storeRetryFirst, retryAt: time.Now().Add(storeRetryFirst)}
}

// degrade goes on without durability: store_failed comes first, then the
// events of the failed batch, numbered after it so that no number is used
// twice.
func (a *actor) degrade(out []Effect, err error) {
	a.log.Error("the journal could not be written; the session goes on without durability", "err", err)
	a.lost = newLost(a.seq)
	a.degraded.Store(true)
	failed := a.step(inStoreFailed{Message: "the journal could not be written"})
	out = append(failed, out...)
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
		if e.Type.EndsTurn() && len(l.terminals) < lostTurns {
			l.terminals = append(l.terminals, e)
		}
	}
	if len(l.keys)+len(b.Keys) <= lostTurns {
		l.keys = append(l.keys, b.Keys...)
	}
}

// tryStore writes one batch with what was missed. If the store takes it, the
// session is durable again and its replay shows the gap.
func (a *actor) tryStore(now time.Time) {
	l := a.lost
	prior := a.state
	out := a.step(inStoreRecovered{LostFrom: l.from, LostTo: l.to})
	b := a.build(out)
	b.ExpectSeq = l.from - 1
	missed := make([]Event, 0, len(l.terminals)+len(b.Events))
	b.Events = append(append(missed, l.terminals...), b.Events...)
	b.Turns = b.Turns[:0]
	for _, t := range l.turns {
		b.Turns = append(b.Turns, t)
	}
	for _, r := range l.requests {
		b.Requests = append(b.Requests, r)
	}
	b.Keys = append(b.Keys, l.keys...)
	snap := a.state.Snapshot()
	snap.LastSeq = b.seq
	b.Session = &SessionRecord{Session: snap, Launch: a.state.Base.Config}
	b.Create, b.Replace = a.fresh, a.fresh && a.replace
	if err := a.store(b.Batch); err != nil {
		a.state = prior
		l.wait = min(2*l.wait, storeRetryMost)
		l.retryAt = now.Add(l.wait)
		return
	}
	a.log.Info("the journal works again", "lost_from", l.from, "lost_to", l.to)
	recovered := b.Events[len(l.terminals):]
	a.lost = nil
	a.degraded.Store(false)
	a.seq = b.seq
	a.stored, a.fresh, a.replace = snap, false, false
	// Whatever was live only is gone for readers now, as the gap says.
	a.ring.reset(l.to)
	a.ring.add(recovered)
	a.view.Store(&published{state: a.state, seq: a.seq})
	a.wakes.wake()
}

// reset forgets all events up to seq.
func (r *ring) reset(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.bytes, r.from = nil, 0, seq
}
