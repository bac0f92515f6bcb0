package machine

import (
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// interrupt asks for the end of a turn, or takes a queued one out. A repeated one
// is acknowledged and changes nothing. The table is for the active turn.
//
//	starting                       recorded; sent once the provider accepts the turn
//	running, awaiting_input        open requests expire, the provider is asked
//	cancelling, closing            acknowledged
//	idle                           no_active_turn, but with ClearQueue acknowledged
//	                               with the last turn
//	opening, unavailable, ended    no_active_turn
//
// A turn that is neither active nor queued gets turn_not_active. ClearQueue also
// ends every queued turn.
func (m *machine) interrupt(in Interrupt) *core.Error {
	if in.TurnID != "" {
		if i := slices.IndexFunc(m.s.Queue, func(q QueuedTurn) bool { return q.Rec.ID == in.TurnID }); i >= 0 {
			m.interruptQueued(in, i)
			return nil
		}
	}
	st, t := m.s.Status(), m.s.Active()
	if in.TurnID != "" && t != nil {
		t = m.s.turn(in.TurnID)
	}
	switch {
	case st == core.StatusClosing && in.TurnID != "" && t == nil:
		return m.notActive(in.TurnID)
	case st == core.StatusClosing, st == core.StatusIdle && in.TurnID == "" && in.ClearQueue:
		m.interrupted(in, in.TurnID)
		return nil
	case m.s.Active() == nil && in.TurnID == "" || !st.Live() || st == core.StatusOpening:
		e := core.Errorf(core.CodeNoActiveTurn, "session %s is %s and has no turn to stop", m.s.Base.Config.SessionID, st).WithDetail("state", st)
		if m.s.Last == nil {
			return e.WithHint("It has had no turn yet.")
		}
		return e.WithHint("inspect {id: %q} shows its last turn.", m.s.Base.Config.SessionID)
	case t == nil:
		return m.notActive(in.TurnID)
	}
	if err := m.can(m.s.Base.Capabilities.Value().Interrupt, "interrupt a turn"); err != nil {
		return err
	}
	id := t.Rec.ID
	m.stopTurn(t, "", "")
	if in.ClearQueue {
		m.dropQueue(core.ReasonQueueCleared)
	}
	m.interrupted(in, id)
	return nil
}

// notActive is the refusal of a turn id that is not of an active turn.
func (m *machine) notActive(id string) *core.Error {
	e := core.Errorf(core.CodeTurnNotActive, "turn %s does not run in this session", id).
		WithHint("inspect {id: %q} shows how it ended.", id).WithDetail("turn_id", id)
	if t := m.s.Active(); t != nil {
		return e.WithHint("Turn %s runs now.", t.Rec.ID).WithDetail("active_turn_id", t.Rec.ID)
	}
	return e
}

// interrupted answers an interrupt with the turn as it is now: the named one, else
// the active or the last one. In a session without any the turn has no id.
func (m *machine) interrupted(in Interrupt, id string) {
	r := core.InterruptResult{Turn: core.Turn{SessionID: m.s.Base.Config.SessionID}, QueuedTurns: len(m.s.Queue)}
	t := m.s.turn(id)
	if t == nil {
		t = m.s.Active()
	}
	switch {
	case t != nil:
		r.Turn = t.Snapshot()
	case m.s.Last != nil:
		r.Turn = *m.s.Last
	}
	m.keep(in.Key, r.Turn.ID, "")
	m.reply(in.Token, r)
}

// interruptQueued takes the i-th queued turn out of the queue.
func (m *machine) interruptQueued(in Interrupt, i int) {
	q := m.s.Queue[i]
	m.s.Queue = slices.Delete(slices.Clone(m.s.Queue), i, i+1)
	rec := m.endQueued(q, core.ReasonQueueCleared)
	m.append(core.QueueChanged, dataQueue{Queued: len(m.s.Queue)})
	if in.ClearQueue {
		m.dropQueue(core.ReasonQueueCleared)
	}
	m.keep(in.Key, rec.ID, "")
	m.reply(in.Token, core.InterruptResult{Turn: rec, QueuedTurns: len(m.s.Queue)})
}

// stopTurn begins to end a turn, because a caller asked for it or for a cause of
// the harness. Its order: requests that nobody is answering expire, the wish is
// journaled, TimerInterrupt limits the wait for a verdict, and the provider is
// asked, at once or when it accepts the turn. withdraw names a request that has
// just expired and that the provider still waits for.
func (m *machine) stopTurn(t *ActiveTurn, cause core.Code, withdraw string) {
	if t.Intent != IntentNone {
		return
	}
	var refs []string
	if withdraw != "" {
		refs = append(refs, withdraw)
	}
	for _, q := range t.Requests {
		if q.Claim == nil {
			refs = append(refs, q.Rec.Ref)
			t = m.expire(t, q, core.ReasonInterrupted)
		}
	}
	t = m.edit(t)
	t.Intent, t.Cause = IntentRecorded, cause
	t.Rec.Activity = "stopping"
	m.append(core.CancelRequested, dataCancel{Cause: cause}, ofTurn(t.Rec.ID))
	m.disarm(TimerID{Kind: TimerTurnIdle, ID: t.Rec.ID})
	m.arm(TimerID{Kind: TimerInterrupt, ID: t.Rec.ID}, m.timeouts().Interrupt)
	t.Withdraw = refs
	if t.Phase == PhaseRunning {
		m.sendInterrupt(t)
	}
	m.do(PutTurn{Turn: t.Snapshot()})
}

// sendInterrupt asks the provider to stop t. It is called once for a turn.
func (m *machine) sendInterrupt(t *ActiveTurn) {
	refs := t.Withdraw
	t.Intent, t.IntOp, t.Withdraw = IntentSent, m.newOp(), nil
	m.do(Send{Op: core.Interrupt{ID: t.IntOp, TurnID: t.Name, Requests: refs}})
}

// steer adds to the running turn. The reply comes when the provider took it.
//
//	running, awaiting_input        sent
//	starting                       turn_not_active, retryable
//	cancelling                     turn_not_active
//	idle                           no_active_turn
//	any other                      see notUsable
func (m *machine) steer(in Steer) *core.Error {
	if err := m.cannotTake(in.Input); err != nil {
		return err
	}
	if err := m.notUsable(); err != nil {
		return err
	}
	t := m.s.Active()
	switch {
	case t == nil:
		return core.Errorf(core.CodeNoActiveTurn, "session %s has no turn to steer", m.s.Base.Config.SessionID).
			WithHint("Use send_message.")
	case in.TurnID != "" && in.TurnID != t.Rec.ID:
		return m.notActive(in.TurnID)
	}
	if err := m.can(m.s.Base.Capabilities.Value().Steer, "steer a running turn"); err != nil {
		return err.WithHint("Use follow_up to queue it, or interrupt and then send_message.")
	}
	switch {
	case t.Phase == PhaseStarting && t.Intent == IntentNone:
		return core.Errorf(core.CodeTurnNotActive, "turn %s has not been taken by the provider yet", t.Rec.ID).
			WithHint("Try again in a moment.").WithDetail("turn_id", t.Rec.ID).Retry()
	case t.Intent != IntentNone:
		return core.Errorf(core.CodeTurnNotActive, "turn %s is being stopped", t.Rec.ID).
			WithHint("Use follow_up: it runs after the turn has ended.").WithDetail("turn_id", t.Rec.ID)
	}
	p := PendingOp{ID: m.newOp(), Kind: OpSteer, Token: in.Token, TurnID: t.Rec.ID, Prompt: in.Input.Prompt, Key: in.Key}
	m.pend(p)
	m.do(Send{Op: core.Steer{ID: p.ID, TurnID: t.Name, Input: in.Input}})
	return nil
}

// configure changes settings from the next turn on. The reply comes when the
// provider took them. One configure is on its way at a time: command_in_progress.
//
//	idle to cancelling             sent
//	any other                      see notUsable
func (m *machine) configure(in Configure) *core.Error {
	if err := m.notUsable(); err != nil {
		return err
	}
	if err := m.can(m.s.Base.Capabilities.Value().Configure, "change a live session"); err != nil {
		return err
	}
	if slices.ContainsFunc(m.s.Ops, func(p PendingOp) bool { return p.Kind == OpConfigure }) {
		return core.Errorf(core.CodeCommandInProgress, "another configure is on its way").WithHint("Try again in a moment.").Retry()
	}
	p := PendingOp{ID: m.newOp(), Kind: OpConfigure, Token: in.Token, Changes: in.Changes, Key: in.Key}
	m.pend(p)
	m.do(Send{Op: core.Configure{ID: p.ID, Changes: in.Changes}})
	return nil
}

// pend remembers a command until its OpDone, or until TimerCommand is due.
func (m *machine) pend(p PendingOp) {
	m.s.Ops = append(m.s.Ops[:len(m.s.Ops):len(m.s.Ops)], p)
	m.arm(TimerID{Kind: TimerCommand, Op: p.ID}, m.timeouts().ProviderCommand)
}

// commandDone steps the outcome of a steer, of a configure, or of an answer that
// the machine gave by itself. A command that the provider took in a session that is
// closing is journaled, and refused to its caller.
func (m *machine) commandDone(p PendingOp, n core.OpDone) {
	if n.Err != nil {
		if p.Kind == OpDismiss {
			m.append(core.TypeWarning, core.Warning{Message: "The provider refused an answer: " + n.Err.Message, Code: string(n.Err.Code)})
			return
		}
		m.refuse(p.Token, n.Err)
		return
	}
	switch p.Kind {
	case OpSteer:
		t := m.s.turn(p.TurnID)
		if t == nil { // it ended while the provider took the message
			m.append(core.Steered, dataSteered{Prompt: p.Prompt}, lateFor(p.TurnID))
			m.refuse(p.Token, m.notActive(p.TurnID))
			return
		}
		m.append(core.Steered, dataSteered{Prompt: p.Prompt}, ofTurn(p.TurnID), raw(n.Raw))
		if m.s.Closing != nil {
			m.refuse(p.Token, m.notUsable())
			return
		}
		m.keep(p.Key, p.TurnID, "")
		m.reply(p.Token, t.Snapshot())
	case OpConfigure:
		m.applyChanges(p.Changes)
		m.append(core.SessionUpdate, dataUpdated{Changes: p.Changes}, raw(n.Raw))
		if m.s.Closing != nil {
			m.refuse(p.Token, m.notUsable())
			return
		}
		m.keep(p.Key, "", "")
		m.reply(p.Token, m.s.View())
	}
}

func (m *machine) applyChanges(c core.Changes) {
	set(&m.s.Model, c.Model)
	set(&m.s.ReasoningEffort, c.ReasoningEffort)
	set(&m.s.ApprovalMode, c.ApprovalMode)
	set(&m.s.SandboxMode, c.SandboxMode)
}

// dropOps answers every command that waits for a provider that is gone.
func (m *machine) dropOps(err *core.Error) {
	for _, p := range m.s.Ops {
		m.disarm(TimerID{Kind: TimerCommand, Op: p.ID})
		m.refuse(p.Token, err)
	}
	m.s.Ops = nil
}
