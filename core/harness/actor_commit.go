package harness

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// commit makes the effects of a batch durable and then releases them. The
// whole batch is one Store.Commit.
func (a *actor) commit(before mark, batch []machine.Input, out []machine.Effect) {
	b := a.build(out)
	if b.empty() || a.taken {
		a.committed(b)
		a.release(out)
		return
	}
	if a.lost != nil {
		a.keepLost(b)
		a.committed(b)
		a.release(out)
		return
	}
	err := a.store(b.Batch, a.host.limits.StoreTimeout)
	if err == nil {
		a.committed(b)
		a.release(out)
		return
	}
	var conflict *core.ConflictError
	switch {
	case errors.As(err, &conflict):
		a.clash(before, batch, out, conflict)
	case a.host.limits.StopOnStoreFailure:
		a.stopOnFailure(before, batch, b, err)
	default:
		a.degrade(out, b, err)
	}
}

// build numbers the events and gathers what is to be written.
func (a *actor) build(out []machine.Effect) pendingBatch {
	b := pendingBatch{Batch: core.Batch{Owner: a.owner, Resource: a.id, Instance: a.host.store.Instance(), ExpectSeq: a.seq}}
	if n := appends(out); n > 0 {
		b.Events = make([]core.Event, 0, n)
	}
	seq, now := a.seq, time.Now() // what a look at the clock costs is a lot for each event
	for _, e := range out {
		switch e := e.(type) {
		case machine.Append:
			seq++
			b.Events = append(b.Events, a.event(e, seq, a.place(&b, e, seq), now))
		case machine.PutTurn:
			rec := core.TurnRecord{Turn: a.locate(&b, e.Turn)}
			if i := slices.IndexFunc(b.Turns, func(o core.TurnRecord) bool { return o.Turn.ID == rec.Turn.ID }); i >= 0 {
				b.Turns[i] = rec
				continue
			}
			b.Turns = append(b.Turns, rec)
		case machine.PutRequest:
			if r := e.Request.Resolution; r != nil {
				said := *r
				said.Reason = a.red().String(r.Reason)
				e.Request.Resolution = &said
			}
			if i := slices.IndexFunc(b.Requests, func(o core.Request) bool { return o.ID == e.Request.ID }); i >= 0 {
				b.Requests[i] = e.Request
				continue
			}
			b.Requests = append(b.Requests, e.Request)
		case machine.KeepKey:
			b.Keys = append(b.Keys, e.Key)
		}
	}
	b.seq = seq
	shown := a.state
	if o := a.state.Opening; o != nil && o.Prior != nil {
		shown = *o.Prior // until it is ready a resume has changed nothing
	}
	snap := shown.Snapshot()
	snap.LastSeq = seq
	if a.writable() && (len(b.Events) > 0 || len(b.Turns) > 0 || len(b.Keys) > 0) && (a.fresh || !sameSnapshot(&snap, &a.stored)) {
		b.Session = &core.SessionRecord{Session: snap, Launch: a.state.Base.Config}
		b.Create, b.Replace = a.fresh, a.fresh && a.replace
	}
	return b
}

// appends counts the events among effects.
func appends(out []machine.Effect) (n int) {
	for _, e := range out {
		if _, ok := e.(machine.Append); ok {
			n++
		}
	}
	return n
}

// writable says that the session has, or has had, a place in the store:
// nothing is written of one that never became ready.
func (a *actor) writable() bool {
	return a.state.End != machine.EndGone && a.state.Link != machine.LinkNone && !(a.fresh && a.state.Link == machine.LinkOpening)
}

// sameSnapshot compares what a row shows, without the clock and the cursor,
// which move with every event. It is asked for each commit, and so goes without
// reflection where nothing but a pointer would say the same.
func sameSnapshot(x, y *core.Session) bool {
	return x.ID == y.ID && x.Owner == y.Owner && x.Title == y.Title && x.Provider == y.Provider && x.Transport == y.Transport &&
		x.Status == y.Status && x.Reason == y.Reason && x.CWD == y.CWD && x.Model == y.Model &&
		x.ReasoningEffort == y.ReasoningEffort && x.ProviderSessionID == y.ProviderSessionID &&
		x.ApprovalMode == y.ApprovalMode && x.SandboxMode == y.SandboxMode && x.AnswerBy == y.AnswerBy &&
		x.Durability == y.Durability && x.CurrentTurn == y.CurrentTurn && x.LastTurn == y.LastTurn &&
		slices.Equal(x.Queue, y.Queue) && slices.Equal(x.Warnings, y.Warnings) &&
		sameValue(x.Usage, y.Usage) && sameValue(x.CostUSD, y.CostUSD) && sameValue(x.Error, y.Error) &&
		x.Epoch == y.Epoch && x.TurnsBegun == y.TurnsBegun && x.Fingerprint == y.Fingerprint &&
		x.CreatedAt == y.CreatedAt && maps.Equal(x.Metadata, y.Metadata)
}

func sameValue[T any](x, y *T) bool { return x == y || reflect.DeepEqual(x, y) }

// pendingBatch is a batch on its way to the store, and what becomes true with
// it.
type pendingBatch struct {
	core.Batch
	seq   uint64
	spans []turnSpan // one for each turn of the batch: nearly always one
}

// turnSpan is where a turn stands with the batch.
type turnSpan struct {
	turn string
	span
}

func (b pendingBatch) empty() bool {
	return len(b.Events) == 0 && len(b.Turns) == 0 && len(b.Requests) == 0 && len(b.Keys) == 0 && b.Session == nil
}

// span gives where a turn stands, with the batch or before it.
func (a *actor) span(b *pendingBatch, turn string) *span {
	for i := range b.spans {
		if b.spans[i].turn == turn {
			return &b.spans[i].span
		}
	}
	b.spans = append(b.spans, turnSpan{turn, a.spans[turn]})
	return &b.spans[len(b.spans)-1].span
}

// place notes where a turn stands in the journal, and gives the seq of its
// last whole message.
func (a *actor) place(b *pendingBatch, e machine.Append, seq uint64) uint64 {
	if e.TurnID == "" {
		return 0
	}
	s := a.span(b, e.TurnID)
	if s.first == 0 {
		s.first = seq
	}
	s.last = seq
	if e.Type == core.TypeMessage {
		s.text = seq
	}
	return s.text
}

// locate fills in where a turn stands, and leaves a long text to its message
// event.
func (a *actor) locate(b *pendingBatch, t core.Turn) core.Turn {
	s := a.span(b, t.ID)
	t.FirstSeq, t.LastSeq = s.first, s.last
	if len(t.Text) > machine.InlineText && s.text > 0 {
		t.Text, t.TextSeq = "", s.text
	}
	return t
}

// event makes the envelope, with an id of now.
func (a *actor) event(e machine.Append, seq, textSeq uint64, now time.Time) core.Event {
	data := e.Data
	if d, ok := data.(*machine.TerminalData); ok && len(d.Result.Text) > machine.InlineText && textSeq > 0 {
		c := *d
		c.Result.Text, c.Result.TextSeq = "", textSeq
		data = &c
	}
	body := core.EncodeData(data)
	if _, ok := data.(core.Payload); !ok { // what agents report has been redacted on its way in
		body = a.red().JSON(body)
	}
	if e.Late != "" {
		body = withLate(body, e.Late)
	}
	return core.Event{
		SchemaVersion: core.SchemaVersion, ID: core.EventIDAt(now), Resource: a.id, Seq: seq, TurnID: e.TurnID, RequestID: e.RequestID,
		Provider: a.state.Base.Config.Provider, Type: e.Type, At: a.state.UpdatedAt.UTC(), Data: body,
		Raw: e.Raw, // which stamp has made JSON of a bounded length
	}
}

// committed takes over what the store has accepted.
func (a *actor) committed(b pendingBatch) {
	a.seq = b.seq
	for _, s := range b.spans {
		a.spans[s.turn] = s.span
	}
	for _, t := range b.Turns {
		if !t.Turn.Status.Ended() {
			continue
		}
		delete(a.spans, t.Turn.ID)
		if last := a.state.Last; last != nil && last.ID == t.Turn.ID {
			rec := t.Turn
			a.state.Last = &rec
		}
	}
	if b.Session != nil && a.lost == nil {
		a.stored, a.fresh, a.replace = b.Session.Session, false, false
	}
	a.ring.Add(b.Events)
}

// clash is something that another writer was faster with: an id or a key, when
// the command that brought it is refused and the rest of the batch is stepped
// again, or the session itself.
func (a *actor) clash(before mark, batch []machine.Input, out []machine.Effect, c *core.ConflictError) {
	kept := batch[:0:0]
	refused := false
	for _, in := range batch {
		if err := a.clashOf(in, before.state, c); err != nil {
			refused = true
			if opened, ok := in.(machine.Opened); ok {
				a.goBack(before)
				a.failOpening(opened, err)
			} else {
				a.answer(machine.Reply{Token: tokenOf(in), Err: err})
			}
			continue
		}
		kept = append(kept, in)
	}
	switch {
	case refused:
		a.goBack(before)
		// Timers that were due fire again by themselves.
		a.again = append(kept, a.again...)
	case c.Kind == "key": // of a call whose effect is beyond recall: another's answer stays under the key
		rest := slices.DeleteFunc(slices.Clone(out), func(e machine.Effect) bool {
			k, ok := e.(machine.KeepKey)
			return ok && k.Key.Key == c.ID
		})
		if len(rest) == len(out) {
			a.lose(before, batch, c)
			return
		}
		a.commit(before, batch, rest)
	default:
		a.lose(before, batch, c)
	}
}

// clashOf gives the refusal of the input that brought what clashes, nil for
// another input.
func (a *actor) clashOf(in machine.Input, before machine.State, c *core.ConflictError) *core.Error {
	switch in := in.(type) {
	case machine.Prompt:
		if c.Kind == "turn_id" && in.TurnID == c.ID {
			return turnUsed(c.ID)
		}
		if c.Kind == "key" && in.Key != nil && in.Key.Key == c.ID {
			return core.KeyTaken(c.ID)
		}
	case machine.Opened:
		o := before.Opening
		switch {
		case o == nil || in.Err != nil || in.Epoch != before.Epoch:
		case c.Kind == "session_id":
			return sessionInUse(a.id)
		case c.Kind == "seq": // a resume, and the session is not what it was
			return core.Errorf(core.CodeSessionInUse, "session %s was changed by another server while it opened", a.id).
				WithHint("inspect {id: %q} shows it.", a.id).Retry()
		case c.Kind == "key" && o.Key != nil && o.Key.Key == c.ID:
			return core.KeyTaken(c.ID)
		}
	}
	return nil
}

// lose ends a session whose row another server writes or has deleted: nothing
// may be written of it any more, and its agent must not go on beside another.
func (a *actor) lose(before mark, batch []machine.Input, c *core.ConflictError) {
	a.log().Error("another server has taken the session; it ends here", "err", c)
	err := core.Errorf(core.CodeOtherInstance, "session %s was taken by another server", a.id).WithHint("inspect {id: %q} shows it.", a.id)
	a.goBack(before)
	a.taken = true
	a.endUnstored(batch, err, nil)
}

// failOpening ends an opening that succeeded but cannot be stored.
func (a *actor) failOpening(in machine.Opened, err *core.Error) {
	if o := a.state.Opening; o != nil && o.Token != 0 {
		// The starter is told by the close, when nothing shows the session.
		a.instead[o.Token] = err
	}
	a.again = append(a.again, machine.Close{Force: true}, in)
}

// stopOnFailure fails the session: no op of the batch is sent, and its callers
// are told.
func (a *actor) stopOnFailure(before mark, batch []machine.Input, failed pendingBatch, err error) {
	a.log().Log(a.host.ctx, a.host.outage.Began(), "the journal could not be written; sessions that write to it are stopped", "err", err)
	told := core.Errorf(core.CodeStoreFailed, "the journal could not be written: %w", err).
		WithHint("Nothing of this call took effect. Check the disk and the database file.")
	a.goBack(before)
	a.endUnstored(batch, told, &failed)
}

// endUnstored ends the session after a batch that was not stored and has not
// happened. What happened outside all the same is stepped again.
func (a *actor) endUnstored(batch []machine.Input, told *core.Error, failed *pendingBatch) {
	before := a.state
	var refused []machine.Token // told last, when the session shows what became of it
	for _, in := range batch {
		switch in := in.(type) {
		case machine.Opened:
			if in.Err == nil && before.Link == machine.LinkOpening && before.Closing == nil {
				a.failOpening(in, told)
				continue
			}
			a.again = append(a.again, in)
		case machine.HungUp, machine.ConnLost:
			a.again = append(a.again, in)
		default:
			refused = append(refused, tokenOf(in))
		}
	}
	defer func() {
		for _, t := range refused {
			a.answer(machine.Reply{Token: t, Err: told})
		}
	}()
	if before.Link == machine.LinkOpening && len(a.again) > 0 {
		return
	}
	if failed != nil {
		a.newLost(*failed)
	}
	out := a.step(machine.StoreFailed{Message: "the journal could not be written", Stop: true})
	b := a.build(out)
	if failed != nil {
		a.keepLost(b)
	}
	a.committed(b)
	a.release(out)
}

func tokenOf(in machine.Input) machine.Token {
	switch in := in.(type) {
	case machine.Start:
		return in.Token
	case machine.Resume:
		return in.Token
	case machine.Prompt:
		return in.Token
	case machine.Steer:
		return in.Token
	case machine.Respond:
		return in.Token
	case machine.AskUser:
		return in.Token
	case machine.Interrupt:
		return in.Token
	case machine.Configure:
		return in.Token
	case machine.Close:
		return in.Token
	}
	return 0
}
