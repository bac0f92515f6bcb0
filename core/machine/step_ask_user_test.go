package machine

import (
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

func (r *rig) askUser(said string) Token {
	t := r.tok()
	r.in(Ask{Token: t, RequestID: "req_1", Said: said, For: 45 * time.Second})
	return t
}

func (r *rig) askedUser() string {
	r.t.Helper()
	v := r.s.View()
	if len(v.Requests) != 1 {
		r.t.Fatalf("%d requests are open, want one", len(v.Requests))
	}
	return v.Requests[0].AskedUser
}

func TestAPersonIsAskedOnce(t *testing.T) {
	r := newRig(t).awaiting()
	r.askUser(core.AskedNow)
	r.want("arm ask; reply ok")
	r.code(r.askUser(core.AskedNow), core.CodeCommandInProgress)
	r.askUser(core.AskedDeclined)
	r.code(r.askUser(core.AskedNow), core.CodeCommandInProgress)
	if got := r.askedUser(); got != core.AskedDeclined {
		t.Errorf("the person has said %q", got)
	}
	r.status(core.StatusAwaitingInput)
}

func TestAPersonWhoDoesNotAnswerLeavesTheRequestPending(t *testing.T) {
	r := newRig(t).awaiting()
	r.askUser(core.AskedNow)
	r.fire(TimerID{Kind: TimerAsk, ID: "req_1"})
	if got := r.askedUser(); got != core.AskedNoAnswer {
		t.Errorf("the person has said %q", got)
	}
	late := r.tok()
	r.in(Respond{Token: late, RequestID: "req_1", Response: core.Response{Action: core.ActionApprove}, By: core.ByUser, Client: "ide"})
	r.notice(core.OpDone{Op: sentOp[core.Respond](r).ID})
	q := r.replied(late).Value.(core.Request)
	if q.Resolution.By != core.ByUser || q.Resolution.Client != "ide" || q.AskedUser != core.AskedNoAnswer {
		t.Errorf("resolved %+v, asked %q", q.Resolution, q.AskedUser)
	}
}

func TestTheEndOfAWaitTakesNothingBackThatAPersonSaid(t *testing.T) {
	r := newRig(t).awaiting()
	r.askUser(core.AskedNow)
	r.askUser(core.AskedCancelled)
	r.askUser(core.AskedNoAnswer)
	if got := r.askedUser(); got != core.AskedCancelled {
		t.Errorf("the person has said %q", got)
	}
}

func TestNobodyIsAskedWhatIsBeingAnsweredOrOver(t *testing.T) {
	r := newRig(t).claimed()
	r.code(r.askUser(core.AskedNow), core.CodeRequestNotPending)
	r.notice(core.OpDone{Op: sentOp[core.Respond](r).ID})
	r.code(r.askUser(core.AskedNow), core.CodeRequestNotPending)
	for _, at := range []*rig{newRig(t).idle(), newRig(t).closed(), newRig(t).unavailable(), newRig(t).opening()} {
		at.code(at.askUser(core.AskedNow), core.CodeRequestNotPending)
	}
}

func TestNoAskOutlivesItsRequest(t *testing.T) {
	r := newRig(t).awaiting()
	r.askUser(core.AskedNow)
	r.in(Interrupt{Token: r.tok()})
	if _, armed := r.armed()[TimerID{Kind: TimerAsk, ID: "req_1"}]; armed {
		t.Error("a timer is left of a request that has ended")
	}
}

func closesAtRest(c *core.SessionConfig) { c.CloseAtRest = true }

func TestASessionThatClosesAtRestWaitsForItsFirstTurnAndItsQueue(t *testing.T) {
	r := newRig(t, closesAtRest).running().with("trn_2")
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted})
	r.notice(core.OpDone{Op: sentOp[core.StartTurn](r).ID}, core.TurnEnded{Turn: "trn_2", Verdict: core.VerdictFailed})
	r.status(core.StatusClosing)
	r.in(HungUp{Epoch: 1})
	r.status(core.StatusClosed)
	if got := r.events(""); got != "session_started session_ready session_idle turn_accepted turn_started turn_queued queue_changed "+
		"turn_completed queue_changed turn_accepted turn_started turn_failed{provider_error} session_idle session_closed" {
		t.Errorf("events %s", got)
	}
	if n := len(r.armed()); n > 0 {
		t.Errorf("%d timers are left: %v", n, r.armed())
	}
}

func TestACloseOfASessionThatIsClosingAtRestJoinsIt(t *testing.T) {
	r := newRig(t, closesAtRest).running()
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted})
	tok := r.tok()
	r.in(Close{Token: tok})
	r.unanswered(tok)
	r.in(HungUp{Epoch: 1})
	if v := r.replied(tok).Value.(core.SessionView); v.Session.Status != core.StatusClosed {
		t.Errorf("closed as %s", v.Session.Status)
	}
}
