package machine

import (
	"cmp"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Step returns the state after an input and what the host is to do. It is the only
// code that decides what a session does; it has no goroutine, clock, channel, I/O
// or randomness, so that a race is the order of its inputs and nothing else.
//
// A command at the wrong time gets a coded reply and leaves the State equal. A
// notice at the wrong time becomes a provider_event. Every token gets exactly one
// reply, now or later.
//
// Each method for an input has a table above it: what it does in which status.
// The whole table, one line for each input and state, is testdata/table.golden.
func Step(s State, in Input, now time.Time) (State, []Effect) {
	m := machine{s: s, now: now}
	m.take(in)
	return m.s, m.out
}

// StepAll steps inputs that came together. It returns what step returns for one
// after another, but copies a turn once for all of them: for a delta that is half
// of the cost.
func StepAll(s State, ins []Input, now time.Time) (State, []Effect) {
	m := machine{s: s, now: now, out: make([]Effect, 0, len(ins)+effectsAtFirst)}
	for _, in := range ins {
		m.take(in)
	}
	return m.s, m.out
}

// machine is a step in progress, or several: the state as it becomes, and the
// effects so far.
type machine struct {
	s   State
	now time.Time
	out []Effect
	// own are the copies of active turns that this machine has made, the caller's
	// and the provider's. Nobody else has them yet, so they are changed in place.
	own [2]*ActiveTurn
}

// take steps one input, and notes the time if it changed what is stored.
func (m *machine) take(in Input) {
	before := len(m.out)
	m.step(in)
	if changed(m.out[before:]) {
		m.s.UpdatedAt = m.now
	}
}

func (m *machine) step(in Input) {
	switch in := in.(type) {
	case Start:
		m.start(in)
	case Resume:
		m.refuse(in.Token, m.resume(in))
	case Opened:
		m.opened(in)
	case Prompt:
		m.refuse(in.Token, m.prompt(in))
	case Steer:
		m.refuse(in.Token, m.steer(in))
	case Respond:
		m.refuse(in.Token, m.respond(in))
	case Ask:
		m.refuse(in.Token, m.ask(in))
	case Interrupt:
		m.refuse(in.Token, m.interrupt(in))
	case Configure:
		m.refuse(in.Token, m.configure(in))
	case Close:
		m.close(in)
	case Shutdown:
		m.shutdown()
	case Recover:
		m.recover(in)
	case Notice:
		if in.Epoch == m.s.Epoch && m.s.Link == LinkUp && m.s.End == EndNone {
			m.notice(in)
		}
	case LinkLost:
		if in.Epoch == m.s.Epoch && m.s.Link == LinkUp && m.s.End == EndNone {
			m.linkLost(in.Err)
		}
	case HungUp:
		if in.Epoch == m.s.Epoch {
			m.hungUp()
		}
	case TimerDue:
		m.timer(in.Timer)
	case StoreFailed:
		m.storeFailed(in)
	case StoreRecovered:
		if m.s.Durability == core.DurabilityDegraded {
			m.s.Durability = core.Durable
			m.append(core.StoreRecovered, core.StoreRecoveredData(in))
		}
	default:
		panic("machine: unknown input")
	}
}

// changed reports whether a step with these effects changed what is stored of the
// session.
func changed(out []Effect) bool {
	return slices.ContainsFunc(out, func(e Effect) bool {
		switch e.(type) {
		case Append, PutTurn, PutRequest:
			return true
		}
		return false
	})
}

// notice steps a notice of the present epoch while the link is up. A notice of
// another epoch, or of an ended session, has no effect.
func (m *machine) notice(in Notice) {
	switch n := in.Notice.(type) {
	case core.OpDone:
		m.opDone(n)
	case core.TurnBegan:
		m.turnBegan(n, in.TurnID)
	case core.Content:
		m.content(n)
	case core.TurnEnded:
		m.turnEnded(n)
	case core.RequestRaised:
		m.requestRaised(n, in.RequestID)
	case core.RequestWithdrawn:
		m.requestWithdrawn(n)
	case core.SessionChanged:
		m.sessionChanged(n)
	default:
		panic("machine: unknown notice")
	}
}

// opDone steps the outcome of an op: of a turn's start, of an interrupt, of the
// answer to a request, or of a command of m.s.Ops. An op is matched by its id. The
// outcome of one that is not waited for becomes a provider_event.
func (m *machine) opDone(n core.OpDone) {
	for t := range m.s.Turns() {
		switch {
		case t.Op != 0 && t.Op == n.Op:
			m.startDone(n)
			return
		case t.IntOp != 0 && t.IntOp == n.Op:
			if n.Err != nil {
				m.append(core.TypeWarning, core.Warning{Message: "The provider refused the interrupt: " + n.Err.Message, Code: string(n.Err.Code)})
			}
			return
		}
		for _, q := range t.Requests {
			if q.Claim != nil && q.Claim.Op == n.Op {
				m.respondDone(t.Rec.ID, q, n)
				return
			}
		}
	}
	if i := slices.IndexFunc(m.s.Ops, func(p PendingOp) bool { return p.ID == n.Op }); i >= 0 {
		p := m.s.Ops[i]
		m.s.Ops = slices.Delete(slices.Clone(m.s.Ops), i, i+1)
		m.disarm(TimerID{Kind: TimerCommand, Op: p.ID})
		m.commandDone(p, n)
		return
	}
	m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "late_op_done"}, raw(n.Raw))
}

// sessionChanged steps a fact that the provider reported. It journals
// session_updated if the fact is new.
func (m *machine) sessionChanged(n core.SessionChanged) {
	d := dataUpdated{ProviderSessionID: n.ProviderSessionID, Changes: core.Changes{Model: n.Model, ReasoningEffort: n.ReasoningEffort}}
	a := set(&m.s.ProviderSessionID, n.ProviderSessionID)
	b := set(&m.s.Model, n.Model)
	c := set(&m.s.ReasoningEffort, n.ReasoningEffort)
	if a || b || c {
		m.append(core.SessionUpdate, d, raw(n.Raw))
	}
}

// Small steps that all parts use.

// set assigns v to dst, unless v is zero, and reports whether that changed dst.
func set[T comparable](dst *T, v T) bool {
	var zero T
	if v == zero || *dst == v {
		return false
	}
	*dst = v
	return true
}

// appendOpt is what an event has beside its data. An empty field adds nothing. It
// is a value, since a function would be allocated for each event.
type appendOpt struct {
	turn, request, late string
	raw                 []byte
}

func raw(b []byte) appendOpt             { return appendOpt{raw: b} }
func ofTurn(id string) appendOpt         { return appendOpt{turn: id} }
func ofRequest(r core.Request) appendOpt { return appendOpt{turn: r.TurnID, request: r.ID} }
func lateFor(turn string) appendOpt      { return appendOpt{late: turn} }

// effectsAtFirst is the first capacity of the list of effects. Most steps have
// fewer.
const effectsAtFirst = 8

func (m *machine) do(e Effect) {
	if m.out == nil {
		m.out = make([]Effect, 0, effectsAtFirst)
	}
	m.out = append(m.out, e)
}

func (m *machine) disarm(id TimerID) { m.do(Disarm{Timer: id}) }

func (m *machine) append(t core.EventType, data any, opts ...appendOpt) {
	a := Append{Type: t, Data: data}
	for _, o := range opts {
		a.TurnID, a.RequestID, a.Late = cmp.Or(o.turn, a.TurnID), cmp.Or(o.request, a.RequestID), cmp.Or(o.late, a.Late)
		if o.raw != nil {
			a.Raw = o.raw
		}
	}
	m.do(a)
}

// arm sets a timer, or moves it. A limit of zero or less is none.
func (m *machine) arm(id TimerID, d time.Duration) {
	if d > 0 {
		m.do(Arm{Timer: id, At: m.now.Add(d)})
	}
}

// reply answers a caller, if one waits.
func (m *machine) reply(t Token, v any) {
	if t != 0 {
		m.do(Reply{Token: t, Value: v})
	}
}

// refuse answers a caller with a coded error. It does nothing without one, or
// when nobody waits.
func (m *machine) refuse(t Token, err *core.Error) {
	if t != 0 && err != nil {
		m.do(Reply{Token: t, Err: err})
	}
}

// keep stores the idempotency key of a call that has had its effect.
func (m *machine) keep(k *core.KeyRecord, turn, request string) {
	if k == nil {
		return
	}
	c := *k
	c.Resource, c.TurnID, c.Request = m.s.Base.Config.SessionID, turn, request
	m.do(Keep{Key: c})
}

// newOp returns the id of the next op.
func (m *machine) newOp() core.OpID {
	id := m.s.NextOp
	m.s.NextOp++
	return id
}

func (m *machine) timeouts() core.Timeouts { return m.s.Base.Config.Timeouts }

// notUsable returns the reason why a session takes no work now, nil if it does.
//
//	opening                        session_unavailable, retryable
//	unavailable                    session_unavailable
//	closing, closed, failed,
//	killed                         session_closed
func (m *machine) notUsable() *core.Error {
	st := m.s.Status()
	id := m.s.Base.Config.SessionID
	switch st {
	case core.StatusOpening:
		return core.Errorf(core.CodeSessionUnavailable, "session %s is still opening", id).
			WithHint("Try again when inspect {id: %q} shows idle.", id).WithDetail("state", st).Retry()
	case core.StatusUnavailable:
		return core.Errorf(core.CodeSessionUnavailable, "session %s has lost its provider (%s)", id, m.s.Reason).
			WithHint("Continue it with start_session {resume: %q}.", id).WithDetail("state", st)
	case core.StatusClosing, core.StatusClosed, core.StatusFailed, core.StatusKilled:
		return core.Errorf(core.CodeSessionClosed, "session %s is %s", id, st).
			WithHint("Continue it with start_session {resume: %q}, or read it with replay or inspect.", id).WithDetail("state", st)
	}
	return nil
}

// can returns the refusal of what the provider cannot do, before it is sent.
func (m *machine) can(s core.Support, what string) *core.Error {
	if s.OK() {
		return nil
	}
	return core.Errorf(core.CodeCapability, "provider %s cannot %s", m.s.Base.Config.Provider, what).
		WithHint("list_providers {provider: %q} shows what it can do.", m.s.Base.Config.Provider)
}
