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
	var status string
	live := true
	ended := core.EndedResource{Owner: c.Owner, ID: r.ID, Kind: res.Kind}
	switch res.Kind {
	case core.KindSession:
		v := res.Session
		status, live = string(v.Session.Status), v.Session.Status.Live()
		ended.Instance, ended.LastSeq = v.Instance, v.Session.LastSeq
	case core.KindProcess:
		status, live = string(res.Process.Status), !res.Process.Status.Ended()
	default:
		return nil, core.Errorf(core.CodeInvalidArgument, "%s is a %s; only whole sessions and processes are pruned", r.ID, res.Kind)
	}
	if live {
		return nil, core.Errorf(core.CodeResourceActive, "%s %s is %s", res.Kind, r.ID, status).WithHint("close {id: %q} ends it first.", r.ID)
	}
	if !r.DryRun {
		ok, err := h.deleteEnded(ctx, ended)
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
				ok, err := h.pruneRow(ctx, row, r.DryRun)
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

// pruneRow deletes an ended row, unless it is in use; a dry one only reports
// whether it would.
func (h *Harness) pruneRow(ctx context.Context, r storedRow, dry bool) (bool, error) {
	if dry {
		return h.liveActor(r.owner, r.id) == nil, nil
	}
	ended := core.EndedResource{Owner: r.owner, ID: r.id, Kind: r.kind, Instance: r.instance}
	if r.kind == core.KindSession {
		var err error
		if ended.LastSeq, err = h.store.LastSeq(ctx, r.owner, r.id); err != nil {
			return false, core.StoreError(err)
		}
	}
	return h.deleteEnded(ctx, ended)
}
