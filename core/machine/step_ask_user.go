package machine

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// ask notes that a person is being asked, or that a person gave no answer. Neither
// ends the request: it expires at its own time, and any answer counts until then.
//
//	awaiting_input                 noted; a second AskedNow gets command_in_progress
//	awaiting_input, with an
//	answer on its way              request_not_pending
//	any other                      request_not_pending
func (m *machine) ask(in Ask) *core.Error {
	t, i := m.s.request(in.RequestID)
	if t == nil {
		return NotPending(in.RequestID, core.RequestDoneExpired)
	}
	q := t.Requests[i]
	switch {
	case q.Claim != nil:
		return NotPending(in.RequestID, core.RequestClaimed)
	case in.Said == core.AskedNow && q.Rec.AskedUser != "":
		return core.Errorf(core.CodeCommandInProgress, "request %s has been shown to a person already", in.RequestID).
			WithHint("await the turn for the answer.")
	}
	m.asked(t, i, in.Said, in.For)
	t, i = m.s.request(in.RequestID)
	m.reply(in.Token, t.Requests[i].snapshot())
	return nil
}

// asked notes how far the asking of a person has come. The end of a wait that comes
// after the person's own answer changes nothing.
func (m *machine) asked(t *ActiveTurn, i int, said string, wait time.Duration) {
	q := t.Requests[i]
	id := TimerID{Kind: TimerAsk, ID: q.Rec.ID}
	if said == core.AskedNow {
		m.arm(id, wait)
	} else {
		m.disarm(id)
		if said == core.AskedNoAnswer && q.Rec.AskedUser != core.AskedNow {
			return
		}
	}
	q.Rec.AskedUser = said
	m.putRequest(t, i, q)
}
