package core

import (
	"testing"
	"time"
)

func (r *rig) askUser(said string) Token {
	t := r.tok()
	r.in(inAsk{Token: t, RequestID: "req_1", Said: said, For: 45 * time.Second})
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
	r.askUser(AskedNow)
	r.want("arm ask; reply ok")
	r.code(r.askUser(AskedNow), CodeCommandInProgress)
	r.askUser(AskedDeclined)
	r.code(r.askUser(AskedNow), CodeCommandInProgress)
	if got := r.askedUser(); got != AskedDeclined {
		t.Errorf("the person has said %q", got)
	}
	r.status(StatusAwaitingInput)
}

func TestAPersonWhoDoesNotAnswerLeavesTheRequestPending(t *testing.T) {
	r := newRig(t).awaiting()
	r.askUser(AskedNow)
	r.fire(TimerID{Kind: TimerAsk, ID: "req_1"})
	if got := r.askedUser(); got != AskedNoAnswer {
		t.Errorf("the person has said %q", got)
	}
	late := r.tok()
	r.in(inRespond{Token: late, RequestID: "req_1", Response: Response{Action: ActionApprove}, By: ByUser, Client: "ide"})
	r.notice(OpDone{Op: sentOp[Respond](r).ID})
	q := r.replied(late).Value.(Request)
	if q.Resolution.By != ByUser || q.Resolution.Client != "ide" || q.AskedUser != AskedNoAnswer {
		t.Errorf("resolved %+v, asked %q", q.Resolution, q.AskedUser)
	}
}

func TestTheEndOfAWaitTakesNothingBackThatAPersonSaid(t *testing.T) {
	r := newRig(t).awaiting()
	r.askUser(AskedNow)
	r.askUser(AskedCancelled)
	r.askUser(AskedNoAnswer)
	if got := r.askedUser(); got != AskedCancelled {
		t.Errorf("the person has said %q", got)
	}
}

func TestNobodyIsAskedWhatIsBeingAnsweredOrOver(t *testing.T) {
	r := newRig(t).claimed()
	r.code(r.askUser(AskedNow), CodeRequestNotPending)
	r.notice(OpDone{Op: sentOp[Respond](r).ID})
	r.code(r.askUser(AskedNow), CodeRequestNotPending)
	for _, at := range []*rig{newRig(t).idle(), newRig(t).closed(), newRig(t).unavailable(), newRig(t).opening()} {
		at.code(at.askUser(AskedNow), CodeRequestNotPending)
	}
}

func TestNoAskOutlivesItsRequest(t *testing.T) {
	r := newRig(t).awaiting()
	r.askUser(AskedNow)
	r.in(inInterrupt{Token: r.tok()})
	if _, armed := r.armed()[TimerID{Kind: TimerAsk, ID: "req_1"}]; armed {
		t.Error("a timer is left of a request that has ended")
	}
}

func closesAtRest(c *SessionConfig) { c.CloseAtRest = true }

func TestASessionThatClosesAtRestWaitsForItsFirstTurnAndItsQueue(t *testing.T) {
	r := newRig(t, closesAtRest).running().with("trn_2")
	r.notice(TurnEnded{Turn: "trn_1", Verdict: VerdictCompleted})
	r.notice(OpDone{Op: sentOp[StartTurn](r).ID}, TurnEnded{Turn: "trn_2", Verdict: VerdictFailed})
	r.status(StatusClosing)
	r.in(inHungUp{Epoch: 1})
	r.status(StatusClosed)
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
	r.notice(TurnEnded{Turn: "trn_1", Verdict: VerdictCompleted})
	tok := r.tok()
	r.in(inClose{Token: tok})
	r.unanswered(tok)
	r.in(inHungUp{Epoch: 1})
	if v := r.replied(tok).Value.(SessionView); v.Session.Status != StatusClosed {
		t.Errorf("closed as %s", v.Session.Status)
	}
}
