package machine

import (
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// start opens a new session. It is the first input of a state. Nothing is stored
// before the session is ready.
func (m *machine) start(in Start) {
	m.s.Epoch = 1
	m.s.Link = LinkOpening
	m.s.Opening = &Opening{Token: in.Token, Key: in.Key, Warnings: in.Warnings}
	m.open()
}

// open opens the provider conversation of the present epoch.
func (m *machine) open() {
	cfg := m.s.Base.Config
	cfg.Epoch = m.s.Epoch
	m.do(Open{Epoch: cfg.Epoch, Config: cfg})
	m.arm(TimerID{Kind: TimerStartup}, m.timeouts().Startup)
}

// resume opens the provider conversation again, under the same id and journal. If
// that fails, nothing has changed: Opening.Prior is the state to go back to.
//
//	unavailable, closed, failed,
//	killed                         opens the conversation in a new epoch
//	every live status              session_id_in_use
//	never ready (EndGone)          not_found
func (m *machine) resume(in Resume) *core.Error {
	if m.s.End == EndGone {
		return core.Errorf(core.CodeNotFound, "session %s was never ready and is gone", m.s.Base.Config.SessionID).
			WithHint("Start it again with start_session.")
	}
	if st := m.s.Status(); st.Live() {
		return core.Errorf(core.CodeSessionInUse, "session %s is %s", m.s.Base.Config.SessionID, st).
			WithHint("It needs no resume: use send_message or follow_up.").WithDetail("state", st)
	}
	prior := m.s
	base := m.s.Base
	s := NewState(in.Config, base.Capabilities.Value(), prior.Durability, m.now)
	s.Base.CreatedAt, s.Base.CheckSchema = base.CreatedAt, base.CheckSchema
	s.Epoch, s.NextOp, s.Last = prior.Epoch+1, prior.NextOp, prior.Last
	s.Usage, s.CostUSD, s.TurnsBegun = prior.Usage, prior.CostUSD, prior.TurnsBegun
	s.Link, s.ProviderSessionID = LinkOpening, prior.ProviderSessionID
	s.Opening = &Opening{Token: in.Token, Prior: &prior, Key: in.Key, Warnings: in.Warnings}
	m.s = s
	m.open()
	return nil
}

// opened steps the outcome of an opening.
//
//	opening                        the session is ready, or the starter gets the error
//	opening, being closed          the conversation is hung up, by force
//	any other, or another epoch    the conversation is hung up, by force
//
// A conversation that is open and must not be (Refused) counts as one that was
// closed while it opened: the host may have no place to store it.
func (m *machine) opened(in Opened) {
	if in.Epoch != m.s.Epoch || m.s.Link != LinkOpening {
		if in.Err == nil {
			m.do(Hangup{Epoch: in.Epoch})
		}
		return
	}
	if in.Refused != nil {
		m.cancelOpening(in.Refused, EndKilled, core.ReasonSessionClosed, 0)
	}
	m.disarm(TimerID{Kind: TimerStartup})
	switch {
	case m.s.Closing != nil && in.Err == nil:
		m.hangup(0)
	case m.s.Closing != nil:
		m.abandon()
	case in.Err != nil:
		m.refuseStart(in.Err)
		m.abandon()
	default:
		m.ready(in.Ready)
	}
}

// ready makes the session usable. Its first events and its first snapshot are in
// the same commit as the reply to the starter.
func (m *machine) ready(r core.Ready) {
	op, cfg := *m.s.Opening, m.s.Base.Config
	m.s.Link, m.s.Opening = LinkUp, nil
	set(&m.s.ProviderSessionID, r.ProviderSessionID)
	set(&m.s.Model, r.Model)
	set(&m.s.ReasoningEffort, r.ReasoningEffort)
	warnings := slices.Concat(op.Warnings, r.Warnings)
	m.s.Warnings = slices.Concat(m.s.Warnings, warnings)
	if op.Prior == nil {
		m.append(core.SessionStarted, dataStarted{Provider: cfg.Provider, Transport: cfg.Transport, CWD: cfg.CWD, Title: cfg.Title, Model: m.s.Model})
	}
	m.append(core.SessionReady, dataReady{ProviderSessionID: m.s.ProviderSessionID, Model: m.s.Model, Version: r.Version,
		PID: r.PID, Resumed: op.Prior != nil, Epoch: m.s.Epoch})
	for _, w := range warnings {
		m.append(core.TypeWarning, core.Warning{Message: w})
	}
	m.idle()
	m.keep(op.Key, "", "")
	m.reply(op.Token, m.s.View())
}

// idle journals that the session waits for work, and limits that wait.
func (m *machine) idle() {
	m.append(core.SessionIdle, struct{}{})
	m.arm(TimerID{Kind: TimerSessionIdle}, m.timeouts().SessionIdle)
}

// cancelOpening stops an opening. The starter is answered at once, with err; a
// caller that closes waits until the conversation is gone. A second call only
// changes how the session ends: killed replaces every other end, and a caller's
// close replaces a failure of the start.
func (m *machine) cancelOpening(err *core.Error, word End, reason core.Reason, closer Token) {
	if m.s.Closing != nil {
		m.joinClosing(closer)
		if c := *m.s.Closing; word == EndKilled || c.Word == EndFailed { // a caller's end over a failure of ours
			c.Word, c.Reason = word, reason
			m.s.Closing = &c
		}
		return
	}
	m.refuseStart(err)
	m.s.Closing = &Closing{Word: word, Reason: reason}
	m.joinClosing(closer)
	m.disarm(TimerID{Kind: TimerStartup})
	m.do(CancelOpen{Epoch: m.s.Epoch})
}

// refuseStart answers the starter, once.
func (m *machine) refuseStart(err *core.Error) {
	o := *m.s.Opening
	m.refuse(o.Token, err)
	o.Token = 0
	m.s.Opening = &o
}

// abandon ends an opening that came to nothing. A new session leaves nothing
// behind. A resumed one is what it was before, and is then closed if a caller asked
// for that meanwhile.
func (m *machine) abandon() {
	prior, closing := m.s.Opening.Prior, m.s.Closing
	if closing != nil && closing.HungUp {
		m.disarm(TimerID{Kind: TimerHangup})
	}
	if prior == nil {
		m.s.Link, m.s.End, m.s.Opening, m.s.Closing = LinkDown, EndGone, nil, nil
		m.do(Discard{})
		if closing != nil {
			m.s.Reason = closing.Reason
			m.replyClosed(closing.Tokens)
		}
		return
	}
	durability := m.s.Durability // a fact of the store, which the opening does not undo
	m.s = *prior
	m.s.Durability = durability
	if closing == nil || len(closing.Tokens) == 0 {
		return
	}
	if m.s.End == EndNone {
		m.ended(closing.Word, closing.Reason)
	}
	m.replyClosed(closing.Tokens)
}
