package machine

import (
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// timer steps a timer that is due. It is matched by its id; one that no longer fits
// the facts does nothing.
//
//	startup        opening: the starter gets start_timeout
//	turn_start     starting: the turn fails as uncertain, the session fails
//	command        of an answer: as turn_start; of any other: response_uncertain
//	interrupt      cancelling: the turn is interrupted without a verdict, the session
//	               fails; closing: the turn is interrupted, the close continues
//	turn_runtime   starting, running, awaiting_input: the turn is stopped
//	turn_idle      starting, running: the turn is stopped
//	session_idle   idle: closed
//	request        awaiting_input: see noAnswer; not while an answer is on its way
//	ask            the person counts as one who gave no answer
//	hangup         closing: the tree is killed, the session ends
func (m *machine) timer(id TimerID) {
	if m.s.End != EndNone {
		return
	}
	switch id.Kind {
	case TimerStartup:
		if m.s.Link == LinkOpening && m.s.Closing == nil {
			m.cancelOpening(core.Errorf(core.CodeStartTimeout, "the provider was not ready within %s", m.timeouts().Startup).
				WithHint("Try again with a larger startup_timeout_ms, or see list_providers {provider: %q, refresh: true}.", m.s.Base.Config.Provider).Retry(),
				EndFailed, "", 0)
		}
	case TimerTurnStart:
		if t := m.s.Turn; t != nil && t.Rec.ID == id.ID && t.Phase == PhaseStarting && m.s.ProviderTurn == nil && m.s.Link == LinkUp {
			m.fail(t, &core.TurnError{Code: core.TurnUncertain, Message: "the provider did not say in time whether it took the turn"})
		}
	case TimerCommand:
		m.commandTimeout(id.Op)
	case TimerInterrupt:
		m.interruptTimeout(id.ID)
	case TimerTurnRuntime:
		if t := m.s.turn(id.ID); t != nil && m.s.Closing == nil {
			m.stopTurn(t, core.TurnRuntimeTimeout, "")
		}
	case TimerTurnIdle:
		if t := m.s.turn(id.ID); t != nil && len(t.Requests) == 0 && m.s.Closing == nil && !m.waits(t) {
			m.stopTurn(t, core.TurnIdleTimeout, "")
		}
	case TimerSessionIdle:
		if m.s.Status() == core.StatusIdle && len(m.s.Queue) == 0 {
			m.beginClose(core.ReasonIdleTimeout, 0)
		}
	case TimerRequest:
		t, i := m.s.request(id.ID)
		if t != nil && t.Requests[i].Claim == nil {
			m.noAnswer(t, t.Requests[i])
		}
	case TimerAsk:
		if t, i := m.s.request(id.ID); t != nil {
			m.asked(t, i, core.AskedNoAnswer, 0)
		}
	case TimerHangup:
		if m.s.Closing != nil && m.s.Closing.HungUp {
			m.do(Hangup{Epoch: m.s.Epoch}) // no grace is left: the tree is killed
			m.hungUp()
		}
	}
}

// commandTimeout steps a command whose outcome is unknown. An answer to a request
// that may or may not have arrived fails the turn and the session, since the agent
// may be doing what was answered.
func (m *machine) commandTimeout(op core.OpID) {
	if t, i := m.s.openRequest(func(q OpenRequest) bool { return q.Claim != nil && q.Claim.Op == op }); t != nil {
		t = m.expire(t, t.Requests[i], core.ReasonResponseUncertain)
		m.fail(t, &core.TurnError{Code: core.TurnUncertain, Message: "it is unknown whether the provider took an answer"})
		return
	}
	i := slices.IndexFunc(m.s.Ops, func(p PendingOp) bool { return p.ID == op })
	if i < 0 {
		return
	}
	p := m.s.Ops[i]
	m.s.Ops = slices.Delete(slices.Clone(m.s.Ops), i, i+1)
	if p.Kind == OpDismiss {
		m.append(core.TypeWarning, core.Warning{Message: "The provider did not confirm an answer in time."})
		return
	}
	m.refuse(p.Token, core.Errorf(core.CodeResponseUncertain, "the provider did not say in time whether it took the command").
		WithHint("replay the session to see whether it had an effect before sending it again."))
}

// fail ends a turn as failed, and the session with it. A session that is closing
// continues to close.
func (m *machine) fail(t *ActiveTurn, err *core.TurnError) {
	m.terminal(t, core.TurnDoneFailed, "", core.Result{Error: err}, nil)
	if m.s.Closing != nil {
		m.closeOn()
		return
	}
	m.s.Err = err
	m.retire(EndFailed, "", 0)
}

// interruptTimeout steps an interrupt on which the provider gave no verdict.
func (m *machine) interruptTimeout(turn string) {
	t := m.s.turn(turn)
	if t == nil || t.Intent == IntentNone {
		return
	}
	switch {
	case m.s.Closing != nil:
		m.terminal(m.expireAll(t, core.ReasonSessionClosed), core.TurnDoneInterrupted, core.ReasonSessionClosed, core.Result{}, nil)
		m.closeOn()
	case t.Cause != "":
		m.fail(t, &core.TurnError{Code: t.Cause, Message: "the turn took too long and the provider did not stop it"})
	default:
		m.terminal(m.expireAll(t, core.ReasonNoVerdict), core.TurnDoneInterrupted, core.ReasonNoVerdict, core.Result{}, nil)
		m.s.Err = &core.TurnError{Code: core.TurnUncertain, Message: "the provider did not confirm an interrupt"}
		m.retire(EndFailed, core.ReasonNoVerdict, 0)
	}
}

// storeFailed steps a commit that failed.
//
//	without Stop, any status       store_failed once; the session continues, degraded
//	with Stop, not opened yet      nothing is left of the session
//	with Stop, opening             the opening is cancelled
//	with Stop, idle to closing     turns fail with store_failed, the session fails
//	with Stop, any other           degraded, nothing else
func (m *machine) storeFailed(in StoreFailed) {
	if !in.Stop {
		if m.s.Durability != core.DurabilityDegraded {
			m.s.Durability = core.DurabilityDegraded
			m.append(core.StoreFailure, core.StoreFailedData{Message: in.Message})
		}
		return
	}
	m.s.Durability = core.DurabilityDegraded
	switch {
	case m.s.Link == LinkNone: // its start was in the batch that failed
		m.s.End = EndGone
		m.do(Discard{})
	case m.s.Link == LinkOpening:
		m.cancelOpening(core.Errorf(core.CodeStoreFailed, "the session could not be stored").WithHint("Check the disk and the database file, then start again."), EndFailed, "", 0)
	case m.s.Status().Live():
		m.storeStopped(in.Message)
	}
}

// storeStopped ends a live session whose journal cannot be written.
func (m *machine) storeStopped(message string) {
	why := &core.TurnError{Code: core.TurnStoreFailed, Message: "the journal could not be written"}
	told := core.Errorf(core.CodeStoreFailed, "the session's journal could not be written").
		WithHint("Check the disk and the database file; whether the agent took this is unknown.")
	m.s.Err = why
	m.append(core.StoreFailure, core.StoreFailedData{Message: message})
	for t := range m.s.Turns() {
		m.terminal(m.refuseClaims(t, told), core.TurnDoneFailed, "", core.Result{Error: why}, nil)
	}
	m.dropOps(told)
	m.retire(EndFailed, "", 0)
}

// refuseClaims answers the callers whose answers to requests of t are on their way.
func (m *machine) refuseClaims(t *ActiveTurn, err *core.Error) *ActiveTurn {
	for i, q := range t.Requests {
		if q.Claim == nil {
			continue
		}
		m.refuse(q.Claim.Token, err)
		c := *q.Claim
		c.Token, q.Claim = 0, &c
		m.setRequest(t, i, q)
		t = m.s.turn(t.Rec.ID)
	}
	return t
}
