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

// Recover ends what dead servers left of sessions and processes: first what still
// runs, then, in the journal, what is open. Requests expire, turns end as
// interrupted and their session becomes unavailable; a process has failed. The
// server calls it at boot and the harness every lookEvery; a call that reads such a
// row recovers that row.
func (h *Harness) Recover(ctx context.Context) {
	h.endOrphans(ctx)
	live := true
	for _, kind := range []core.ResourceKind{core.KindSession, core.KindProcess} {
		err := h.eachPage(ctx, kind, core.ListQuery{Owner: core.AllOwners, Live: &live, Limit: recoverPage}, func(rows []storedRow) error {
			var group sync.WaitGroup
			for _, r := range rows {
				if h.orphaned(r) {
					group.Go(func() { // concurrently, so that the store joins their commits
						if err := h.recover(ctx, r); err != nil && core.CodeOf(err) != core.CodeOtherInstance {
							h.log.Warn("recovering what a dead server left", "id", r.id, "err", err)
						}
					})
				}
			}
			group.Wait()
			return nil
		})
		if err != nil && ctx.Err() == nil {
			h.log.Warn("looking for what dead servers left", "kind", kind, "err", err)
		}
	}
}

// orphaned reports whether a row is live and its server is gone, or is this one
// and does not have it: it took it over and was kept from finishing, or gave it
// up and its row came to the disk after that.
func (h *Harness) orphaned(r storedRow) bool {
	switch {
	case !r.live:
		return false
	case r.instance != h.store.Instance():
		return !h.store.Alive(r.instance)
	case r.kind == core.KindProcess:
		return !h.hostsProcess(r.owner, r.id)
	}
	// The row was read before this: one that has ended between the two is found
	// ended when it is read again.
	return h.liveActor(r.owner, r.id) == nil
}

// recovered recovers a row if it is orphaned, and reports whether it did.
func (h *Harness) recovered(ctx context.Context, r storedRow) bool {
	return h.orphaned(r) && h.recover(ctx, r) == nil
}

// recover ends what a dead server left of one resource, in one commit. Only the
// server that wins the row does it.
//
// Errors: CodeOtherInstance when another server or call recovers it,
// CodeStoreFailed.
func (h *Harness) recover(ctx context.Context, r storedRow) error {
	unlock, err := h.takeOver(ctx, r.owner, r.id, r.instance)
	if err != nil {
		return err
	}
	defer unlock()
	end := h.sessionEnd
	if r.kind == core.KindProcess {
		end = h.processEnd
	}
	b, err := end(ctx, r.owner, r.id)
	if err != nil {
		return core.StoreError(err)
	}
	if b == nil {
		h.forgetTakeover(r.owner, r.id)
		return nil
	}
	err = journal.CommitChecked(ctx, h.store, h.limits.StoreTimeout, *b)
	var conflict *core.ConflictError
	if errors.As(err, &conflict) {
		return core.Errorf(core.CodeOtherInstance, "another call has recovered %s", r.id).Retry()
	}
	if err == nil {
		h.forgetTakeover(r.owner, r.id)
	}
	return core.StoreError(err)
}

// sessionEnd returns the batch that ends what a dead server left of a session,
// nil when it has ended since.
func (h *Harness) sessionEnd(ctx context.Context, owner, id string) (*core.Batch, error) {
	rec, err := h.store.Session(ctx, owner, id)
	if err != nil || !rec.Session.Status.Live() {
		return nil, err
	}
	b, err := h.endBatch(ctx, rec, 0, machine.Recover{Reason: h.recoveryReason(owner, id, rec.Session.Durability)})
	return &b, err
}

// processEnd returns the batch that ends what a dead server left of a process,
// nil when it has ended since. Its guard, or the reaper, has ended the process
// itself. It ended with its server, at about its last event, and not when that
// was noticed.
func (h *Harness) processEnd(ctx context.Context, owner, id string) (*core.Batch, error) {
	rec, err := h.store.Process(ctx, owner, id)
	if err != nil || rec.Process.Status.Ended() {
		return nil, err
	}
	seq, err := h.store.LastSeq(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	last, err := h.store.Events(ctx, core.EventQuery{Owner: owner, Resource: id, Tail: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	p, now := rec.Process, time.Now().UTC()
	p.Status, p.Reason, p.FinishedAt, p.LastSeq = core.ProcessDoneFailed, h.recoveryReason(owner, id, p.Durability), now, seq+1
	if len(last) > 0 {
		p.FinishedAt = last[0].At.UTC()
	}
	return &core.Batch{Owner: owner, Resource: id, Instance: h.store.Instance(), ExpectSeq: seq,
		Process: &core.ProcessRecord{Process: p, Launch: rec.Launch},
		Events: []core.Event{{SchemaVersion: core.SchemaVersion, ID: core.NewEventID(), Resource: id, Seq: seq + 1, Type: core.ProcessFailed, At: now,
			Data: p.TerminalData()}}}, nil
}

// takeOver makes a dead server's row this server's, and ends what still runs of it.
// Only the server that wins the row goes on; if it fails or dies then, the row stays
// live and is recovered again. The caller reads the row again, since it may have
// ended; until unlock no other call of this server changes it.
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
		return nil, core.Errorf(core.CodeOtherInstance, "another server recovers %s", id).Retry()
	}
	if from != me {
		h.takenOver.Store(k, from)
		h.endOrphansOf(from)
	}
	return unlock, nil
}

// forgetTakeover drops what is noted of a row that was taken over, once it has
// ended.
func (h *Harness) forgetTakeover(owner, id string) {
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

// endOrphansOf ends what one dead server left running, once. What could not be
// ended is found again by the next Recover.
func (h *Harness) endOrphansOf(instance string) {
	h.reaping.Lock()
	defer h.reaping.Unlock()
	if h.reaped[instance] {
		return
	}
	h.endOrphans(h.ctx)
	if h.reaped == nil {
		h.reaped = map[string]bool{}
	}
	h.reaped[instance] = true
}

// orphans is what one server knows of those that died.
type orphans struct {
	reap      func(context.Context) error // ends what they left running; may be nil
	reaping   sync.Mutex                  // held while looking, which reap bounds
	reaped    map[string]bool             // instances whose processes have been looked for
	settling  locks                       // of what they left, while its end is written
	takenOver sync.Map                    // keys of rows that this server has claimed and not ended yet
}

// endBatch returns the batch that ends what is open of a stored session, by
// inputs that the machine steps. Its events have numbers above a seq that may
// have been used.
func (h *Harness) endBatch(ctx context.Context, rec core.SessionRecord, above uint64, inputs ...machine.Input) (core.Batch, error) {
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

// recoveryReason returns why what was left of a session or process ends. It is
// durability_lost when more is lost than what a server takes with it that dies: its
// row, or a note beside the data, shows that its journal was not being written; or
// this server does not have it and did not take it over, so that the row came to
// the disk after it was given up.
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

// reload reads a session with everything that is open on it: its state, where its
// turns are in the journal, and the last seq.
func (h *Harness) reload(ctx context.Context, rec core.SessionRecord) (st machine.State, spans map[string]span, seq uint64, err error) {
	s := rec.Session
	if seq, err = h.store.LastSeq(ctx, s.Owner, s.ID); err != nil {
		return st, nil, 0, core.StoreError(err)
	}
	turns, err := h.store.Turns(ctx, core.ListQuery{Owner: s.Owner, SessionID: s.ID, Limit: core.MaxQueue + 2, Status: openTurns()})
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
	if err := h.readRecovered(ctx, st, spans); err != nil {
		return st, nil, 0, core.StoreError(err)
	}
	return st, spans, seq, nil
}

// openTurns returns the statuses of turns that have not ended.
func openTurns() []string {
	return []string{string(core.TurnIsQueued), string(core.TurnIsStarting), string(core.TurnIsRunning), string(core.TurnIsAwaitingInput), string(core.TurnIsCancelling)}
}
