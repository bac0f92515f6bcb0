package harness

import (
	"context"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Prune deletes ended resources and their journals for good: one by id, or all
// of the owner's that ended longer ago, and returns their ids. An id that is not
// there is an error, since it may be mistyped, unless the call has a key: then
// the call may be a repetition, and what was asked has been done.
//
// Errors: CodeResourceActive for a live one, CodeNotFound, CodeInvalidArgument.
func (h *Harness) Prune(ctx context.Context, c core.Caller, r core.PruneRequest) ([]string, error) {
	if r.ID == "" {
		return h.pruneOlder(ctx, c.Owner, r)
	}
	res, err := h.Get(ctx, c.Owner, r.ID)
	if core.CodeOf(err) == core.CodeNotFound && r.Once.Key != "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	row, status := storedRow{kind: res.Kind, owner: c.Owner, id: r.ID}, ""
	switch res.Kind {
	case core.KindSession:
		s := res.Session.Session
		row.live, status = s.Status.Live(), string(s.Status)
		if !row.live { // the row has more than a view shows: whether a server opens it
			rec, err := h.store.Session(ctx, c.Owner, r.ID)
			if err != nil {
				return nil, core.StoreError(err)
			}
			row.instance = rec.Instance
		}
	case core.KindProcess:
		row.live, status = !res.Process.Status.Ended(), string(res.Process.Status)
	default:
		return nil, core.Errorf(core.CodeInvalidArgument, "%s is a %s; only whole sessions and processes are pruned", r.ID, res.Kind)
	}
	if row.live {
		return nil, core.Errorf(core.CodeResourceActive, "%s %s is %s", res.Kind, r.ID, status).WithHint("close {id: %q} ends it first.", r.ID)
	}
	if !r.DryRun {
		ok, err := h.deleteRow(ctx, row)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, core.Errorf(core.CodeResourceActive, "%s %s is being used", res.Kind, r.ID).WithHint("inspect {id: %q} shows by what.", r.ID).Retry()
		}
	}
	return []string{r.ID}, nil
}

// pruneOlder deletes everything of an owner that ended before r.OlderThan. What
// is in use is left out.
func (h *Harness) pruneOlder(ctx context.Context, owner string, r core.PruneRequest) (ids []string, err error) {
	if r.OlderThan < 0 {
		return nil, core.Errorf(core.CodeInvalidArgument, "older_than_ms is negative")
	}
	live := false
	q := core.ListQuery{Owner: owner, Live: &live, EndedBefore: time.Now().Add(-r.OlderThan), Limit: core.DefaultPage}
	for _, kind := range []core.ResourceKind{core.KindSession, core.KindProcess} {
		err := h.eachPage(ctx, kind, q, func(rows []storedRow) error {
			for _, row := range rows {
				ok, err := h.liveActor(row.owner, row.id) == nil && !h.opening(row.instance), error(nil)
				if ok && !r.DryRun {
					ok, err = h.deleteRow(ctx, row)
				}
				if err != nil {
					return err
				}
				if ok {
					ids = append(ids, row.id)
				}
			}
			return nil
		})
		if err != nil {
			return ids, err
		}
	}
	return ids, nil
}

// deleteRow deletes an ended row, unless it is in use.
func (h *Harness) deleteRow(ctx context.Context, r storedRow) (bool, error) {
	last, err := h.store.LastSeq(ctx, r.owner, r.id)
	if err != nil {
		return false, core.StoreError(err)
	}
	return h.deleteEnded(ctx, core.EndedResource{Owner: r.owner, ID: r.id, Kind: r.kind, Instance: r.instance, LastSeq: last})
}
