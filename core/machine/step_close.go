package machine

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// close ends the session: politely, or now with force.
func (m *machine) close(in Close) {
	st := m.s.Status()
	switch {
	case st.Ended():
		m.keep(in.Key, "", "")
		m.reply(in.Token, m.s.View())
		return
	case st == core.StatusUnavailable:
		word := EndClosed
		if in.Force {
			word = EndKilled
		}
		m.ended(word, m.s.Reason)
		m.keep(in.Key, "", "")
		m.reply(in.Token, m.s.View())
		return
	}
	m.keep(in.Key, "", "")
	if m.s.Link == LinkOpening {
		word := EndClosed
		if in.Force {
			word = EndKilled
		}
		m.cancelOpening(core.Errorf(core.CodeStartFailed, "the session was closed while it opened").WithHint("Start it again if it is still wanted."),
			word, core.ReasonSessionClosed, in.Token)
		return
	}
	if in.Force {
		m.kill(in.Token)
		return
	}
	if m.s.Closing != nil {
		m.joinClosing(in.Token)
		return
	}
	m.beginClose("", in.Token)
}

// beginClose is the polite end: no new work, the queue dropped, the active
// turn interrupted, then the provider closed.
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

// closeOn goes on with a close: to the end of ours that stood behind the
// provider's turn, and to the end of the link once no turn is left.
func (m *machine) closeOn() {
	switch t := m.s.Turn; {
	case m.s.ProviderTurn != nil:
	case t == nil:
		m.hangup(m.timeouts().ProviderStop)
	case t.Phase == PhaseStarting && t.Accepted:
		m.running(t, nil)
	}
}

// hangup ends the provider, once, and bounds the wait for it.
func (m *machine) hangup(grace time.Duration) {
	if m.s.Closing.HungUp {
		return
	}
	m.s.Closing = m.s.Closing.hungUp()
	m.do(Hangup{Epoch: m.s.Epoch, Grace: grace})
	m.arm(TimerID{Kind: TimerHangup}, grace+m.timeouts().ProviderStop)
}

func (c *Closing) hungUp() *Closing {
	d := *c
	d.HungUp = true
	return &d
}

func (m *machine) joinClosing(t Token) {
	if t == 0 {
		return
	}
	c := *m.s.Closing
	c.Tokens = append(c.Tokens[:len(c.Tokens):len(c.Tokens)], t)
	m.s.Closing = &c
}

// kill ends everything now, also in the middle of a close.
func (m *machine) kill(token Token) {
	m.retire(EndKilled, core.ReasonForcedStop, 0)
	m.joinClosing(token)
}

// shutdown ends the session with the server: no verdict is waited for.
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

// retire ends a live session without waiting for the provider's verdict: open
// requests expire, turns end as interrupted, the tree is ended. A failure's
// turn has its own terminal before this.
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

// hungUp says that the tree is gone: the session has come to its end.
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

// finish is the end of a closing: the last event of the epoch, then whoever
// waited is told.
func (m *machine) finish() {
	c := m.s.Closing
	m.disarm(TimerID{Kind: TimerHangup})
	m.dropOps(core.Errorf(core.CodeSessionClosed, "the session was closed").WithHint("inspect {id: %q} shows how.", m.s.Base.Config.SessionID))
	m.s.Closing = nil
	m.s.Link = LinkDown
	m.ended(c.Word, c.Reason)
	m.replyClosed(c.Tokens)
}

// ended writes the terminal word of the session.
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

// linkLost ends what hung on a conversation that broke. A close that was under
// way is complete.
func (m *machine) linkLost(err *core.TurnError) {
	if m.s.Closing != nil {
		m.lostWhileClosing(err)
		return
	}
	m.lose(err, core.ReasonTransportLost)
}

func (m *machine) lostWhileClosing(err *core.TurnError) {
	for t := range m.s.Turns() {
		m.terminal(m.expireAll(t, core.ReasonTransportLost), core.TurnDoneInterrupted, core.ReasonTransportLost, core.Result{}, nil)
	}
	m.finish()
}

// lose makes the session unavailable: readable, closable, resumable.
func (m *machine) lose(err *core.TurnError, reason core.Reason) {
	m.append(core.TransportError, dataEnded{Reason: reason, Error: err})
	m.disarm(TimerID{Kind: TimerSessionIdle})
	for t := range m.s.Turns() {
		t = m.expireAll(t, reason)
		switch {
		case reason == core.ReasonTransportLost && t.Cause != "":
			m.terminal(t, core.TurnDoneFailed, reason, core.Result{Error: &core.TurnError{Code: t.Cause, Message: "the turn took too long, and the agent ended while it was stopped"}}, nil)
		case reason == core.ReasonTransportLost && t.Intent == IntentNone:
			m.terminal(t, core.TurnDoneFailed, reason, core.Result{Error: &core.TurnError{Code: core.TurnTransportLost, Message: lostMessage(err)}}, nil)
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

func lostMessage(err *core.TurnError) string {
	if err == nil || err.Message == "" {
		return "the agent ended without finishing the turn"
	}
	return "the agent ended without finishing the turn: " + err.Message
}
