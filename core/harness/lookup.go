package harness

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// Get returns the resource with an id, as it is now: a session, turn, request or
// process of the owner. What a dead server left of it is recovered first.
//
// Errors: CodeNotFound, also for ids of other owners; CodeStoreFailed.
func (h *Harness) Get(ctx context.Context, owner, id string) (core.Resource, error) {
	switch {
	case strings.HasPrefix(id, core.PrefixTurn):
		return h.getTurn(ctx, owner, id)
	case strings.HasPrefix(id, core.PrefixRequest):
		return h.getRequest(ctx, owner, id)
	case strings.HasPrefix(id, core.PrefixProcess):
		return h.getProcess(ctx, owner, id)
	}
	res, err := h.getSession(ctx, owner, id)
	if core.CodeOf(err) == core.CodeNotFound && !strings.HasPrefix(id, core.PrefixSession) {
		if t, terr := h.getTurn(ctx, owner, id); terr == nil {
			return t, nil
		}
	}
	return res, err
}

// notFound is the refusal of an id that is not there, or is another owner's.
func notFound(what, id string) *core.Error {
	kind := what + "s"
	if what == "process" {
		kind = "processes"
	}
	return core.Errorf(core.CodeNotFound, "there is no %s %q", what, id).WithHint("list {kind: %q} shows those there are.", kind)
}

// readError returns the error of a call that could not read one resource.
func readError(what, id string, err error) error {
	if core.CodeOf(err) == core.CodeNotFound {
		return notFound(what, id)
	}
	return core.StoreError(err)
}

// getSession returns a session as it is now.
func (h *Harness) getSession(ctx context.Context, owner, id string) (core.Resource, error) {
	v, err := h.sessionView(ctx, owner, id)
	if err != nil {
		return core.Resource{}, err
	}
	return core.Resource{Kind: core.KindSession, ID: id, Session: &v}, nil
}

// sessionView returns a session, hosted here or stored.
func (h *Harness) sessionView(ctx context.Context, owner, id string) (core.SessionView, error) {
	if a := h.liveActor(owner, id); a != nil {
		return a.seen(), nil
	}
	ctx, cancel := h.short(ctx)
	defer cancel()
	rec, err := h.store.Session(ctx, owner, id)
	if err != nil {
		return core.SessionView{}, readError("session", id, err)
	}
	if h.recovered(ctx, sessionRow(rec)) {
		if again, err := h.store.Session(ctx, owner, id); err == nil {
			rec = again
		}
	}
	return h.storedView(ctx, rec)
}

// storedView returns a session that this instance does not host.
func (h *Harness) storedView(ctx context.Context, rec core.SessionRecord) (core.SessionView, error) {
	s := rec.Session
	v := core.SessionView{Session: s, Instance: core.InstanceOf(rec.Instance)}
	if p, ok := h.providers[s.Provider]; ok {
		if t, ok := p.Spec().Transport(s.Transport); ok {
			v.Capabilities = t.Capabilities
		}
	}
	if last, err := h.store.LastSeq(ctx, s.Owner, s.ID); err == nil {
		v.Session.LastSeq = max(last, s.LastSeq)
	}
	turn := func(id string) (*core.Turn, error) {
		if id == "" {
			return nil, nil
		}
		t, err := h.store.Turn(ctx, s.Owner, id)
		return &t.Turn, err
	}
	var err error
	if v.Current, err = turn(s.CurrentTurn); err != nil {
		return v, core.StoreError(err)
	}
	if v.Last, err = turn(s.LastTurn); err != nil {
		return v, core.StoreError(err)
	}
	for i, id := range s.Queue {
		t, err := turn(id)
		if err != nil {
			return v, core.StoreError(err)
		}
		t.QueuePosition = i + 1
		v.Queued = append(v.Queued, *t)
	}
	if s.Status.Live() {
		open, err := h.store.Requests(ctx, core.ListQuery{Owner: s.Owner, SessionID: s.ID,
			Status: []string{string(core.RequestPending), string(core.RequestClaimed)}, Limit: core.DefaultPage})
		if err != nil {
			return v, core.StoreError(err)
		}
		slices.Reverse(open) // oldest first
		v.Requests = open
	}
	return v, nil
}

// turnIn returns the turn with an id in a session as it is now, or nil.
func turnIn(v core.SessionView, id string) *core.Turn {
	if v.Current != nil && v.Current.ID == id {
		return v.Current
	}
	if v.Last != nil && v.Last.ID == id {
		return v.Last
	}
	for i := range v.Queued {
		if v.Queued[i].ID == id {
			return &v.Queued[i]
		}
	}
	return nil
}

// find returns a turn or an open request that the actor's session shows.
func (a *actor) find(id string) (core.Resource, bool) {
	v := a.seen()
	if t := turnIn(v, id); t != nil {
		return core.Resource{Kind: core.KindTurn, ID: id, Turn: t, Session: &v}, true
	}
	if i := slices.IndexFunc(v.Requests, func(r core.Request) bool { return r.ID == id }); i >= 0 {
		return core.Resource{Kind: core.KindRequest, ID: id, Request: &v.Requests[i], Session: &v}, true
	}
	return core.Resource{}, false
}

// getTurn returns a turn as it is now. It looks at hosted sessions, at turns that a
// failing store has missed, and then at the store. Between the reads of the turn and
// of its session the turn may move on: what the session shows is newer.
func (h *Harness) getTurn(ctx context.Context, owner, id string) (core.Resource, error) {
	if a := h.actorWith(owner, func(s *machine.State) bool { return s.HasTurn(id) }); a != nil {
		if r, ok := a.find(id); ok { // else it moved on just now
			return r, nil
		}
	}
	if t, ok := h.unstoredTurns.get(owner, id); ok {
		if a := h.liveActor(owner, t.SessionID); a != nil {
			v := a.seen()
			return core.Resource{Kind: core.KindTurn, ID: id, Turn: &t, Session: &v}, nil
		}
	}
	sctx, cancel := h.short(ctx)
	defer cancel()
	rec, err := h.store.Turn(sctx, owner, id)
	if err != nil {
		return core.Resource{}, readError("turn", id, err)
	}
	v, err := h.sessionView(ctx, owner, rec.Turn.SessionID)
	if err != nil {
		return core.Resource{}, err
	}
	t := rec.Turn
	if now := turnIn(v, id); now != nil {
		t = *now
	} else if !t.Status.Ended() { // it moved on between the two reads
		if rec, err = h.store.Turn(sctx, owner, id); err != nil {
			return core.Resource{}, core.StoreError(err)
		}
		t = rec.Turn
	}
	return core.Resource{Kind: core.KindTurn, ID: id, Turn: &t, Session: &v}, nil
}

// getRequest returns a request as it is now: from a hosted session while it is open,
// else from the store. Reading its session recovers what a dead server left, so that
// a request that was open is read again.
func (h *Harness) getRequest(ctx context.Context, owner, id string) (core.Resource, error) {
	if a := h.actorWith(owner, func(s *machine.State) bool { return s.HasRequest(id) }); a != nil {
		if r, ok := a.find(id); ok {
			return r, nil
		}
	}
	sctx, cancel := h.short(ctx)
	defer cancel()
	r, err := h.store.Request(sctx, owner, id)
	if err != nil {
		return core.Resource{}, readError("request", id, err)
	}
	v, err := h.sessionView(ctx, owner, r.SessionID)
	if err != nil {
		return core.Resource{}, err
	}
	if !r.Status.Ended() {
		if again, err := h.store.Request(sctx, owner, id); err == nil {
			r = again
		}
	}
	return core.Resource{Kind: core.KindRequest, ID: id, Request: &r, Session: &v}, nil
}

// getProcess returns a process as it is now. What a dead server left is recovered
// first.
func (h *Harness) getProcess(ctx context.Context, owner, id string) (core.Resource, error) {
	if p, ok := h.liveProcess(owner, id); ok {
		return core.Resource{Kind: core.KindProcess, ID: id, Process: &p}, nil
	}
	ctx, cancel := h.short(ctx)
	defer cancel()
	rec, err := h.store.Process(ctx, owner, id)
	if err != nil {
		return core.Resource{}, readError("process", id, err)
	}
	if h.recovered(ctx, processRow(rec)) {
		if again, err := h.store.Process(ctx, owner, id); err == nil {
			rec = again
		}
	}
	return core.Resource{Kind: core.KindProcess, ID: id, Process: &rec.Process}, nil
}

// liveProcess returns a process that this instance has. It may have ended a short
// time ago.
func (h *Harness) liveProcess(owner, id string) (core.ProcessSnapshot, bool) {
	if h.processes == nil {
		return core.ProcessSnapshot{}, false
	}
	return h.processes.Get(owner, id)
}

// sessionOf returns the id of a session, given that id or the id of one of its
// turns.
func (h *Harness) sessionOf(ctx context.Context, owner, id string) (string, error) {
	if h.liveActor(owner, id) != nil {
		return id, nil
	}
	res, err := h.Get(ctx, owner, id)
	if err != nil {
		if core.CodeOf(err) == core.CodeNotFound {
			err = notFound("session", id)
		}
		return "", err
	}
	switch res.Kind {
	case core.KindSession:
		return id, nil
	case core.KindTurn:
		return res.Turn.SessionID, nil
	}
	return "", core.Errorf(core.CodeInvalidArgument, "%s is a %s, not a session", id, res.Kind).
		WithHint("Use the session_id, or the turn_id of one of its turns.")
}

// TurnText returns a part of a turn's answer, at most max bytes from offset and cut
// on character borders, and the whole length in bytes.
func (h *Harness) TurnText(ctx context.Context, t core.Turn, offset, max int) (text string, total int, err error) {
	text = t.Text
	if t.TextSeq > 0 {
		if text, err = h.messageText(ctx, t); err != nil {
			return "", 0, err
		}
	}
	total = len(text)
	offset = min(offset, total)
	for offset > 0 && offset < total && text[offset]&0xC0 == 0x80 {
		offset--
	}
	return core.Truncate(text[offset:], max), total, nil
}

// messageText reads a long answer from the message event that has it.
func (h *Harness) messageText(ctx context.Context, t core.Turn) (string, error) {
	ctx, cancel := h.short(ctx)
	defer cancel()
	events, err := h.events(ctx, core.EventQuery{Owner: t.Owner, Resource: t.SessionID, After: t.TextSeq - 1, Until: t.TextSeq, Limit: 1})
	if err != nil {
		return "", core.StoreError(err)
	}
	var m core.Message
	if len(events) == 0 || json.Unmarshal(events[0].Data, &m) != nil {
		return "", core.Errorf(core.CodeReplayUnavailable, "the text of turn %s is gone from the journal", t.ID).
			WithHint("Old journals are swept; keep what you need.")
	}
	return m.Text, nil
}
