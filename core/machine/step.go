package machine

import (
	"cmp"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Step is the only code that decides anything: what a session does on an input
// is here and in the other step files, and nowhere else. It has no goroutine,
// clock, channel or I/O, and no randomness; the order of inputs is the only
// thing that a race can be.
//
// A command at the wrong time gets a coded reply and leaves the State equal. A
// notice at the wrong time becomes a provider_event. Every token gets exactly
// one reply.
func Step(s State, in Input, now time.Time) (State, []Effect) {
	m := machine{s: s, now: now}
	m.take(in)
	return m.s, m.out
}

// StepAll steps inputs that came together: the same as step for one after
// another, but what they change is copied once and not by each. That is half
// of what a delta costs here.
func StepAll(s State, ins []Input, now time.Time) (State, []Effect) {
	m := machine{s: s, now: now, out: make([]Effect, 0, len(ins)+effectsAtFirst)}
	for _, in := range ins {
		m.take(in)
	}
	return m.s, m.out
}

// machine is one step under way, or some: the state as it becomes, and the
// effects.
type machine struct {
	s   State
	now time.Time
	out []Effect
	// own are copies of active turns that this machine has made, ours and the
	// provider's: nobody else has them yet, so they are changed in place.
	own [2]*ActiveTurn
}

// take is one step.
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
		m.refuse(in.Token, m.send(in))
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

// changed says whether a step with these effects changed what is stored of the
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

// notice sorts a provider's report to the part that knows it.
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

// opDone gives an op's outcome to whoever sent it.
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

// sessionChanged takes a fact that the provider reported.
func (m *machine) sessionChanged(n core.SessionChanged) {
	set := func(dst *string, v string) bool {
		if v == "" || *dst == v {
			return false
		}
		*dst = v
		return true
	}
	d := dataUpdated{ProviderSessionID: n.ProviderSessionID, Changes: core.Changes{Model: n.Model, ReasoningEffort: n.ReasoningEffort}}
	a := set(&m.s.ProviderSessionID, n.ProviderSessionID)
	b := set(&m.s.Model, n.Model)
	c := set(&m.s.ReasoningEffort, n.ReasoningEffort)
	if a || b || c {
		m.append(core.SessionUpdate, d, raw(n.Raw))
	}
}

// Small steps that all parts use.

// appendOpt is what an event has beside its data; what is empty adds nothing.
// It is a value, since a function would be garbage of every event.
type appendOpt struct {
	turn, request, late string
	raw                 []byte
}

func raw(b []byte) appendOpt             { return appendOpt{raw: b} }
func ofTurn(id string) appendOpt         { return appendOpt{turn: id} }
func ofRequest(r core.Request) appendOpt { return appendOpt{turn: r.TurnID, request: r.ID} }
func lateFor(turn string) appendOpt      { return appendOpt{late: turn} }

// effectsAtFirst is room for what most steps ask for, so that the list grows
// only in rare ones.
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

// arm sets a timer unless its bound is none.
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

// keep stores the key of a call that has had its effect.
func (m *machine) keep(k *core.KeyRecord, turn, request string) {
	if k == nil {
		return
	}
	c := *k
	c.Resource, c.TurnID, c.Request = m.s.Base.Config.SessionID, turn, request
	m.do(Keep{Key: c})
}

// newOp numbers an op.
func (m *machine) newOp() core.OpID {
	id := m.s.NextOp
	m.s.NextOp++
	return id
}

func (m *machine) timeouts() core.Timeouts { return m.s.Base.Config.Timeouts }

// notUsable gives the reason why a session takes no work now, nil if it does.
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

// can refuses what the provider cannot do, before it is sent.
func (m *machine) can(s core.Support, what string) *core.Error {
	if s.OK() {
		return nil
	}
	return core.Errorf(core.CodeCapability, "provider %s cannot %s", m.s.Base.Config.Provider, what).
		WithHint("list_providers {provider: %q} shows what it can do.", m.s.Base.Config.Provider)
}
