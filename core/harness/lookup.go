package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// Get gives what an id stands for, as it is now: a session, turn, request or
// process of the owner. Whatever a dead server left live is put to rest first.
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

func notFound(what, id string) *core.Error {
	kind := what + "s"
	if what == "process" {
		kind = "processes"
	}
	return core.Errorf(core.CodeNotFound, "there is no %s %q", what, id).WithHint("list {kind: %q} shows those there are.", kind)
}

func (h *Harness) getSession(ctx context.Context, owner, id string) (core.Resource, error) {
	v, err := h.sessionView(ctx, owner, id)
	if err != nil {
		return core.Resource{}, err
	}
	return core.Resource{Kind: core.KindSession, ID: id, Session: &v}, nil
}

// sessionView gives a session, hosted here or stored.
func (h *Harness) sessionView(ctx context.Context, owner, id string) (core.SessionView, error) {
	if a := h.liveActor(owner, id); a != nil {
		return a.seen(), nil
	}
	ctx, cancel := h.short(ctx)
	defer cancel()
	rec, err := h.store.Session(ctx, owner, id)
	if err != nil {
		if core.CodeOf(err) == core.CodeNotFound {
			return core.SessionView{}, notFound("session", id)
		}
		return core.SessionView{}, core.StoreError(err)
	}
	if h.orphaned(rec) {
		if err := h.reconcile(ctx, rec); err == nil {
			if again, err := h.store.Session(ctx, owner, id); err == nil {
				rec = again
			}
		}
	}
	return h.storedView(ctx, rec)
}

// orphaned says that the server of a live session is gone, or that this one
// took it over and was kept from finishing.
func (h *Harness) orphaned(rec core.SessionRecord) bool {
	switch {
	case !rec.Session.Status.Live():
		return false
	case rec.Instance == h.store.Instance():
		// The row was read before this look: an actor that has ended between
		// the two has left a row that reconcile finds at rest.
		return h.liveActor(rec.Session.Owner, rec.Session.ID) == nil
	}
	return !h.store.Alive(rec.Instance)
}

// storedView builds the view of a session that this instance does not host.
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

// turnIn finds a turn in a session as it is now.
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

// actorWith finds a hosted session by its state. It makes no view of the others:
// there may be a thousand, and every wait asks at every wake.
func (h *Harness) actorWith(owner string, is func(*machine.State) bool) *actor {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, a := range h.actors {
		if (k.owner == owner || owner == core.AllOwners) && is(&a.view.Load().state) {
			return a
		}
	}
	return nil
}

// find gives a turn or an open request that the actor's session shows.
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

func (h *Harness) getTurn(ctx context.Context, owner, id string) (core.Resource, error) {
	if a := h.turnHost(owner, id); a != nil {
		if r, ok := a.find(id); ok { // else it moved on just now
			return r, nil
		}
	}
	if t, ok := h.missedTurns.get(owner, id); ok {
		if a := h.liveActor(owner, t.SessionID); a != nil {
			v := a.seen()
			return core.Resource{Kind: core.KindTurn, ID: id, Turn: &t, Session: &v}, nil
		}
	}
	sctx, cancel := h.short(ctx)
	defer cancel()
	rec, err := h.store.Turn(sctx, owner, id)
	if err != nil {
		if core.CodeOf(err) == core.CodeNotFound {
			return core.Resource{}, notFound("turn", id)
		}
		return core.Resource{}, core.StoreError(err)
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
		if core.CodeOf(err) == core.CodeNotFound {
			return core.Resource{}, notFound("request", id)
		}
		return core.Resource{}, core.StoreError(err)
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

// sessionOf gives the id of the session that an id stands for where a session
// is wanted: its own, or that of a turn.
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

// TurnText gives a part of a turn's answer: at most max bytes from offset, cut
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

// List gives a page of resources, newest first.
//
// Errors: CodeInvalidArgument for an unknown kind or page, CodeStoreFailed.
func (h *Harness) List(ctx context.Context, owner string, r core.ListRequest) (core.ListResult, error) {
	limit := r.Limit
	if limit <= 0 {
		limit = 50
	}
	limit = min(limit, maxListPage)
	q := core.ListQuery{Owner: owner, SessionID: r.SessionID, Provider: r.Provider, Status: r.Status, Live: r.Live, Before: r.Page, Limit: limit + 1}
	ctx, cancel := h.short(ctx)
	defer cancel()
	var out core.ListResult
	var err error
	var cursors []string
	switch r.Kind {
	case core.KindSession:
		out.Items, cursors, err = h.listSessions(ctx, q)
	case core.KindTurn:
		out.Items, cursors, err = h.listTurns(ctx, q)
	case core.KindRequest:
		out.Items, cursors, err = h.listRequests(ctx, q)
	case core.KindProcess:
		out.Items, cursors, err = h.listProcesses(ctx, q)
	default:
		return out, core.Errorf(core.CodeInvalidArgument, "there is no kind %q", r.Kind).WithHint("Kinds: sessions, turns, requests, processes.")
	}
	if err != nil {
		return out, core.StoreError(err)
	}
	if len(out.Items) > limit {
		out.Items, out.NextPage = out.Items[:limit], cursors[limit-1]
	}
	return out, nil
}

func (h *Harness) listSessions(ctx context.Context, q core.ListQuery) ([]core.Resource, []string, error) {
	recs, err := settled(func() ([]core.SessionRecord, error) { return h.store.Sessions(ctx, q) },
		func(rec core.SessionRecord) bool { return h.orphaned(rec) && h.reconcile(ctx, rec) == nil })
	if err != nil {
		return nil, nil, err
	}
	var items []core.Resource
	var cursors []string
	have := map[string]bool{}
	for _, rec := range recs {
		v := core.SessionView{Session: rec.Session, Instance: core.InstanceOf(rec.Instance)}
		if a := h.liveActor(rec.Session.Owner, rec.Session.ID); a != nil {
			v = a.seen()
		}
		have[rec.Session.ID] = true
		items = append(items, core.Resource{Kind: core.KindSession, ID: rec.Session.ID, Session: &v})
		cursors = append(cursors, core.Cursor(rec.Session.CreatedAt, rec.Session.ID))
	}
	if q.Before != "" {
		return items, cursors, nil
	}
	extra := h.unstored(q, have)
	pad := make([]string, len(extra))
	return append(extra, items...), append(pad, cursors...), nil
}

// settled lists rows after it has put to rest what dead servers left live in
// them: the list is then made again, since its filters may not want them now.
func settled[T any](list func() ([]T, error), rest func(T) bool) ([]T, error) {
	recs, err := list()
	changed := false
	for _, rec := range recs {
		changed = rest(rec) || changed
	}
	if err == nil && changed {
		return list()
	}
	return recs, err
}

// unstored gives the hosted sessions that the store does not know yet: those
// that open, and those that the store failed to take.
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

func (h *Harness) listTurns(ctx context.Context, q core.ListQuery) ([]core.Resource, []string, error) {
	recs, err := h.store.Turns(ctx, q)
	var items []core.Resource
	var cursors []string
	for _, rec := range recs {
		t := rec.Turn
		if a := h.liveActor(t.Owner, t.SessionID); a != nil && !t.Status.Ended() {
			if now := turnIn(a.seen(), t.ID); now != nil {
				t = *now
			}
		}
		items = append(items, core.Resource{Kind: core.KindTurn, ID: t.ID, Turn: &t})
		cursors = append(cursors, core.Cursor(rec.Turn.AcceptedAt, t.ID))
	}
	return items, cursors, err
}

func (h *Harness) listRequests(ctx context.Context, q core.ListQuery) ([]core.Resource, []string, error) {
	recs, err := h.store.Requests(ctx, q)
	var items []core.Resource
	var cursors []string
	for _, r := range recs {
		items = append(items, core.Resource{Kind: core.KindRequest, ID: r.ID, Request: &r})
		cursors = append(cursors, core.Cursor(r.CreatedAt, r.ID))
	}
	return items, cursors, err
}

// messageText reads a long answer from the message event that holds it.
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
