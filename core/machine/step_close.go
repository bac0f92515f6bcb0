package machine

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// close ends the session: politely, or with Force at once.
//
//	opening                        cancels the opening; the starter gets start_failed
//	idle to cancelling             closing: see beginClose; with Force see retire
//	closing                        waits with the others; with Force ends it at once
//	unavailable                    closed, or killed, and the reply
//	closed, failed, killed         the reply
//
// The reply comes when the process tree of the agent is gone.
func (m *machine) close(in Close) {
	st, word := m.s.Status(), EndClosed
	if in.Force {
		word = EndKilled
	}
	if st == core.StatusUnavailable {
		m.ended(word, m.s.Reason)
	}
	if never := m.s.End == EndGone || st == core.StatusOpening && m.s.Opening.Prior == nil; !never {
		m.keep(in.Key, "", "") // of a session that was never ready nothing is stored
	}
	switch {
	case st.Ended() || st == core.StatusUnavailable:
		m.reply(in.Token, m.s.View())
	case m.s.Link == LinkOpening:
		m.cancelOpening(core.Errorf(core.CodeStartFailed, "the session was closed while it opened").WithHint("Start it again if it is still wanted."),
			word, core.ReasonSessionClosed, in.Token)
	case in.Force: // also in the middle of a close
		m.retire(EndKilled, core.ReasonForcedStop, 0)
		m.joinClosing(in.Token)
	case m.s.Closing != nil:
		m.joinClosing(in.Token)
	default:
		m.beginClose("", in.Token)
	}
}

// beginClose is the polite end. Its order: no new work, the queue dropped, active
// turns interrupted, and once no turn is left the provider closed. So a turn gets
// the provider's own verdict if that comes in time.
func (m *machine) beginClose(reason core.Reason, token Token) {
	m.s.Closing = &Closing{Word: EndClosed, Reason: reason}
	m.joinClosing(token)
	m.disarm(TimerID{Kind: TimerSessionIdle})
	m.dropQueue(core.ReasonSessionClosed)
	for t := range m.s.Turns() {
		m.stopTurn(t, "", "")
	}
	m.closeOn()
}

// closeOn continues a close: the caller's turn that was behind the provider's runs
// to its end, and the link is hung up once no turn is left.
func (m *machine) closeOn() {
	switch t := m.s.Turn; {
	case m.s.ProviderTurn != nil:
	case t == nil:
		m.hangup(m.timeouts().ProviderStop)
	case t.Phase == PhaseStarting && t.Accepted:
		m.running(t, nil)
	}
}

// hangup ends the provider, once. TimerHangup limits the wait for it.
func (m *machine) hangup(grace time.Duration) {
	if m.s.Closing.HungUp {
		return
	}
	c := *m.s.Closing
	c.HungUp = true
	m.s.Closing = &c
	m.do(Hangup{Epoch: m.s.Epoch, Grace: grace})
	m.arm(TimerID{Kind: TimerHangup}, grace+m.timeouts().ProviderStop)
}

// joinClosing adds a caller that waits for the end.
func (m *machine) joinClosing(t Token) {
	if t == 0 {
		return
	}
	c := *m.s.Closing
	c.Tokens = append(c.Tokens[:len(c.Tokens):len(c.Tokens)], t)
	m.s.Closing = &c
}

// shutdown ends the session with the server. No verdict is waited for.
//
//	opening                        cancels the opening; the starter gets shutting_down
//	idle to closing                retired; the agent has ShutdownGrace
//	any other                      nothing
func (m *machine) shutdown() {
	switch {
	case !m.s.Status().Live():
	case m.s.Link == LinkOpening:
		m.cancelOpening(core.Errorf(core.CodeShuttingDown, "the server is shutting down").WithHint("Start the session again on a new server.").Retry(),
			EndClosed, core.ReasonSessionShutdown, 0)
	default:
		m.retire(EndClosed, core.ReasonSessionShutdown, ShutdownGrace)
	}
}

// retire ends a live session without waiting for the provider's verdict. Its
// order: open requests expire, turns end as interrupted, the queue and pending
// commands end, and the process tree is ended within grace. The turn that made a
// session fail has its own terminal event before this. killed and failed are not
// replaced by a later, weaker end.
func (m *machine) retire(word End, reason core.Reason, grace time.Duration) {
	var tokens []Token
	hungUp := false
	last, lastReason := word, reason
	if c := m.s.Closing; c != nil {
		tokens, hungUp = c.Tokens, c.HungUp
		if c.Word > word { // killed and failed are not taken back by a later end
			last, lastReason = c.Word, c.Reason
		}
	}
	m.s.Closing = &Closing{Word: last, Reason: lastReason, Tokens: tokens, HungUp: hungUp && grace > 0}
	m.disarm(TimerID{Kind: TimerSessionIdle})
	turnReason := reason
	if word == EndFailed {
		turnReason = core.ReasonNoVerdict
	}
	for t := range m.s.Turns() {
		m.terminal(m.expireAll(t, turnReason), core.TurnDoneInterrupted, turnReason, core.Result{}, nil)
	}
	if word == EndFailed {
		turnReason = core.ReasonQueueCleared
	}
	m.dropQueue(turnReason)
	m.dropOps(core.Errorf(core.CodeSessionClosed, "the session was ended").WithHint("inspect {id: %q} shows why.", m.s.Base.Config.SessionID))
	m.hangup(grace)
}

// hungUp steps the end of the process tree.
//
//	opening, being closed          nothing is left of the opening
//	closing, hung up               closed, failed or killed, and the replies
//	any other                      nothing
func (m *machine) hungUp() {
	if m.s.Closing == nil || !m.s.Closing.HungUp {
		return
	}
	if m.s.Link == LinkOpening {
		m.abandon()
		return
	}
	if m.s.Link == LinkUp {
		m.finish()
	}
}

// finish is the end of a close: the last event of the epoch, then the replies to
// those who waited.
func (m *machine) finish() {
	c := m.s.Closing
	m.disarm(TimerID{Kind: TimerHangup})
	m.dropOps(core.Errorf(core.CodeSessionClosed, "the session was closed").WithHint("inspect {id: %q} shows how.", m.s.Base.Config.SessionID))
	m.s.Closing = nil
	m.s.Link = LinkDown
	m.ended(c.Word, c.Reason)
	m.replyClosed(c.Tokens)
}

// ended sets and journals how the session ended.
func (m *machine) ended(word End, reason core.Reason) {
	m.s.End, m.s.Reason = word, reason
	m.append(map[End]core.EventType{EndClosed: core.SessionClosed, EndFailed: core.SessionFailed, EndKilled: core.SessionKilled}[word],
		dataEnded{Reason: reason, Error: m.s.Err})
}

func (m *machine) replyClosed(tokens []Token) {
	v := m.s.View()
	for _, t := range tokens {
		m.reply(t, v)
	}
}

// linkLost steps the loss of the conversation; its process tree is gone.
//
//	idle                           unavailable
//	starting to cancelling         unavailable; turns end as failed, or as interrupted if
//	                               that was asked for; the queue is dropped
//	closing                        closed: what the close waited for has happened
//	any other, or another epoch    nothing
func (m *machine) linkLost(err *core.TurnError) {
	if m.s.Closing == nil {
		m.makeUnavailable(err, core.ReasonTransportLost)
		return
	}
	for t := range m.s.Turns() {
		m.terminal(m.expireAll(t, core.ReasonTransportLost), core.TurnDoneInterrupted, core.ReasonTransportLost, core.Result{}, nil)
	}
	m.finish()
}

// makeUnavailable makes the session unavailable: it can be read, closed and resumed. Turns
// get their terminal events first. A turn that nobody wanted to end failed by the
// loss, one whose time-out stopped it failed by that, and any other is interrupted.
func (m *machine) makeUnavailable(err *core.TurnError, reason core.Reason) {
	m.append(core.TransportError, dataEnded{Reason: reason, Error: err})
	code, message := core.TurnTransportLost, "the agent ended without finishing the turn"
	switch {
	case err == nil:
	case err.Code == core.TurnProviderError: // a fault in the adapter
		code, message = err.Code, err.Message
	case err.Message != "":
		message += ": " + err.Message
	}
	m.disarm(TimerID{Kind: TimerSessionIdle})
	for t := range m.s.Turns() {
		t = m.expireAll(t, reason)
		switch {
		case reason == core.ReasonTransportLost && t.Cause != "":
			m.terminal(t, core.TurnDoneFailed, reason, core.Result{Error: &core.TurnError{Code: t.Cause, Message: "the turn took too long, and the agent ended while it was stopped"}}, nil)
		case reason == core.ReasonTransportLost && t.Intent == IntentNone:
			m.terminal(t, core.TurnDoneFailed, reason, core.Result{Error: &core.TurnError{Code: code, Message: message}}, nil)
		default:
			m.terminal(t, core.TurnDoneInterrupted, reason, core.Result{}, nil)
		}
	}
	queueReason := core.ReasonQueueCleared
	if reason != core.ReasonTransportLost {
		queueReason = reason
	}
	m.dropQueue(queueReason)
	m.dropOps(core.Errorf(core.CodeSessionUnavailable, "the provider went away").
		WithHint("Resume the session with start_session {resume: %q}.", m.s.Base.Config.SessionID))
	m.s.Link, m.s.Reason, m.s.Err = LinkBroken, reason, err
}
