package core

import (
	"strings"
	"testing"
	"time"
)

// Races are orders of inputs: each test is one order, or two that must end the
// same.

func TestAnInterruptBeforeAcceptanceIsSentOnceTheTurnIsAccepted(t *testing.T) {
	r := newRig(t).starting()
	asked := r.now
	r.in(inInterrupt{Token: r.tok()})
	r.want("cancel_requested; arm interrupt; reply ok")
	r.wait(5 * time.Second)
	r.notice(OpDone{Op: sentOp[StartTurn](r).ID, Ref: "ref_1"})
	r.want("turn_started; send Interrupt")
	if at := r.armed()[TimerID{Kind: TimerInterrupt, ID: "trn_1"}]; !at.Equal(asked.Add(15 * time.Second)) {
		t.Errorf("the interrupt timer is due at %v: it must run from the interrupt, not from its sending", at)
	}
	r.notice(TurnEnded{Turn: "trn_1", Verdict: VerdictCancelled})
	r.want("turn_cancelled session_idle; arm session_idle")
}

func TestAnInterruptOfATurnThatTheProviderRefusesEndsAsARejection(t *testing.T) {
	r := newRig(t).cancellingStart()
	r.notice(OpDone{Op: sentOp[StartTurn](r).ID, Err: rejection()})
	r.want("turn_failed{rejected} session_idle; arm session_idle")
	if strings.Contains(describeEffects(r.all), "send Interrupt") {
		t.Error("nothing was there to interrupt")
	}
}

func TestASecondInterruptIsAcknowledgedAndMovesNoTimer(t *testing.T) {
	r := newRig(t).cancelling()
	due := r.armed()[TimerID{Kind: TimerInterrupt, ID: "trn_1"}]
	r.wait(10 * time.Second)
	r.in(inInterrupt{Token: r.tok()})
	r.want("reply ok")
	if got := r.armed()[TimerID{Kind: TimerInterrupt, ID: "trn_1"}]; !got.Equal(due) {
		t.Errorf("the interrupt timer moved from %v to %v", due, got)
	}
}

func TestACompletedTurnStaysCompletedWhenItsInterruptCameTooLate(t *testing.T) {
	r := newRig(t).cancelling()
	r.notice(TurnEnded{Turn: "trn_1", Verdict: VerdictCompleted})
	if got := r.s.Last.Status; got != TurnDoneCompleted {
		t.Errorf("the turn is %s", got)
	}
	r.notice(OpDone{Op: sentInterrupt(r), Err: rejection()})
	r.want("provider_event{late_op_done}")
}

func sentInterrupt(r *rig) OpID { return sentOp[Interrupt](r).ID }

func TestAVerdictInTheSameDrainWinsOverTheInterruptTimer(t *testing.T) {
	r := newRig(t).cancelling()
	r.in(r.noticed(TurnEnded{Turn: "trn_1", Verdict: VerdictCancelled}), inTimer{Timer: TimerID{Kind: TimerInterrupt, ID: "trn_1"}})
	r.status(StatusIdle)
	if r.s.Last.Status != TurnDoneCancelled {
		t.Errorf("the turn is %s", r.s.Last.Status)
	}
}

func TestNoVerdictOnAnInterruptFailsTheSession(t *testing.T) {
	r := newRig(t).cancelling().with("trn_q1", "trn_q2")
	r.fire(TimerID{Kind: TimerInterrupt, ID: "trn_1"})
	r.want("turn_interrupted{no_provider_verdict} turn_interrupted{queue_cleared} turn_interrupted{queue_cleared} queue_changed; hangup 0s; arm hangup")
	r.in(inHungUp{Epoch: 1})
	r.want("session_failed{no_provider_verdict}")
	r.status(StatusFailed)
}

func TestAnAnswerThatRacesTheEndOfTheTurnIsTooLate(t *testing.T) {
	r := newRig(t).claimed()
	answer := r.token
	r.notice(TurnEnded{Turn: "trn_1", Verdict: VerdictCompleted})
	r.want("request_expired{turn_ended} turn_completed session_idle; reply request_not_pending{expired}; arm session_idle")
	r.notice(OpDone{Op: sentOp[Respond](r).ID})
	r.want("provider_event{late_op_done}")
	r.code(answer, CodeRequestNotPending)
}

func TestTheFirstOfTwoAnswersCounts(t *testing.T) {
	r := newRig(t).awaiting()
	first, second := r.tok(), r.tok()
	r.in(inRespond{Token: first, RequestID: "req_1", Response: Response{Action: ActionApprove}, By: ByCaller},
		inRespond{Token: second, RequestID: "req_1", Response: Response{Action: ActionDeny}, By: ByUser})
	r.code(second, CodeRequestNotPending)
	r.unanswered(first)
	r.notice(OpDone{Op: sentOp[Respond](r).ID})
	if q, ok := r.replied(first).Value.(Request); !ok || q.Status != RequestDoneResolved || q.Resolution.Action != ActionApprove || q.Resolution.Scope != ScopeOnce {
		t.Errorf("answered with %+v", r.replied(first))
	}
	r.status(StatusRunning)
}

func TestARejectedAnswerIsPendingAgain(t *testing.T) {
	r := newRig(t).claimed()
	r.notice(OpDone{Op: sentOp[Respond](r).ID, Err: rejection()})
	r.code(r.token, CodeResponseRejected)
	again := r.tok()
	r.in(inRespond{Token: again, RequestID: "req_1", Response: Response{Action: ActionDeny}, By: ByCaller})
	r.want("send Respond(deny); arm command")
}

func TestARejectionAfterTheDeadlineExpiresTheRequestAtOnce(t *testing.T) {
	r := newRig(t, func(c *SessionConfig) { c.Timeouts.Request = 10 * time.Second }).claimed()
	r.wait(10 * time.Second)
	r.in(inTimer{Timer: TimerID{Kind: TimerRequest, ID: "req_1"}})
	r.want("nothing") // a claim is not disturbed
	r.notice(OpDone{Op: sentOp[Respond](r).ID, Err: rejection()})
	r.want("request_expired{no_answer}; reply response_rejected; send Respond(deny); arm command")
	r.status(StatusRunning)
}

func TestAWithdrawalOfAClaimedRequestIsItsAcknowledgement(t *testing.T) {
	r := newRig(t).claimed()
	r.notice(RequestWithdrawn{Ref: "ask_1"})
	r.want("request_resolved; reply ok")
	r.notice(OpDone{Op: sentOp[Respond](r).ID})
	r.want("provider_event{late_op_done}")
}

func TestAnAnswerOfUnknownFateRetiresTheSession(t *testing.T) {
	r := newRig(t).claimed()
	r.fire(TimerID{Kind: TimerCommand, Op: sentOp[Respond](r).ID})
	r.want("request_expired{response_uncertain} turn_failed{uncertain}; reply response_uncertain; hangup 0s; arm hangup")
	r.in(inHungUp{Epoch: 1})
	r.status(StatusFailed)
}

func TestASteerOfUnknownFateChangesNothing(t *testing.T) {
	r := newRig(t).running()
	r.in(inSteer{Token: r.tok(), Input: TurnInput{Prompt: "left"}})
	r.fire(TimerID{Kind: TimerCommand, Op: sentOp[Steer](r).ID})
	r.want("reply response_uncertain")
	r.status(StatusRunning)
	r.notice(OpDone{Op: sentOp[Steer](r).ID})
	r.want("provider_event{late_op_done}")
}

func TestASteerThatIsTakenAfterTheTurnEndedIsLate(t *testing.T) {
	r := newRig(t).running()
	tok := r.tok()
	r.in(inSteer{Token: tok, Input: TurnInput{Prompt: "left"}})
	r.notice(TurnEnded{Turn: "trn_1", Verdict: VerdictCompleted}, OpDone{Op: sentOp[Steer](r).ID})
	r.code(tok, CodeTurnNotActive)
	if !strings.HasSuffix(r.events(""), "steered(late)") {
		t.Error(r.events(""))
	}
}

func TestACommandThatIsTakenWhileTheSessionClosesSaysClosed(t *testing.T) {
	r := newRig(t).running()
	steer, conf := r.tok(), r.tok()
	r.in(inSteer{Token: steer, Input: TurnInput{Prompt: "left"}}, inConfigure{Token: conf, Changes: Changes{Model: "m2"}}, inClose{Token: r.tok()})
	r.notice(OpDone{Op: sentOp[Steer](r).ID}, OpDone{Op: sentOp[Configure](r).ID})
	r.code(steer, CodeSessionClosed)
	r.code(conf, CodeSessionClosed)
	if !strings.Contains(r.events(""), "steered session_updated") {
		t.Error("what the provider did belongs in the journal: " + r.events(""))
	}
}

func TestOnlyOneConfigureIsOnItsWay(t *testing.T) {
	r := newRig(t).idle()
	first, second := r.tok(), r.tok()
	r.in(inConfigure{Token: first, Changes: Changes{Model: "m2"}}, inConfigure{Token: second, Changes: Changes{Model: "m3"}})
	r.code(second, CodeCommandInProgress)
	r.notice(OpDone{Op: sentOp[Configure](r).ID})
	r.want("session_updated; reply ok")
	if r.s.Model != "m2" {
		t.Errorf("the model is %s", r.s.Model)
	}
}

func TestAProviderTurnBeforeOursStopsItsStartTimer(t *testing.T) {
	r := newRig(t, func(c *SessionConfig) { c.Timeouts.TurnIdle = time.Minute }).waiting()
	for _, id := range []TimerID{{Kind: TimerTurnStart, ID: "trn_1"}, {Kind: TimerTurnIdle, ID: "trn_1"}} {
		if _, armed := r.armed()[id]; armed {
			t.Errorf("%v runs while a provider's turn is first", id)
		}
	}
	r.wait(time.Hour)
	r.notice(TurnEnded{Turn: "auto", Verdict: VerdictCompleted})
	r.want("turn_completed; arm turn_start; arm turn_idle")
	r.status(StatusStarting)
	r.notice(OpDone{Op: sentOp[StartTurn](r).ID, Ref: "ref_1"})
	r.want("turn_started")
}

func TestOursStartsWhenTheProvidersTurnEndsIfItWasAcceptedMeanwhile(t *testing.T) {
	r := newRig(t).waiting()
	r.notice(OpDone{Op: sentOp[StartTurn](r).ID, Ref: "ref_1"})
	r.want("nothing")
	r.notice(OpDone{Op: sentOp[StartTurn](r).ID, Err: rejection()}) // no refusal after the acceptance
	r.want("provider_event{late_op_done}")
	r.notice(TurnEnded{Turn: "auto", Verdict: VerdictCompleted})
	r.want("turn_completed turn_started")
	r.status(StatusRunning)
}

func TestAProviderTurnBehindOursIsOnlyAnEvent(t *testing.T) {
	r := newRig(t).running()
	r.notice(TurnBegan{Turn: "auto"}, TurnEnded{Turn: "auto", Verdict: VerdictCompleted})
	r.want("provider_event{turn_began} provider_event{late_turn_ended}(late)")
	r.status(StatusRunning)
}

func TestTwoResultsEndTwoTurnsInEitherOrder(t *testing.T) {
	for _, order := range [][]string{{"auto", "trn_1"}, {"trn_1", "auto"}} {
		r := newRig(t).waiting()
		r.notice(TurnEnded{Turn: order[0], Verdict: VerdictCompleted}, TurnEnded{Turn: order[1], Verdict: VerdictCompleted})
		r.status(StatusIdle)
		for _, id := range []string{"trn_1", "trn_theirs"} {
			if ev := r.events(id); ev != "turn_accepted turn_started turn_completed" {
				t.Errorf("%v: %s has %s", order, id, ev)
			}
		}
	}
}

func TestACloseWithAProviderTurnFirstStopsBoth(t *testing.T) {
	r := newRig(t).waiting()
	tok := r.tok()
	r.notice(OpDone{Op: sentOp[StartTurn](r).ID, Ref: "ref_1"})
	r.in(inClose{Token: tok})
	r.notice(TurnEnded{Turn: "auto", Verdict: VerdictCancelled})
	r.want("turn_cancelled turn_started; send Interrupt")
	r.notice(TurnEnded{Turn: "trn_1", Verdict: VerdictCancelled})
	r.want("turn_cancelled; hangup 10s; arm hangup")
	r.in(inHungUp{Epoch: 1})
	r.replied(tok)
	r.status(StatusClosed)
}

func TestALateWordOnOurEndedTurnBeginsNoOther(t *testing.T) {
	r := newRig(t).running()
	r.notice(TurnEnded{Turn: "trn_1", Verdict: VerdictCompleted}, TurnBegan{Turn: "trn_1", Ref: "ref_1"})
	r.status(StatusIdle)
}

func TestContentThatComesTooLateBelongsToTheSession(t *testing.T) {
	r := newRig(t).running()
	r.notice(TurnEnded{Turn: "trn_1", Verdict: VerdictCompleted}, Content{Turn: "trn_1", Payload: Message{Item: "i", Text: "late"}})
	if !strings.HasSuffix(r.events(""), "message(late)") || strings.Contains(r.events("trn_1"), "message") {
		t.Errorf("%s; of the turn: %s", r.events(""), r.events("trn_1"))
	}
	if r.s.Last.Text != "" {
		t.Error("a late message changed the ended turn")
	}
}

func TestATurnNobodyKnowsIsKeptAsAnEvent(t *testing.T) {
	r := newRig(t).running()
	r.notice(Content{Turn: "who", Payload: Message{Item: "i"}}, TurnEnded{Turn: "who", Verdict: VerdictCompleted})
	r.want("message(late) provider_event{late_turn_ended}(late)")
	r.status(StatusRunning)
}

func TestARequestWithoutATurnIsDeclined(t *testing.T) {
	for _, c := range []struct {
		actions []Action
		want    Action
	}{{[]Action{ActionApprove, ActionDeny}, ActionDeny}, {[]Action{ActionApprove, ActionCancel}, ActionCancel}, {[]Action{ActionAnswer}, ActionCancel}} {
		r := newRig(t).idle()
		r.notice(RequestRaised{Ref: "ask", Spec: RequestSpec{Actions: c.actions}})
		if got := sentOp[Respond](r).Response.Action; got != c.want {
			t.Errorf("of %v it was declined with %s", c.actions, got)
		}
		r.status(StatusIdle)
	}
}

func TestAnOldEpochIsNotHeard(t *testing.T) {
	r := newRig(t).running()
	before := frozenState(t, r.s)
	r.in(inNotice{Epoch: 0, Notice: TurnEnded{Turn: "trn_1", Verdict: VerdictCompleted}}, inLinkLost{Epoch: 2}, inHungUp{Epoch: 2})
	r.want("nothing")
	if frozenState(t, r.s) != before {
		t.Error("the State changed")
	}
}
