package harness

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// List returns a page of resources, newest first.
//
// Errors: CodeInvalidArgument for an unknown kind or page, CodeStoreFailed.
func (h *Harness) List(ctx context.Context, owner string, r core.ListRequest) (core.ListResult, error) {
	limit := r.Limit
	if limit <= 0 {
		limit = defaultListPage
	}
	limit = min(limit, maxListPage)
	q := core.ListQuery{Owner: owner, SessionID: r.SessionID, Provider: r.Provider, Status: r.Status, Live: r.Live, Before: r.Page, Limit: limit + 1}
	ctx, cancel := h.short(ctx)
	defer cancel()
	var rows []listRow
	var err error
	switch r.Kind {
	case core.KindSession:
		rows, err = h.listSessions(ctx, q)
	case core.KindTurn:
		rows, err = listRows(ctx, q, h.store.Turns, h.turnRow)
	case core.KindRequest:
		rows, err = listRows(ctx, q, h.store.Requests, requestRow)
	case core.KindProcess:
		rows, err = h.listProcesses(ctx, q)
	default:
		return core.ListResult{}, core.Errorf(core.CodeInvalidArgument, "there is no kind %q", r.Kind).WithHint("Kinds: sessions, turns, requests, processes.")
	}
	if err != nil {
		return core.ListResult{}, core.StoreError(err)
	}
	var out core.ListResult
	if len(rows) > limit {
		rows, out.NextPage = rows[:limit], rows[limit-1].cursor
	}
	for _, row := range rows {
		out.Items = append(out.Items, row.Resource)
	}
	return out, nil
}

// listRow is a resource in a list. The cursor behind a row that the store does
// not have is empty: such rows are on the first page only.
type listRow struct {
	core.Resource
	cursor string
}

// listRows reads a page of rows from the store and makes each a resource.
func listRows[R any](ctx context.Context, q core.ListQuery, list func(context.Context, core.ListQuery) ([]R, error),
	row func(R) (core.Resource, time.Time)) ([]listRow, error) {
	recs, err := list(ctx, q)
	var rows []listRow
	for _, rec := range recs {
		r, created := row(rec)
		rows = append(rows, listRow{r, core.Cursor(created, r.ID)})
	}
	return rows, err
}

// recovering wraps a list of the store. What dead servers left live in it is
// recovered, and then the list is read again, since its filters may leave some
// of it out now.
func recovering[R any](h *Harness, list func(context.Context, core.ListQuery) ([]R, error), row func(R) storedRow) func(context.Context, core.ListQuery) ([]R, error) {
	return func(ctx context.Context, q core.ListQuery) ([]R, error) {
		recs, err := list(ctx, q)
		changed := false
		for _, rec := range recs {
			changed = h.recovered(ctx, row(rec)) || changed
		}
		if err == nil && changed {
			return list(ctx, q)
		}
		return recs, err
	}
}

// withUnstored puts resources that the store does not have before those of the
// first page.
func withUnstored(q core.ListQuery, rows []listRow, unstored func(have map[string]bool) []core.Resource) []listRow {
	if q.Before != "" {
		return rows
	}
	have := map[string]bool{}
	for _, r := range rows {
		have[r.ID] = true
	}
	var out []listRow
	for _, r := range unstored(have) {
		out = append(out, listRow{Resource: r})
	}
	return append(out, rows...)
}

// listSessions returns a page of sessions as they are now. Sessions that this
// instance hosts are shown from its memory, which is newer than their rows.
func (h *Harness) listSessions(ctx context.Context, q core.ListQuery) ([]listRow, error) {
	rows, err := listRows(ctx, q, recovering(h, h.store.Sessions, sessionRow), func(rec core.SessionRecord) (core.Resource, time.Time) {
		v := core.SessionView{Session: rec.Session, Instance: core.InstanceOf(rec.Instance)}
		if a := h.liveActor(rec.Session.Owner, rec.Session.ID); a != nil {
			v = a.seen()
		}
		return core.Resource{Kind: core.KindSession, ID: rec.Session.ID, Session: &v}, rec.Session.CreatedAt
	})
	if err != nil {
		return nil, err
	}
	return withUnstored(q, rows, func(have map[string]bool) []core.Resource { return h.unstored(q, have) }), nil
}

// unstored returns the hosted sessions that the store does not have: those that are
// opening, and those that it failed to take.
func (h *Harness) unstored(q core.ListQuery, have map[string]bool) []core.Resource {
	var out []core.Resource
	for _, a := range h.actorsOf(q.Owner) {
		if p := a.view.Load().state; p.Opening != nil && p.Closing != nil { // it comes to nothing
			continue
		}
		v := a.seen()
		s := v.Session
		if have[s.ID] || !(s.Status == core.StatusOpening && s.Epoch <= 1 || a.degraded.Load()) ||
			q.Provider != "" && q.Provider != s.Provider ||
			len(q.Status) > 0 && !slices.Contains(q.Status, string(s.Status)) ||
			q.Live != nil && *q.Live != s.Status.Live() {
			continue
		}
		out = append(out, core.Resource{Kind: core.KindSession, ID: s.ID, Session: &v})
	}
	slices.SortFunc(out, func(x, y core.Resource) int {
		return cmp.Or(y.Session.Session.CreatedAt.Compare(x.Session.Session.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return out
}

// turnRow returns a turn as it is now: one that is hosted and has not ended may have
// moved on since its row was stored.
func (h *Harness) turnRow(rec core.TurnRecord) (core.Resource, time.Time) {
	t := rec.Turn
	if a := h.liveActor(t.Owner, t.SessionID); a != nil && !t.Status.Ended() {
		if now := turnIn(a.seen(), t.ID); now != nil {
			t = *now
		}
	}
	return core.Resource{Kind: core.KindTurn, ID: t.ID, Turn: &t}, rec.Turn.AcceptedAt
}

// requestRow returns a request as it is stored. A request's row is stored in the
// commit that changes it.
func requestRow(r core.Request) (core.Resource, time.Time) {
	return core.Resource{Kind: core.KindRequest, ID: r.ID, Request: &r}, r.CreatedAt
}

// listProcesses returns a page of processes as they are now. Processes that the
// store failed to take are on the first page.
func (h *Harness) listProcesses(ctx context.Context, q core.ListQuery) ([]listRow, error) {
	rows, err := listRows(ctx, q, recovering(h, h.store.Processes, processRow), func(rec core.ProcessRecord) (core.Resource, time.Time) {
		p := rec.Process
		if now, ok := h.liveProcess(p.Owner, p.ID); ok {
			p = now
		}
		return core.Resource{Kind: core.KindProcess, ID: p.ID, Process: &p}, rec.Process.CreatedAt
	})
	if err != nil || h.processes == nil {
		return rows, err
	}
	return withUnstored(q, rows, func(have map[string]bool) (extra []core.Resource) {
		for _, p := range h.processes.All(q.Owner) {
			if !have[p.ID] && p.Durability == core.DurabilityDegraded && (len(q.Status) == 0 || slices.Contains(q.Status, string(p.Status))) &&
				(q.Live == nil || *q.Live != p.Status.Ended()) {
				extra = append(extra, core.Resource{Kind: core.KindProcess, ID: p.ID, Process: &p})
			}
		}
		slices.SortFunc(extra, func(x, y core.Resource) int { return y.Process.CreatedAt.Compare(x.Process.CreatedAt) })
		return extra
	}), nil
}
