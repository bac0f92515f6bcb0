package journal

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

// Ring keeps a live resource's most recent committed events, up to ringBytes, so
// that followers seldom read the store. It has one writer and any number of
// readers.
//
// It keeps the slices in which events were added: copying each event into one
// growing list was most of the garbage of an event.
type Ring struct {
	mu    sync.RWMutex
	parts []ringPart // oldest first
	bytes int
	From  uint64 // events with a higher seq are all here
}

// ringPart is what is added and dropped together. Its events are never changed:
// a store in memory has them too.
type ringPart struct {
	events []core.Event
	bytes  int
}

func ringSize(e core.Event) int { return len(e.Data) + len(e.Raw) + 200 }

// Add takes events over; the caller changes them no more.
func (r *Ring) Add(events []core.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range ringParts(events) {
		r.parts, r.bytes = append(r.parts, p), r.bytes+p.bytes
	}
	drop := 0
	for r.bytes > ringBytes && drop < len(r.parts)-1 {
		p := r.parts[drop]
		r.bytes -= p.bytes
		r.From = p.events[len(p.events)-1].Seq
		drop++
	}
	// Dropped events are free at once, their slots when append moves the rest.
	clear(r.parts[:drop])
	r.parts = r.parts[drop:]
}

// ringParts cuts events into parts of at most ringPartBytes, or one event.
func ringParts(events []core.Event) iter.Seq[ringPart] {
	return func(yield func(ringPart) bool) {
		for all := events; len(events) > 0; {
			n, bytes := 1, ringSize(events[0])
			for n < len(events) && bytes+ringSize(events[n]) <= ringPartBytes {
				bytes += ringSize(events[n])
				n++
			}
			part := events[:n]
			if n < len(all) { // or a part would keep all of them in memory
				part = slices.Clone(part)
			}
			if !yield(ringPart{part, bytes}) {
				return
			}
			events = events[n:]
		}
	}
}

// Reset forgets all events up to seq.
func (r *Ring) Reset(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts, r.bytes, r.From = nil, 0, seq
}

// read returns a page. It is not ok when the ring lacks events of it.
func (r *Ring) read(q core.EventQuery) ([]core.Event, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if q.Tail || q.After < r.From {
		return nil, false
	}
	return r.pick(q), true
}

// since returns the events after q.After that the ring has, and the seq after
// which none is missing.
func (r *Ring) since(q core.EventQuery) (events []core.Event, from uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.pick(q), r.From
}

func (r *Ring) pick(q core.EventQuery) []core.Event {
	i, _ := slices.BinarySearchFunc(r.parts, q.After+1, func(p ringPart, seq uint64) int {
		return cmp.Compare(p.events[len(p.events)-1].Seq, seq)
	})
	p := picking{q: q}
	for _, part := range r.parts[i:] {
		if !p.take(part.events) {
			break
		}
	}
	return p.out
}

// pick returns the page of a query from events in order.
func pick(events []core.Event, q core.EventQuery) []core.Event {
	p := picking{q: q}
	p.take(events)
	return p.out
}

// picking is a page that is being filled.
type picking struct {
	q     core.EventQuery
	out   []core.Event
	bytes int
}

// take adds the next events that the query wants, and reports whether the page
// has room for more.
func (p *picking) take(events []core.Event) (more bool) {
	limit := p.q.Limit
	if limit <= 0 {
		limit = core.DefaultPage
	}
	i, _ := slices.BinarySearchFunc(events, p.q.After+1, func(e core.Event, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	for _, e := range events[i:] {
		if p.q.Until != 0 && e.Seq > p.q.Until || p.q.TurnID != "" && e.TurnID != p.q.TurnID ||
			len(p.q.Types) > 0 && !slices.Contains(p.q.Types, e.Type) {
			continue
		}
		if !p.q.Raw {
			e.Raw = nil
		}
		p.bytes += len(e.Data) + len(e.Raw)
		if p.q.MaxBytes > 0 && len(p.out) > 0 && p.bytes > p.q.MaxBytes {
			return false
		}
		p.out = append(p.out, e)
		if len(p.out) == limit {
			return false
		}
	}
	return true
}
