package harness

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/journal"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// What a dead server left is put to rest by whoever meets it: at boot, by the
// look every few seconds, or by a call that is about it. First what still runs
// of it is ended, then its journal says so.

// Recover reconciles every live session whose server is gone: its requests
// expire, its turns end as interrupted, and it becomes unavailable. A process
// of a dead server has failed. What still runs of them is ended first. The
// server calls it at boot; the harness does so again by itself.
func (h *Harness) Recover(ctx context.Context) {
	h.endOrphans(ctx)
	h.recoverSessions(ctx)
	h.recoverProcesses(ctx)
}

func (h *Harness) recoverSessions(ctx context.Context) {
	live := true
	before := ""
	for {
		recs, err := h.store.Sessions(ctx, core.ListQuery{Owner: core.AllOwners, Live: &live, Before: before, Limit: recoverPage})
		if err != nil {
			if ctx.Err() == nil {
				h.log.Warn("looking for sessions of dead servers", "err", err)
			}
			return
		}
		var group sync.WaitGroup
		for _, rec := range recs {
			before = core.Cursor(rec.Session.CreatedAt, rec.Session.ID)
			if !h.orphaned(rec) {
				continue
			}
			group.Go(func() { // side by side, so that their commits are joined
				if err := h.reconcile(ctx, rec); err != nil && core.CodeOf(err) != core.CodeOtherInstance {
					h.log.Warn("reconciling a session", "session", rec.Session.ID, "err", err)
				}
			})
		}
		group.Wait()
		if len(recs) < recoverPage {
			return
		}
	}
}

// reconcile ends what a dead server left of one session, in one commit by the
// machine.
func (h *Harness) reconcile(ctx context.Context, rec core.SessionRecord) error {
	s := rec.Session
	unlock, err := h.takeOver(ctx, s.Owner, s.ID, rec.Instance)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err = h.store.Session(ctx, s.Owner, s.ID)
	if err != nil {
		return core.StoreError(err)
	}
	if !rec.Session.Status.Live() {
		h.atRest(s.Owner, s.ID)
		return nil
	}
	b, err := h.settle(ctx, rec, 0, machine.Recover{Reason: h.recoveryReason(s.Owner, s.ID, rec.Session.Durability)})
	if err != nil {
		return err
	}
	return h.putToRest(ctx, b)
}

// takeOver makes a row ours that a dead server left, and ends what still runs
// of that. Only the server that wins the row goes on; one that fails or dies
// then leaves the row to whoever meets it next. The row is to be read again:
// until unlock nobody else moves it.
func (h *Harness) takeOver(ctx context.Context, owner, id, from string) (unlock func(), err error) {
	me, k := h.store.Instance(), key{owner, id}
	if unlock, err = h.settling.lock(ctx, k); err != nil {
		return nil, err
	}
	won, err := h.store.Claim(ctx, owner, id, from, me)
	if err != nil {
		unlock()
		return nil, core.StoreError(err)
	}
	if !won {
		unlock()
		return nil, core.Errorf(core.CodeOtherInstance, "another server reconciles %s", id).Retry()
	}
	if from != me {
		h.takenOver.Store(k, from)
		h.endOrphansOf(from)
	}
	return unlock, nil
}

// putToRest commits the end of what a dead server left.
func (h *Harness) putToRest(ctx context.Context, b core.Batch) error {
	err := journal.CommitChecked(ctx, h.store, h.limits.StoreTimeout, b)
	var conflict *core.ConflictError
	if errors.As(err, &conflict) {
		return core.Errorf(core.CodeOtherInstance, "another call has reconciled %s", b.Resource).Retry()
	}
	if err != nil {
		return core.StoreError(err)
	}
	h.atRest(b.Owner, b.Resource)
	return nil
}

func (h *Harness) atRest(owner, id string) {
	from, took := h.takenOver.LoadAndDelete(key{owner, id})
	if notes, ok := h.store.(core.LossNotes); ok && took {
		if err := notes.ForgetLoss(from.(string), owner, id); err != nil {
			h.log.Warn("forgetting that a journal was not written", "resource", id, "err", err)
		}
	}
}

// endOrphans ends what dead servers left running.
func (h *Harness) endOrphans(ctx context.Context) {
	if h.reap == nil {
		return
	}
	if err := h.reap(ctx); err != nil && ctx.Err() == nil {
		h.log.Warn("ending what dead servers left running", "err", err)
	}
}

// endOrphansOf ends what one dead server left running, once. The next look
// meets again what could not be ended.
func (h *Harness) endOrphansOf(instance string) {
	h.reaped.mu.Lock()
	defer h.reaped.mu.Unlock()
	if h.reaped.of[instance] {
		return
	}
	h.endOrphans(h.ctx)
	if h.reaped.of == nil {
		h.reaped.of = map[string]bool{}
	}
	h.reaped.of[instance] = true
}

// reaped are the dead instances whose processes have been looked for.
type reaped struct {
	mu sync.Mutex // held while looking, which the reaper bounds
	of map[string]bool
}

// settle gives the batch that ends by some inputs what is open of a stored
// session, with numbers above one that may have been used.
func (h *Harness) settle(ctx context.Context, rec core.SessionRecord, above uint64, inputs ...machine.Input) (core.Batch, error) {
	st, spans, last, err := h.reload(ctx, rec)
	if err != nil {
		return core.Batch{}, err
	}
	var out []machine.Effect
	for _, in := range inputs {
		var more []machine.Effect
		st, more = machine.Step(st, in, time.Now().UTC())
		out = append(out, more...)
	}
	a := newActor(h, h.providers[rec.Session.Provider], st, max(last, above))
	a.stored, a.spans = rec.Session, spans
	b := a.build(out).Batch
	b.ExpectSeq = last
	return b, nil
}

// recoveryReason says why what was left of a session or process ends. Its row,
// or a note beside the data, may say that its journal was not being written;
// and one that this server did not take over, but does not have, came to the
// disk after it was given up. In all of them more is lost than what a server
// takes with it that dies.
func (h *Harness) recoveryReason(owner, id string, d core.Durability) core.Reason {
	from, took := h.takenOver.Load(key{owner, id})
	if !took || d == core.DurabilityDegraded {
		return core.ReasonDurabilityLost
	}
	if notes, ok := h.store.(core.LossNotes); ok && notes.LossNoted(from.(string), owner, id) {
		return core.ReasonDurabilityLost
	}
	return core.ReasonServerRestarted
}

// reload reads a session with everything open on it.
func (h *Harness) reload(ctx context.Context, rec core.SessionRecord) (st machine.State, spans map[string]span, seq uint64, err error) {
	s := rec.Session
	if seq, err = h.store.LastSeq(ctx, s.Owner, s.ID); err != nil {
		return st, nil, 0, core.StoreError(err)
	}
	turns, err := h.store.Turns(ctx, core.ListQuery{Owner: s.Owner, SessionID: s.ID, Limit: machine.MaxQueue + 2, Status: openTurns()})
	if err != nil {
		return st, nil, 0, core.StoreError(err)
	}
	requests, err := h.store.Requests(ctx, core.ListQuery{Owner: s.Owner, SessionID: s.ID, Limit: core.MaxPage,
		Status: []string{string(core.RequestPending), string(core.RequestClaimed)}})
	if err != nil {
		return st, nil, 0, core.StoreError(err)
	}
	var last *core.Turn
	if s.LastTurn != "" {
		if t, err := h.store.Turn(ctx, s.Owner, s.LastTurn); err == nil {
			last = &t.Turn
		}
	}
	spans = map[string]span{}
	for _, t := range turns {
		spans[t.Turn.ID] = span{first: t.Turn.FirstSeq, last: t.Turn.LastSeq, text: t.Turn.TextSeq}
	}
	st = machine.Restore(rec, core.Capabilities{}, turns, requests, last)
	if err := h.readLastWords(ctx, st, spans); err != nil {
		return st, nil, 0, core.StoreError(err)
	}
	return st, spans, seq, nil
}

func openTurns() []string {
	return []string{string(core.TurnIsQueued), string(core.TurnIsStarting), string(core.TurnIsRunning), string(core.TurnIsAwaitingInput), string(core.TurnIsCancelling)}
}
