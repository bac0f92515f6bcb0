package harness

import (
	"context"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// housekeep is the goroutine of the harness that recovers what dead servers
// left, every lookEvery, and deletes what is kept too long, every sweepEvery. It
// ends with the harness.
func (h *Harness) housekeep() {
	look := time.NewTicker(lookEvery)
	sweep := time.NewTicker(sweepEvery)
	defer look.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-h.quit:
			return
		case <-look.C:
			h.Recover(h.ctx)
		case <-sweep.C:
			h.sweep()
		}
	}
}

// sweep deletes idempotency keys, answers and ended resources that are kept too
// long, and the oldest of those while all data takes too much room. Of the servers
// that share a store one is elected to do it.
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

// retain deletes what the retention no longer covers, and returns how much it was.
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

// overfull reports whether the store takes more room than it may.
func (h *Harness) overfull(ctx context.Context) (bool, error) {
	if h.limits.RetentionBytes <= 0 {
		return false, nil
	}
	size, err := h.store.Size(ctx)
	return size > h.limits.RetentionBytes, core.StoreError(err)
}

// deleteEnded deletes a session or process that has ended, and what still runs
// of a process. It reports false for a session that is in use again, or was used
// since r was read.
func (h *Harness) deleteEnded(ctx context.Context, r core.EndedResource) (bool, error) {
	switch {
	case r.Kind == core.KindProcess:
		if _, ok := h.liveProcess(r.Owner, r.ID); ok {
			if _, err := h.processes.Stop(ctx, r.Owner, r.ID, core.ProcessStop{Force: true}); err != nil {
				return false, err
			}
		}
		return true, core.StoreError(h.store.Delete(ctx, r.Owner, r.ID))
	case h.liveActor(r.Owner, r.ID) != nil, h.opening(r.Instance):
		return false, nil
	}
	ok, err := h.store.DeleteEnded(ctx, r.Owner, r.ID, r.Instance, r.LastSeq)
	return ok, core.StoreError(err)
}
