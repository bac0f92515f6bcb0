package journal

import (
	"context"
	"math"

	"github.com/harness-mcp/harness-mcp/core"
)

// ReadJournal reads the events of a live resource, from its ring as far as that
// has all of them.
func ReadJournal(ctx context.Context, store core.Store, r *Ring, degraded bool, q core.EventQuery) ([]core.Event, error) {
	if degraded {
		return degradedEvents(ctx, store, r, q)
	}
	if events, ok := r.read(q); ok {
		return events, nil
	}
	return store.Events(ctx, q)
}

// degradedEvents joins what the store has with what is only in memory. What
// neither has shows as one replay_gap.
func degradedEvents(ctx context.Context, store core.Store, r *Ring, q core.EventQuery) ([]core.Event, error) {
	all := q
	all.Limit, all.Tail, all.MaxBytes = math.MaxInt, false, 0
	live, from := r.since(all)
	var out []core.Event
	var err error
	if past := q; len(live) == 0 || live[0].Seq > q.After+1 {
		if len(live) > 0 {
			past.Until = live[0].Seq - 1
		}
		out, err = store.Events(ctx, past)
	}
	last, lerr := store.LastSeq(ctx, q.Owner, q.Resource)
	if len(live) > 0 && q.After < from && (err != nil || lerr != nil || last < from) {
		out = append(out, GapBefore(live[0]))
	}
	out = append(out, live...)
	if q.Tail && len(out) > q.Limit {
		out = out[len(out)-q.Limit:]
	}
	return pick(out, core.EventQuery{Limit: q.Limit, MaxBytes: q.MaxBytes, Raw: q.Raw}), nil
}

// GapBefore returns the replay_gap for the missing events before e.
func GapBefore(e core.Event) core.Event {
	return core.Event{SchemaVersion: core.SchemaVersion, Resource: e.Resource, Seq: e.Seq - 1, Type: core.ReplayGap,
		At: e.At, Data: core.EncodeData(map[string]uint64{"available_from": e.Seq})}
}
