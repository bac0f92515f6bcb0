package harness

import (
	"context"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// sweep drops idempotency keys, answers and ended resources that are kept too
// long, and the oldest of those while all together take too much room. Of the
// servers that share a store one is elected to do it.
func (h *Harness) sweep() {
	if !h.store.Elected() {
		return
	}
	ctx, cancel := context.WithTimeout(h.ctx, sweepEvery)
	defer cancel()
	if err := h.store.SweepKeys(ctx, time.Now().Add(-keyLife)); err != nil {
		h.log.Warn("sweeping idempotency keys", "err", err)
	}
	if notes, ok := h.store.(core.LossNotes); ok {
		if err := notes.SweepLosses(time.Now().Add(-keyLife)); err != nil {
			h.log.Warn("sweeping notes of journals that were not written", "err", err)
		}
	}
	old, err := h.retain(ctx)
	if err != nil {
		h.log.Warn("sweeping what has ended", "err", err)
	}
	if old > 0 {
		h.log.Info("swept what has ended", "count", old)
	}
}

// retain deletes what the retention no longer covers, and counts it.
func (h *Harness) retain(ctx context.Context) (count int, err error) {
	before := time.Now().Add(-h.limits.Retention)
	kept := 0 // at the head of the list, in use
	for {
		page, err := h.store.Ended(ctx, kept+core.DefaultPage)
		if err != nil {
			return count, core.StoreError(err)
		}
		for _, r := range page[min(kept, len(page)):] {
			drop := r.At.Before(before)
			if !drop {
				if drop, err = h.overfull(ctx); err != nil || !drop {
					return count, err
				}
			}
			ok, err := h.deleteEnded(ctx, r)
			if err != nil {
				return count, err
			}
			if ok {
				count++
			} else {
				kept++
			}
		}
		if len(page) < kept+core.DefaultPage && len(page) <= kept {
			return count, nil
		}
	}
}

// overfull says whether the store takes more room than it may.
func (h *Harness) overfull(ctx context.Context) (bool, error) {
	if h.limits.RetentionBytes <= 0 {
		return false, nil
	}
	size, err := h.store.Size(ctx)
	return size > h.limits.RetentionBytes, core.StoreError(err)
}

// deleteEnded deletes what has ended, unless it has been used since. What it
// does not delete is in use.
func (h *Harness) deleteEnded(ctx context.Context, r core.EndedResource) (bool, error) {
	if r.Kind == core.KindProcess {
		rec, err := h.store.Process(ctx, r.Owner, r.ID)
		if core.CodeOf(err) == core.CodeNotFound {
			return true, nil
		}
		if err != nil {
			return false, core.StoreError(err)
		}
		ids, err := h.pruneProcess(ctx, core.Caller{Owner: r.Owner}, rec.Process, false)
		return len(ids) > 0, err
	}
	if h.liveActor(r.Owner, r.ID) != nil {
		return false, nil
	}
	ok, err := h.store.DeleteEnded(ctx, r.Owner, r.ID, r.Instance, r.LastSeq)
	return ok, core.StoreError(err)
}
