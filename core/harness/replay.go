package harness

import (
	"context"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/journal"
)

// Replay reads a page of a journal: of a session, a process or one turn.
//
// Errors: CodeNotFound, CodeInvalidArgument for a request, CodeStoreFailed.
func (h *Harness) Replay(ctx context.Context, owner string, r core.ReplayRequest) (core.ReplayPage, error) {
	res, err := h.Get(ctx, owner, r.ID)
	if err != nil {
		return core.ReplayPage{}, err
	}
	page := core.ReplayPage{Resource: res.ID}
	q := core.EventQuery{Owner: owner, After: r.After, Limit: r.Limit, MaxBytes: r.MaxBytes, Types: r.Types, Raw: r.Raw}
	switch res.Kind {
	case core.KindTurn:
		page.Resource, page.TurnID = res.Turn.SessionID, res.ID
	case core.KindRequest:
		return page, core.Errorf(core.CodeInvalidArgument, "%s is a request and has no journal of its own", r.ID).
			WithHint("replay {id: %q} shows the turn that asked.", res.Request.TurnID)
	}
	q.Resource, q.TurnID = page.Resource, page.TurnID
	if q.Limit <= 0 {
		q.Limit = core.DefaultPage
	}
	q.Limit = min(q.Limit, core.MaxPage)
	if r.Tail > 0 {
		q.Tail, q.Limit = true, min(r.Tail, core.MaxPage)
	}
	want := q.Limit
	if !q.Tail {
		q.Limit++
	}
	events, err := h.events(ctx, q)
	if err != nil {
		return page, err
	}
	if events, page.AvailableFrom, err = h.showGap(ctx, q, events); err != nil {
		return page, err
	}
	if page.AvailableFrom > 0 {
		want++
	}
	if !q.Tail && len(events) > want {
		events, page.More = events[:want], true
	}
	page.Events, page.Cursor = events, r.After
	if n := len(events); n > 0 {
		page.Cursor = events[n-1].Seq
	}
	if len(events) == 0 && r.After > 0 && !q.Tail {
		page.Cursor = h.within(ctx, owner, res, page.Resource, r.After)
	}
	if !page.More && r.MaxBytes > 0 && len(events) > 0 {
		page.More = h.hasMore(ctx, q, page.Cursor)
	}
	return page, nil
}

// within returns a cursor that is not after the end of a journal. A reader with
// the cursor of another journal would else wait for events with lower numbers.
func (h *Harness) within(ctx context.Context, owner string, res core.Resource, resource string, after uint64) uint64 {
	switch {
	case res.Session != nil:
		owner = res.Session.Session.Owner
	case res.Turn != nil:
		owner = res.Turn.Owner
	case res.Process != nil:
		owner = res.Process.Owner
	}
	last, err := h.store.LastSeq(ctx, owner, resource)
	if err != nil {
		return after
	}
	if a := h.liveActor(owner, resource); a != nil {
		last = max(last, a.view.Load().seq)
	}
	if res.Process != nil {
		last = max(last, res.Process.LastSeq)
	}
	if last == 0 { // it is being created
		return after
	}
	return min(after, last)
}

// showGap puts a replay_gap before a page whose first events are gone, and
// returns the seq of the first event that there is.
func (h *Harness) showGap(ctx context.Context, q core.EventQuery, events []core.Event) ([]core.Event, uint64, error) {
	if q.Tail || q.TurnID != "" || len(events) > 0 && (events[0].Seq == q.After+1 || events[0].Type == core.ReplayGap) {
		return events, 0, nil
	}
	first := events
	if len(q.Types) > 0 || len(events) == 0 {
		var err error
		if first, err = h.events(ctx, core.EventQuery{Owner: q.Owner, Resource: q.Resource, After: q.After, Limit: 1}); err != nil {
			return nil, 0, err
		}
	}
	if len(first) == 0 || first[0].Seq == q.After+1 || first[0].Type == core.ReplayGap {
		return events, 0, nil
	}
	return append([]core.Event{journal.GapBefore(first[0])}, events...), first[0].Seq, nil
}

// hasMore reports whether a page that its byte bound may have ended goes on.
func (h *Harness) hasMore(ctx context.Context, q core.EventQuery, after uint64) bool {
	q.After, q.Limit, q.Tail, q.Raw = after, 1, false, false
	more, err := h.events(ctx, q)
	return err == nil && len(more) > 0
}

// events reads a resource's events: from the ring when it has them all, else
// from the store, and from both while the store is failing.
func (h *Harness) events(ctx context.Context, q core.EventQuery) ([]core.Event, error) {
	if h.processes != nil && strings.HasPrefix(q.Resource, core.PrefixProcess) {
		if events, ok, err := h.processes.Events(ctx, q); ok {
			return events, err
		}
	}
	a := h.liveActor(q.Owner, q.Resource)
	if a == nil {
		return h.store.Events(ctx, q)
	}
	return journal.ReadJournal(ctx, h.store, &a.ring, a.degraded.Load(), q)
}
