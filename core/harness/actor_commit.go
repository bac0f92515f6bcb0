package harness

import (
	"encoding/json"
	"errors"
	"fmt"
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
	if a.catchup != nil {
		a.keepLost(b)
		a.committed(b)
		a.release(out)
		return
	}
	err := a.store(a.host.ctx, a.host.limits.StoreTimeout, b.Batch)
	if err == nil {
		a.committed(b)
		a.release(out)
		return
	}
	var conflict *core.ConflictError
	switch {
	case errors.As(err, &conflict):
		a.unstored(before, batch, machine.OnConflict(before.state, batch, out, conflict), nil, err)
	case a.host.limits.StopOnStoreFailure:
		told := core.Errorf(core.CodeStoreFailed, "the journal could not be written: %w", err).
			WithHint("Nothing of this call took effect. Check the disk and the database file.")
		a.unstored(before, batch, machine.OnStop(before.state, batch, told), &b, err)
	default:
		a.degrade(out, b, err)
	}
}

// build numbers the events of a batch and collects what is to be written.
func (a *actor) build(out []machine.Effect) pendingBatch {
	b := pendingBatch{Batch: core.Batch{Owner: a.owner, Resource: a.id, Instance: a.host.store.Instance(), ExpectSeq: a.seq}}
	if n := appends(out); n > 0 {
		b.Events = make([]core.Event, 0, n)
	}
	seq, now := a.seq, time.Now() // read once: the clock is slow for each event
	for _, e := range out {
		switch e := e.(type) {
		case machine.Append:
			seq++
			b.Events = append(b.Events, a.event(e, seq, a.trackSpan(&b, e, seq), now))
		case machine.PutTurn:
			rec := core.TurnRecord{Turn: a.fillSpan(&b, e.Turn)}
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
		case machine.Keep:
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

// appends returns how many events the effects append.
func appends(out []machine.Effect) (n int) {
	for _, e := range out {
		if _, ok := e.(machine.Append); ok {
			n++
		}
	}
	return n
}

// writable reports whether the session is kept in the store: nothing is written
// of one that never became ready.
func (a *actor) writable() bool {
	return a.state.End != machine.EndGone && a.state.Link != machine.LinkNone && !(a.fresh && a.state.Link == machine.LinkOpening)
}

// sameSnapshot reports whether two rows show the same, without the time and the
// cursor, which move with every event. It runs for each commit, so it uses
// reflection only for pointers that differ.
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

// pendingBatch is a batch for the store, and what becomes true with its commit.
type pendingBatch struct {
	core.Batch
	seq   uint64
	spans []turnSpan // one for each turn of the batch: nearly always one
}

// span is where a turn is in the journal: its first and last event, and its last
// whole message.
type span struct{ first, last, text uint64 }

// turnSpan is the span of a turn with the batch.
type turnSpan struct {
	turn string
	span
}

func (b pendingBatch) empty() bool {
	return len(b.Events) == 0 && len(b.Turns) == 0 && len(b.Requests) == 0 && len(b.Keys) == 0 && b.Session == nil
}

// span returns the span of a turn with the batch, to be changed.
func (a *actor) span(b *pendingBatch, turn string) *span {
	for i := range b.spans {
		if b.spans[i].turn == turn {
			return &b.spans[i].span
		}
	}
	b.spans = append(b.spans, turnSpan{turn, a.spans[turn]})
	return &b.spans[len(b.spans)-1].span
}

// trackSpan extends the span of an event's turn, and returns the seq of its last
// whole message.
func (a *actor) trackSpan(b *pendingBatch, e machine.Append, seq uint64) uint64 {
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

// fillSpan sets the span of a turn's row. A long text stays in its message event
// only.
func (a *actor) fillSpan(b *pendingBatch, t core.Turn) core.Turn {
	s := a.span(b, t.ID)
	t.FirstSeq, t.LastSeq = s.first, s.last
	if len(t.Text) > machine.InlineText && s.text > 0 {
		t.Text, t.TextSeq = "", s.text
	}
	return t
}

// event makes the envelope of an event. Its data are redacted here unless they
// are a provider's payload, which was redacted on its way in.
func (a *actor) event(e machine.Append, seq, textSeq uint64, now time.Time) core.Event {
	data := e.Data
	if d, ok := data.(*machine.TerminalData); ok && len(d.Result.Text) > machine.InlineText && textSeq > 0 {
		c := *d
		c.Result.Text, c.Result.TextSeq = "", textSeq
		data = &c
	}
	body := core.EncodeData(data)
	if _, ok := data.(core.Payload); !ok {
		body = a.red().JSON(body)
	}
	if e.Late != "" {
		body = withLate(body, e.Late)
	}
	return core.Event{
		SchemaVersion: core.SchemaVersion, ID: core.EventIDAt(now), Resource: a.id, Seq: seq, TurnID: e.TurnID, RequestID: e.RequestID,
		Provider: a.state.Base.Config.Provider, Type: e.Type, At: a.state.UpdatedAt.UTC(), Data: body,
		Raw: e.Raw, // JSON of a bounded length: see stamp
	}
}

// withLate adds to an event's data the turn that it came too late for.
func withLate(data json.RawMessage, turn string) json.RawMessage {
	id := core.EncodeData(turn)
	if len(data) < 2 || data[0] != '{' {
		return json.RawMessage(fmt.Sprintf(`{"late_turn_id":%s,"value":%s}`, id, data))
	}
	if string(data) == "{}" {
		return json.RawMessage(fmt.Sprintf(`{"late_turn_id":%s}`, id))
	}
	return json.RawMessage(fmt.Sprintf(`{"late_turn_id":%s,%s`, id, data[1:]))
}

// committed records what the store has accepted.
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
	if b.Session != nil && a.catchup == nil {
		a.stored, a.fresh, a.replace = b.Session.Session, false, false
	}
	a.ring.Add(b.Events)
}
