package harness

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// A session that is not live has no owner, though its row names the instance that had it
// last. Whoever opens it again reserves it first: by compare-and-set the row
// then names its instance with OpeningMark, until the first commit of the opened
// session or until the opening has failed. So two servers never open one
// conversation at a time, and the reservation of a server that dies is free.

// reserve takes a session that is not live for an opening. It returns its row as it is
// then, and a function that releases it when the opening has failed.
//
// Errors: CodeOtherInstance when another server was faster, CodeSessionInUse
// when it lives, CodeStoreFailed.
func (h *Harness) reserve(ctx context.Context, rec core.SessionRecord) (reserved core.SessionRecord, release func(), err error) {
	ctx, cancel := h.short(ctx)
	defer cancel()
	owner, id, me := rec.Session.Owner, rec.Session.ID, h.store.Instance()
	prior := core.InstanceOf(rec.Instance)
	if prior != rec.Instance && prior != me && h.store.Alive(prior) {
		return rec, nil, beingOpened(id)
	}
	won, err := h.store.Claim(ctx, owner, id, rec.Instance, me+core.OpeningMark)
	if err != nil {
		return rec, nil, core.StoreError(err)
	}
	if !won {
		return rec, nil, beingOpened(id)
	}
	release = func() { h.release(owner, id, prior) }
	if reserved, err = h.store.Session(ctx, owner, id); err != nil {
		release()
		return rec, nil, core.StoreError(err)
	}
	if reserved.Session.Status.Live() { // it was opened and its server named itself before the first read
		release()
		return rec, nil, machine.SessionInUse(id)
	}
	return reserved, release, nil
}

// opening reports whether the instance in a row is that of a server that opens the
// session at this moment. The mark of a dead server means nothing.
func (h *Harness) opening(instance string) bool {
	who := core.InstanceOf(instance)
	return who != instance && (who == h.store.Instance() || h.store.Alive(who))
}

// beingOpened returns the error of a session that another server opens at this
// moment: CodeOtherInstance, and the caller can retry.
func beingOpened(id string) *core.Error {
	return core.Errorf(core.CodeOtherInstance, "session %s is being opened by another server", id).
		WithHint("inspect {id: %q} shows it in a moment.", id).Retry()
}

// release ends the reservation of a session whose opening has failed. It is a
// compare-and-set too: a row that has another owner by now stays. It uses the
// context of the harness, since that of the opening may have ended.
func (h *Harness) release(owner, id, prior string) {
	ctx, cancel := h.short(h.ctx)
	defer cancel()
	if _, err := h.store.Claim(ctx, owner, id, h.store.Instance()+core.OpeningMark, prior); err != nil {
		h.log.Warn("releasing a session", "session", id, "err", err)
	}
}
