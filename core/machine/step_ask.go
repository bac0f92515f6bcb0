package machine

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// AskUser says that a person is being shown a request, or what became of it. The
// first to show it wins; a person is asked once.
type AskUser struct {
	Token     Token
	RequestID string
	Said      string
	For       time.Duration // with AskedNow: how long its caller waits
}

func (AskUser) input() {}

// ask notes that a person is asked, or that a person gave no answer. Neither
// ends the request: it expires at its own time, and until then any answer
// counts.
func (m *machine) ask(in AskUser) {
	t, i := m.openRequest(func(q OpenRequest) bool { return q.Rec.ID == in.RequestID })
	if t == nil {
		m.refuse(in.Token, NotPending(in.RequestID, core.RequestDoneExpired))
		return
	}
	q := t.Requests[i]
	switch {
	case q.Claim != nil:
		m.refuse(in.Token, NotPending(in.RequestID, core.RequestClaimed))
		return
	case in.Said == core.AskedNow && q.Rec.AskedUser != "":
		m.refuse(in.Token, core.Errorf(core.CodeCommandInProgress, "request %s has been shown to a person already", in.RequestID).
			WithHint("await the turn for the answer."))
		return
	}
	m.asked(t, i, in.Said, in.For)
	t, i = m.openRequest(func(q OpenRequest) bool { return q.Rec.ID == in.RequestID })
	m.reply(in.Token, t.Requests[i].snapshot())
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
