package machine

import (
	"maps"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// commit writes a drain at once and then releases what was to leave the
// process. A store that fails may fail before or after it has written.
func (h *simHost) commit(d *simDice) {
	batch := h.pending
	h.pending = nil
	if !simDurable(batch) || h.degraded {
		h.release(batch)
		return
	}
	switch h.w.store {
	case storeStalls:
		h.w.now = h.w.now.Add(time.Duration(d.n(4000)) * time.Millisecond)
	case storeFails:
		if d.n(3) > 0 {
			h.storeFailed(batch)
			return
		} // else it is found on disk after all, which is a success
	}
	h.write(batch)
	h.release(batch)
}

func simDurable(batch []Effect) bool {
	return slices.ContainsFunc(batch, func(e Effect) bool {
		switch e.(type) {
		case Append, PutTurn, PutRequest, Keep:
			return true
		}
		return false
	})
}

// storeFailed tells the machine. Under degrade store_failed comes first and the
// events of the batch are numbered after it, live only; under stop nothing of
// the batch has happened.
func (h *simHost) storeFailed(batch []Effect) {
	if h.w.stop {
		h.storeStopped()
		return
	}
	for _, e := range batch { // these numbers may be on disk: they are not used again
		if _, ok := e.(Append); ok {
			h.seq++
		}
	}
	h.degraded, h.lossy = true, true
	h.step(StoreFailed{Message: "disk full"})
	news := h.pending
	h.pending = nil
	h.release(news)
	h.release(batch)
}

// storeStopped goes back to the State before the batch, answers its callers
// and ends the session. What happened outside all the same, an opening or the
// end of a tree, is stepped again.
func (h *simHost) storeStopped() {
	h.goBack()
	opening := h.s.Link == LinkOpening
	for _, in := range h.batch {
		switch in := in.(type) {
		case Opened:
			if in.Err == nil && opening && h.s.Closing == nil {
				h.answer(h.s.Opening.Token)
				h.again = append(h.again, Close{Force: true})
			}
			h.again = append(h.again, in)
		case HungUp, LinkLost:
			h.again = append(h.again, in)
		default:
			h.answer(simTokenOf(in))
		}
	}
	if opening && len(h.again) > 0 {
		return
	}
	h.degraded, h.lossy, h.failStop = true, true, true
	h.step(StoreFailed{Message: "disk full", Stop: true})
	news := h.pending
	h.pending = nil
	h.release(news)
}

// answer is the host's own, beside the machine's.
func (h *simHost) answer(t Token) {
	if t != 0 {
		delete(h.tokens, t)
		h.answered[t] = true
	}
}

// write stores the batch with the session's row, and checks the rows against
// the journal.
func (h *simHost) write(batch []Effect) {
	if h.s.End == EndGone || h.s.Opening != nil && h.s.Opening.Prior == nil {
		return // only keys: nothing else is stored of a session that is not ready
	}
	if h.stored == nil {
		h.stored = &simStored{turns: map[string]core.TurnRecord{}, requests: map[string]core.Request{}, journal: newSimFold()}
	}
	for _, e := range batch {
		switch e := e.(type) {
		case Append:
			if !h.stored.gap {
				if err := h.stored.journal.apply(e); err != nil {
					h.fail("stored journal: %v", err)
				}
			}
		case PutTurn:
			h.stored.turns[e.Turn.ID] = core.TurnRecord(e)
		case PutRequest:
			h.stored.requests[e.Request.ID] = e.Request
		}
	}
	row := h.s
	if o := h.s.Opening; o != nil && o.Prior != nil { // a resume changes nothing before it is ready
		row = *o.Prior
	}
	h.stored.rec = core.SessionRecord{Session: row.Snapshot(), Launch: row.Base.Config}
	h.checkStored()
}

// checkStored compares every row that the events since the last commit touched
// with what the journal says: claimed folds to pending.
func (h *simHost) checkStored() {
	for _, id := range h.live.touched {
		if t := h.live.turns[id]; t != nil {
			if row, ok := h.stored.turns[id]; !ok || row.Turn.Status != t.status() {
				h.fail("turn %s is stored as %q, the journal says %s", id, row.Turn.Status, t.status())
			}
		}
		if q := h.live.requests[id]; q != nil {
			row := h.stored.requests[id].Status
			if row == core.RequestClaimed {
				row = core.RequestPending
			}
			if row != q.word {
				h.fail("request %s is stored as %q, the journal says %s", id, row, q.word)
			}
		}
	}
	h.live.touched = h.live.touched[:0]
	if st := h.stored.rec.Session.Status; st != core.StatusClosing && st != core.StatusOpening && !h.stored.gap && st != h.stored.journal.status() {
		h.fail("the session is stored as %s, its journal says %s", st, h.stored.journal.status())
	}
}

// release carries out, in order, what a commit held back.
func (h *simHost) release(batch []Effect) {
	for _, e := range batch {
		switch e := e.(type) {
		case Append:
			h.seq++
			if h.stored != nil && h.seq > h.stored.lastSeq {
				h.stored.lastSeq = h.seq
			}
		case Send:
			h.deliver(e.Op)
		case Open:
			if h.opening != 0 {
				h.fail("two openings at once")
			}
			h.opening = e.Epoch
		case Hangup:
			if c := h.conns[e.Epoch]; c != nil {
				c.hungUp = true
			}
		case Discard:
			h.gone = true
		}
	}
	if h.gone && (len(h.timers) > 0 || h.waitsInside()) {
		h.fail("a start that came to nothing leaves timers or callers")
	}
}

// recovered writes what was missed, once the store works again.
func (h *simHost) recovered() {
	if !h.degraded || h.failStop || h.s.End == EndGone || h.s.Status() == core.StatusOpening || h.w.store == storeFails {
		return
	}
	h.degraded = false
	h.step(StoreRecovered{LostFrom: 1, LostTo: h.seq})
	batch := h.pending
	h.pending = nil
	if h.stored == nil {
		h.stored = &simStored{turns: map[string]core.TurnRecord{}, requests: map[string]core.Request{}, journal: newSimFold()}
	}
	h.stored.gap = true
	for id := range h.live.turns {
		h.stored.turns[id] = h.rowOf(id)
	}
	for id, q := range h.live.requests {
		h.stored.requests[id] = core.Request{ID: id, TurnID: q.turn, Status: q.word}
	}
	h.write(batch)
	h.release(batch)
}

func (h *simHost) rowOf(id string) core.TurnRecord {
	f := h.live.turns[id]
	rec := core.TurnRecord{Turn: core.Turn{ID: id, Origin: f.origin, Status: f.status()}}
	for _, t := range []*ActiveTurn{h.s.Turn, h.s.ProviderTurn} {
		if t != nil && t.Rec.ID == id {
			rec.Turn = t.Snapshot()
		}
	}
	for _, q := range h.s.Queue {
		if q.Rec.ID == id {
			rec.Turn = q.Rec
		}
	}
	return rec
}

// restart is the death of the server: all but the store is lost, and a new
// host recovers what it finds. It returns nil when nothing was stored.
func (h *simHost) restart() *simHost {
	if h.stored == nil {
		return nil
	}
	n := newSimHost(h.w, h.id, h.stored.rec.Launch)
	n.ids, n.asks, n.stored = h.ids, h.asks, h.stored
	n.s = simRestore(h.stored, n.s.Base.Capabilities.Value())
	n.live, n.seq = simRefold(h.stored), h.stored.lastSeq
	// What a dead server left live is all ended by the recovery: whether a turn
	// was being stopped needs no restoring.
	st := h.stored.rec.Session.Status
	if got := n.s.Status(); got != st && !(st.Live() && got.Live()) {
		h.fail("stored as %s, restored as %s", st, got)
	}
	reason := core.ReasonServerRestarted
	if h.lossy && h.stored.rec.Session.Durability == core.DurabilityDegraded {
		reason = core.ReasonDurabilityLost
	}
	n.step(Recover{Reason: reason})
	if n.s.Status().Live() {
		h.fail("recovered and %s", n.s.Status())
	}
	batch := n.pending
	n.pending = nil
	n.write(batch)
	n.release(batch)
	return n
}

// simRestore calls restore with what it would read from the store.
func simRestore(st *simStored, caps core.Capabilities) State {
	var open []core.TurnRecord
	var last *core.Turn
	for _, id := range slices.Sorted(maps.Keys(st.turns)) {
		r := st.turns[id]
		switch {
		case !r.Turn.Status.Ended():
			open = append(open, r)
		case id == st.rec.Session.LastTurn:
			last = &r.Turn
		}
	}
	var asks []core.Request
	for _, id := range slices.Sorted(maps.Keys(st.requests)) {
		if q := st.requests[id]; !q.Status.Ended() {
			asks = append(asks, q)
		}
	}
	return Restore(st.rec, caps, open, asks, last)
}

// simRefold returns the journal's fold as the store has it. Where the journal has a
// gap the rows stand for it.
func simRefold(st *simStored) *simFold {
	if !st.gap {
		return st.journal.clone()
	}
	f := newSimFold()
	f.ready = true
	f.queue = slices.Clone(st.rec.Session.Queue)
	switch st.rec.Session.Status {
	case core.StatusClosed:
		f.end = core.SessionClosed
	case core.StatusFailed:
		f.end = core.SessionFailed
	case core.StatusKilled:
		f.end = core.SessionKilled
	case core.StatusUnavailable:
		f.lost = true
	}
	for id, r := range st.turns {
		t := &foldTurn{origin: r.Turn.Origin, phase: foldAccepted, cancelling: r.Turn.Status == core.TurnIsCancelling}
		switch {
		case r.Turn.Status.Ended():
			t.phase, t.word = foldEnded, r.Turn.Status
		case r.Turn.Status == core.TurnIsQueued:
			t.phase = foldQueued
		case !r.Turn.StartedAt.IsZero():
			t.phase = foldStarted
		}
		if t.phase == foldAccepted || t.phase == foldStarted {
			if t.origin == core.OriginProvider {
				f.theirs = id
			} else {
				f.ours = id
			}
		}
		f.turns[id] = t
	}
	for id, q := range st.requests {
		w := q.Status
		if w == core.RequestClaimed {
			w = core.RequestPending
		}
		f.requests[id] = &foldRequest{turn: q.TurnID, word: w}
		if t := f.turns[q.TurnID]; t != nil && w == core.RequestPending {
			t.open++
		}
	}
	return f
}

func (f *simFold) clone() *simFold {
	c := *f
	c.queue, c.touched = slices.Clone(f.queue), nil
	c.turns, c.requests = map[string]*foldTurn{}, map[string]*foldRequest{}
	for id, t := range f.turns {
		d := *t
		c.turns[id] = &d
	}
	for id, q := range f.requests {
		d := *q
		c.requests[id] = &d
	}
	return &c
}
