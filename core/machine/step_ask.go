package machine

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// ask notes that a person is asked, or that a person gave no answer. Neither
// ends the request: it expires at its own time, and until then any answer
// counts.
func (m *machine) ask(in Ask) *core.Error {
	t, i := m.s.openRequest(func(q OpenRequest) bool { return q.Rec.ID == in.RequestID })
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
	t, i = m.s.openRequest(func(q OpenRequest) bool { return q.Rec.ID == in.RequestID })
	m.reply(in.Token, t.Requests[i].snapshot())
	return nil
}

// asked puts down where the asking of a person stands. What a person said is
// not taken back by a wait that ends later.
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
	m.setRequest(t, i, q)
	m.do(PutRequest{Request: q.snapshot()})
}
