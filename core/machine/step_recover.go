package machine

import "github.com/harness-mcp/harness-mcp/core"

// recover ends what a dead server left open, in one commit.
//
//	every live status              unavailable; requests expire, turns are interrupted
//	any other                      nothing
//
// An answer that was on its way expires as response_uncertain: the provider may
// have it.
func (m *machine) recover(in Recover) {
	if m.s.Status().Live() {
		m.s.Closing = nil
		for t := range m.s.Turns() {
			m.recall(t)
		}
		m.makeUnavailable(&core.TurnError{Code: core.TurnTransportLost, Message: "the server that ran this session ended"}, in.Reason)
	}
}

// recall restores the last message of a turn from what the journal has of it. A
// message of which only parts are journaled becomes one event, as it does
// wherever a message is cut short.
func (m *machine) recall(t *ActiveTurn) {
	if t.Recovered.At.IsZero() {
		return
	}
	t = m.edit(t)
	if t.Recovered.Parts {
		m.append(core.TypeMessage, t.Recovered.Message, ofTurn(t.Rec.ID))
	}
	t.Text, t.HasText = t.Recovered.Message.Text, t.Recovered.Message.Item != "" || t.Recovered.Message.Text != ""
}
