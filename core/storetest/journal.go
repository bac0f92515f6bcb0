package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/harness-mcp/harness-mcp/core"
)

// page reads events and compares their numbers.
func page(ctx context.Context, s core.Store, what string, q core.EventQuery, want ...uint64) error {
	if q.Owner == "" {
		q.Owner = ann
	}
	if q.Resource == "" {
		q.Resource = s1
	}
	got, err := s.Events(ctx, q)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return same(what, seqsOf(got), append([]uint64{}, want...))
}

// eventsInOrder proves that events come back complete and in ascending order of
// seq over several batches, without those of another resource, and that LastSeq is
// the seq of the last one.
func eventsInOrder(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0, 1, 2)
	b.Events[1].TurnID, b.Events[1].RequestID = "t", "q"
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	// Another resource's events in between must not show.
	if err := s.Commit(ctx, opened(ann, s2, 0, 1, 2, 3)); err != nil {
		return err
	}
	next := more(ann, s1, 2, 3, 4)
	if err := s.Commit(ctx, next); err != nil {
		return err
	}
	got, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: s1})
	if err != nil {
		return err
	}
	if err := same("events", got, append(b.Events, next.Events...)); err != nil {
		return err
	}
	last, err := s.LastSeq(ctx, ann, s1)
	if err != nil {
		return err
	}
	return same("last seq", last, 4)
}

// seqGaps proves that seq numbers need to ascend, not to be consecutive: not
// every event of a resource is stored.
func seqGaps(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 0, 3, 7)); err != nil {
		return err
	}
	if err := s.Commit(ctx, more(ann, s1, 7, 20)); err != nil {
		return err
	}
	return page(ctx, s, "events after a gap", core.EventQuery{After: 5}, 7, 20)
}

// tenEvents fills s1 with the events 10, 20 ... 100.
func tenEvents(ctx context.Context, s core.Store) error {
	return s.Commit(ctx, opened(ann, s1, 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100))
}

// pageAfterUntil proves that After is exclusive, Until is inclusive, and neither has
// to be the seq of a stored event. A range beyond the end is empty, no error.
func pageAfterUntil(ctx context.Context, s core.Store) error {
	if err := tenEvents(ctx, s); err != nil {
		return err
	}
	return steps(
		func() error { return page(ctx, s, "after 70", core.EventQuery{After: 70}, 80, 90, 100) },
		func() error { return page(ctx, s, "after 71", core.EventQuery{After: 71}, 80, 90, 100) },
		func() error { return page(ctx, s, "until 20", core.EventQuery{Until: 20}, 10, 20) },
		func() error { return page(ctx, s, "20 to 45", core.EventQuery{After: 20, Until: 45}, 30, 40) },
		func() error { return page(ctx, s, "after the end", core.EventQuery{After: 100}) },
		func() error { return page(ctx, s, "after the last number", core.EventQuery{After: ^uint64(0)}) },
	)
}

// pageLimit proves that a page has at most Limit events and starts with the oldest
// that match. Without a limit the bound is core.DefaultPage.
func pageLimit(ctx context.Context, s core.Store) error {
	if err := tenEvents(ctx, s); err != nil {
		return err
	}
	if err := page(ctx, s, "limit 3 after 30", core.EventQuery{After: 30, Limit: 3}, 40, 50, 60); err != nil {
		return err
	}
	b := more(ann, s1, 100)
	for n := range uint64(core.DefaultPage) {
		b.Events = append(b.Events, event(s1, 101+n))
	}
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	got, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: s1})
	if err != nil {
		return err
	}
	return same("events without a limit", len(got), core.DefaultPage)
}

// pageTail proves that Tail selects the newest events within After and Until and
// still returns them in ascending order.
func pageTail(ctx context.Context, s core.Store) error {
	if err := tenEvents(ctx, s); err != nil {
		return err
	}
	return steps(
		func() error { return page(ctx, s, "tail 3", core.EventQuery{Tail: true, Limit: 3}, 80, 90, 100) },
		func() error {
			return page(ctx, s, "tail 3 until 50", core.EventQuery{Tail: true, Limit: 3, Until: 50}, 30, 40, 50)
		},
		func() error {
			return page(ctx, s, "tail 3 after 90", core.EventQuery{Tail: true, Limit: 3, After: 90}, 100)
		},
	)
}

// pageMaxBytes proves that MaxBytes bounds the data of a page, and the raw frames
// only if they are asked for. One event is returned even if it alone is larger:
// otherwise a reader could never pass it.
func pageMaxBytes(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0, 1, 2, 3, 4)
	for i := range b.Events {
		b.Events[i].Data = json.RawMessage(fmt.Sprintf(`{"text":"%089d"}`, i)) // 100 bytes
		b.Events[i].Raw = json.RawMessage(fmt.Sprintf(`{"text":"%0189d"}`, i)) // 200 bytes
	}
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	return steps(
		func() error { return page(ctx, s, "250 bytes", core.EventQuery{MaxBytes: 250}, 1, 2) },
		func() error { return page(ctx, s, "200 bytes", core.EventQuery{MaxBytes: 200}, 1, 2) },
		func() error { return page(ctx, s, "1 byte", core.EventQuery{MaxBytes: 1}, 1) },
		func() error { return page(ctx, s, "1 byte after 2", core.EventQuery{MaxBytes: 1, After: 2}, 3) },
		func() error {
			return page(ctx, s, "newest 250 bytes", core.EventQuery{Tail: true, Limit: 4, MaxBytes: 250}, 3, 4)
		},
		func() error {
			return page(ctx, s, "650 bytes with raw", core.EventQuery{MaxBytes: 650, Raw: true}, 1, 2)
		},
	)
}

// pageTurn proves that TurnID filters before the limit applies, with After and with
// Tail.
func pageTurn(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0, 1, 2, 3, 4, 5, 6)
	for i, id := range []string{"", "t1", "t2", "t1", "", "t1"} {
		b.Events[i].TurnID = id
	}
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	return steps(
		func() error { return page(ctx, s, "turn t1", core.EventQuery{TurnID: "t1"}, 2, 4, 6) },
		func() error { return page(ctx, s, "turn t1 after 2", core.EventQuery{TurnID: "t1", After: 2}, 4, 6) },
		func() error {
			return page(ctx, s, "tail of t1", core.EventQuery{TurnID: "t1", Tail: true, Limit: 2}, 4, 6)
		},
		func() error { return page(ctx, s, "turn t3", core.EventQuery{TurnID: "t3"}) },
	)
}

// pageTypes proves that Types selects events of any of the types, and that TurnID
// narrows the selection further.
func pageTypes(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0, 1, 2, 3, 4)
	b.Events[1].Type = core.TypeReasoning
	b.Events[3].Type = core.TypeWarning
	b.Events[3].TurnID = "t"
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	types := func(t ...core.EventType) core.EventQuery { return core.EventQuery{Types: t} }
	inTurn := types(core.TypeWarning, core.TypeMessage)
	inTurn.TurnID = "t"
	return steps(
		func() error { return page(ctx, s, "messages", types(core.TypeMessage), 1, 3) },
		func() error { return page(ctx, s, "two types", types(core.TypeWarning, core.TypeReasoning), 2, 4) },
		func() error { return page(ctx, s, "a type that is not there", types(core.TypeToolDelta)) },
		func() error { return page(ctx, s, "types of a turn", inTurn, 4) },
	)
}

// pageRaw proves that raw frames are stored byte for byte and returned only if the
// query asks for them.
func pageRaw(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0, 1, 2, 3)
	b.Events[1].Raw = json.RawMessage(`{"method":"item/agentMessage"}`)
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	raw, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: s1, Raw: true})
	if err != nil {
		return err
	}
	if err := same("events with raw frames", raw, b.Events); err != nil {
		return err
	}
	plain, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: s1})
	if err != nil {
		return err
	}
	b.Events[1].Raw = nil
	return same("events without raw frames", plain, b.Events)
}

// largeEvent proves that a store has no limit of its own below 4 MiB for the data of
// one event.
func largeEvent(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0, 1, 2)
	b.Events[0].Data = json.RawMessage(`"` + string(bytes.Repeat([]byte("x"), 4<<20)) + `"`)
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	got, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: s1})
	if err != nil {
		return err
	}
	return same("events", got, b.Events)
}

// unknownJournal proves that the journal of an unknown resource is empty and its
// last seq 0, without an error.
func unknownJournal(ctx context.Context, s core.Store) error {
	if err := page(ctx, s, "events of nothing", core.EventQuery{Resource: "nothing"}); err != nil {
		return err
	}
	last, err := s.LastSeq(ctx, ann, "nothing")
	if err != nil {
		return err
	}
	return same("last seq of nothing", last, 0)
}
