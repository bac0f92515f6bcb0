package core

import (
	"slices"
	"time"
)

// step is the only code that decides anything: what a session does on an input
// is here and in the other step files, and nowhere else. It has no goroutine,
// clock, channel or I/O, and no randomness; the order of inputs is the only
// thing that a race can be.
//
// A command at the wrong time gets a coded reply and leaves the State equal. A
// notice at the wrong time becomes a provider_event. Every token gets exactly
// one reply.
func step(s State, in Input, now time.Time) (State, []Effect) {
	m := machine{s: s, now: now}
	m.take(in)
	return m.s, m.out
}

// stepAll steps inputs that came together: the same as step for one after
// another, but what they change is copied once and not by each. That is half
// of what a delta costs here.
func stepAll(s State, ins []Input, now time.Time) (State, []Effect) {
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
	case inStart:
		m.start(in)
	case inResume:
		m.resume(in)
	case inOpened:
		m.opened(in)
	case inSend:
		m.send(in)
	case inSteer:
		m.steer(in)
	case inRespond:
		m.respond(in)
	case inAsk:
		m.ask(in)
	case inInterrupt:
		m.interrupt(in)
	case inConfigure:
		m.configure(in)
	case inClose:
		m.close(in)
	case inShutdown:
		m.shutdown()
	case inRecover:
		m.recover(in)
	case inNotice:
		if in.Epoch == m.s.Epoch && m.s.Link == LinkUp && m.s.End == EndNone {
			m.notice(in)
		}
	case inLinkLost:
		if in.Epoch == m.s.Epoch && m.s.Link == LinkUp && m.s.End == EndNone {
			m.linkLost(in.Err)
		}
	case inHungUp:
		if in.Epoch == m.s.Epoch {
			m.hungUp()
		}
	case inTimer:
		m.timer(in.Timer)
	case inStoreFailed:
		m.storeFailed(in)
	case inStoreRecovered:
		if m.s.Durability == DurabilityDegraded {
			m.s.Durability = Durable
			m.append(StoreRecovered, dataStoreRecovered(in))
		}
	default:
		panic("core: unknown input")
	}
}

// changed says whether a step with these effects changed what is stored of the
// session.
func changed(out []Effect) bool {
	return slices.ContainsFunc(out, func(e Effect) bool {
		switch e.(type) {
		case doAppend, doPutTurn, doPutRequest:
			return true
		}
		return false
	})
}

// notice sorts a provider's report to the part that knows it.
func (m *machine) notice(in inNotice) {
	switch n := in.Notice.(type) {
	case OpDone:
		m.opDone(n)
	case TurnBegan:
		m.turnBegan(n, in.TurnID)
	case Content:
		m.content(n)
	case TurnEnded:
		m.turnEnded(n)
	case RequestRaised:
		m.requestRaised(n, in.RequestID)
	case RequestWithdrawn:
		m.requestWithdrawn(n)
	case SessionChanged:
		m.sessionChanged(n)
	default:
		panic("core: unknown notice")
	}
}

// opDone gives an op's outcome to whoever sent it.
func (m *machine) opDone(n OpDone) {
	for _, t := range []*ActiveTurn{m.s.Turn, m.s.Theirs} {
		switch {
		case t == nil:
			continue
		case t.Op != 0 && t.Op == n.Op:
			m.startDone(n)
			return
		case t.IntOp != 0 && t.IntOp == n.Op:
			if n.Err != nil {
				m.append(TypeWarning, Warning{Message: "The provider refused the interrupt: " + n.Err.Message, Code: string(n.Err.Code)})
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
	m.append(TypeProviderEvent, ProviderEvent{Kind: "late_op_done"}, raw(n.Raw))
}

// sessionChanged takes a fact that the provider reported.
func (m *machine) sessionChanged(n SessionChanged) {
	set := func(dst *string, v string) bool {
		if v == "" || *dst == v {
			return false
		}
		*dst = v
		return true
	}
	d := dataUpdated{ProviderSessionID: n.ProviderSessionID, Changes: Changes{Model: n.Model, ReasoningEffort: n.ReasoningEffort}}
	a := set(&m.s.ProviderSessionID, n.ProviderSessionID)
	b := set(&m.s.Model, n.Model)
	c := set(&m.s.ReasoningEffort, n.ReasoningEffort)
	if a || b || c {
		m.append(SessionUpdate, d, raw(n.Raw))
	}
}

// Small steps that all parts use.

// appendOpt is what an event has beside its data; what is empty adds nothing.
// It is a value, since a function would be garbage of every event.
type appendOpt struct {
	turn, request, late string
	raw                 []byte
}

func raw(b []byte) appendOpt        { return appendOpt{raw: b} }
func ofTurn(id string) appendOpt    { return appendOpt{turn: id} }
func ofRequest(r Request) appendOpt { return appendOpt{turn: r.TurnID, request: r.ID} }
func lateFor(turn string) appendOpt { return appendOpt{late: turn} }

// effectsAtFirst is room for what most steps ask for, so that the list grows
// only in rare ones.
const effectsAtFirst = 8

func (m *machine) do(e Effect) {
	if m.out == nil {
		m.out = make([]Effect, 0, effectsAtFirst)
	}
	m.out = append(m.out, e)
}

func (m *machine) disarm(id TimerID) { m.do(doDisarm{Timer: id}) }

func (m *machine) append(t EventType, data any, opts ...appendOpt) {
	a := doAppend{Type: t, Data: data}
	for _, o := range opts {
		a.TurnID, a.RequestID, a.Late = firstOf(o.turn, a.TurnID), firstOf(o.request, a.RequestID), firstOf(o.late, a.Late)
		if o.raw != nil {
			a.Raw = o.raw
		}
	}
	m.do(a)
}

// arm sets a timer unless its bound is none.
func (m *machine) arm(id TimerID, d time.Duration) {
	if d > 0 {
		m.do(doArm{Timer: id, At: m.now.Add(d)})
	}
}

// reply answers a caller, if one waits.
func (m *machine) reply(t Token, v any) {
	if t != 0 {
		m.do(doReply{Token: t, Value: v})
	}
}

// refuse answers a caller with a coded error.
func (m *machine) refuse(t Token, err *Error) {
	if t != 0 {
		m.do(doReply{Token: t, Err: err})
	}
}

// keep stores the key of a call that has had its effect.
func (m *machine) keep(k *KeyRecord, turn, request string) {
	if k == nil {
		return
	}
	c := *k
	c.Resource, c.TurnID, c.Request = m.s.Base.Config.SessionID, turn, request
	m.do(doKeep{Key: c})
}

// newOp numbers an op.
func (m *machine) newOp() OpID {
	id := m.s.NextOp
	m.s.NextOp++
	return id
}

func (m *machine) timeouts() Timeouts { return m.s.Base.Config.Timeouts }

// notUsable gives the reason why a session takes no work now, nil if it does.
func (m *machine) notUsable() *Error {
	st := m.s.Status()
	id := m.s.Base.Config.SessionID
	switch st {
	case StatusOpening:
		return Errorf(CodeSessionUnavailable, "session %s is still opening", id).
			WithHint("Try again when inspect {id: %q} shows idle.", id).WithDetail("state", st).Retry()
	case StatusUnavailable:
		return Errorf(CodeSessionUnavailable, "session %s has lost its provider (%s)", id, m.s.Reason).
			WithHint("Continue it with start_session {resume: %q}.", id).WithDetail("state", st)
	case StatusClosing, StatusClosed, StatusFailed, StatusKilled:
		return Errorf(CodeSessionClosed, "session %s is %s", id, st).
			WithHint("Continue it with start_session {resume: %q}, or read it with replay or inspect.", id).WithDetail("state", st)
	}
	return nil
}

// can refuses what the provider cannot do, before it is sent.
func (m *machine) can(s Support, what string) *Error {
	if s.OK() {
		return nil
	}
	return Errorf(CodeCapability, "provider %s cannot %s", m.s.Base.Config.Provider, what).
		WithHint("list_providers {provider: %q} shows what it can do.", m.s.Base.Config.Provider)
}
