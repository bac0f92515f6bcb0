package machine

import (
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Races are orders of inputs: each test is one order, or two that must end the
// same.

func TestAnInterruptBeforeAcceptanceIsSentOnceTheTurnIsAccepted(t *testing.T) {
	r := newRig(t).starting()
	asked := r.now
	r.in(Interrupt{Token: r.tok()})
	r.want("cancel_requested; arm interrupt; reply ok")
	r.wait(5 * time.Second)
	r.notice(core.OpDone{Op: sentOp[core.StartTurn](r).ID, Ref: "ref_1"})
	r.want("turn_started; send Interrupt")
	if at := r.armed()[TimerID{Kind: TimerInterrupt, ID: "trn_1"}]; !at.Equal(asked.Add(15 * time.Second)) {
		t.Errorf("the interrupt timer is due at %v: it must run from the interrupt, not from its sending", at)
	}
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCancelled})
	r.want("turn_cancelled session_idle; arm session_idle")
}

func TestAnInterruptOfATurnThatTheProviderRefusesEndsAsARejection(t *testing.T) {
	r := newRig(t).cancellingStart()
	r.notice(core.OpDone{Op: sentOp[core.StartTurn](r).ID, Err: rejection()})
	r.want("turn_failed{rejected} session_idle; arm session_idle")
	if strings.Contains(describeEffects(r.all), "send Interrupt") {
		t.Error("nothing was there to interrupt")
	}
}

func TestASecondInterruptIsAcknowledgedAndMovesNoTimer(t *testing.T) {
	r := newRig(t).cancelling()
	due := r.armed()[TimerID{Kind: TimerInterrupt, ID: "trn_1"}]
	r.wait(10 * time.Second)
	r.in(Interrupt{Token: r.tok()})
	r.want("reply ok")
	if got := r.armed()[TimerID{Kind: TimerInterrupt, ID: "trn_1"}]; !got.Equal(due) {
		t.Errorf("the interrupt timer moved from %v to %v", due, got)
	}
}

func TestACompletedTurnStaysCompletedWhenItsInterruptCameTooLate(t *testing.T) {
	r := newRig(t).cancelling()
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted})
	if got := r.s.Last.Status; got != core.TurnDoneCompleted {
		t.Errorf("the turn is %s", got)
	}
	r.notice(core.OpDone{Op: sentInterrupt(r), Err: rejection()})
	r.want("provider_event{late_op_done}")
}

func sentInterrupt(r *rig) core.OpID { return sentOp[core.Interrupt](r).ID }

func TestAVerdictInTheSameDrainWinsOverTheInterruptTimer(t *testing.T) {
	r := newRig(t).cancelling()
	r.in(r.noticed(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCancelled}), TimerDue{Timer: TimerID{Kind: TimerInterrupt, ID: "trn_1"}})
	r.status(core.StatusIdle)
	if r.s.Last.Status != core.TurnDoneCancelled {
		t.Errorf("the turn is %s", r.s.Last.Status)
	}
}

func TestNoVerdictOnAnInterruptFailsTheSession(t *testing.T) {
	r := newRig(t).cancelling().with("trn_q1", "trn_q2")
	r.fire(TimerID{Kind: TimerInterrupt, ID: "trn_1"})
	r.want("turn_interrupted{no_provider_verdict} turn_interrupted{queue_cleared} turn_interrupted{queue_cleared} queue_changed; hangup 0s; arm hangup")
	r.in(HungUp{Epoch: 1})
	r.want("session_failed{no_provider_verdict}")
	r.status(core.StatusFailed)
}

func TestAnAnswerThatRacesTheEndOfTheTurnIsTooLate(t *testing.T) {
	r := newRig(t).claimed()
	answer := r.token
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted})
	r.want("request_expired{turn_ended} turn_completed session_idle; reply request_not_pending{expired}; arm session_idle")
	r.notice(core.OpDone{Op: sentOp[core.Respond](r).ID})
	r.want("provider_event{late_op_done}")
	r.code(answer, core.CodeRequestNotPending)
}

func TestTheFirstOfTwoAnswersCounts(t *testing.T) {
	r := newRig(t).awaiting()
	first, second := r.tok(), r.tok()
	r.in(Respond{Token: first, RequestID: "req_1", Response: core.Response{Action: core.ActionApprove}, By: core.ByCaller},
		Respond{Token: second, RequestID: "req_1", Response: core.Response{Action: core.ActionDeny}, By: core.ByUser})
	r.code(second, core.CodeRequestNotPending)
	r.unanswered(first)
	r.notice(core.OpDone{Op: sentOp[core.Respond](r).ID})
	if q, ok := r.replied(first).Value.(core.Request); !ok || q.Status != core.RequestDoneResolved || q.Resolution.Action != core.ActionApprove || q.Resolution.Scope != core.ScopeOnce {
		t.Errorf("answered with %+v", r.replied(first))
	}
	r.status(core.StatusRunning)
}

func TestARejectedAnswerIsPendingAgain(t *testing.T) {
	r := newRig(t).claimed()
	r.notice(core.OpDone{Op: sentOp[core.Respond](r).ID, Err: rejection()})
	r.code(r.token, core.CodeResponseRejected)
	again := r.tok()
	r.in(Respond{Token: again, RequestID: "req_1", Response: core.Response{Action: core.ActionDeny}, By: core.ByCaller})
	r.want("send Respond(deny); arm command")
}

func TestARejectionAfterTheDeadlineExpiresTheRequestAtOnce(t *testing.T) {
	r := newRig(t, func(c *core.SessionConfig) { c.Timeouts.Request = 10 * time.Second }).claimed()
	r.wait(10 * time.Second)
	r.in(TimerDue{Timer: TimerID{Kind: TimerRequest, ID: "req_1"}})
	r.want("nothing") // a claim is not disturbed
	r.notice(core.OpDone{Op: sentOp[core.Respond](r).ID, Err: rejection()})
	r.want("request_expired{no_answer}; reply response_rejected; send Respond(deny); arm command")
	r.status(core.StatusRunning)
}

func TestAWithdrawalOfAClaimedRequestIsItsAcknowledgement(t *testing.T) {
	r := newRig(t).claimed()
	r.notice(core.RequestWithdrawn{Ref: "ask_1"})
	r.want("request_resolved; reply ok")
	r.notice(core.OpDone{Op: sentOp[core.Respond](r).ID})
	r.want("provider_event{late_op_done}")
}

func TestAnAnswerOfUnknownFateRetiresTheSession(t *testing.T) {
	r := newRig(t).claimed()
	r.fire(TimerID{Kind: TimerCommand, Op: sentOp[core.Respond](r).ID})
	r.want("request_expired{response_uncertain} turn_failed{uncertain}; reply response_uncertain; hangup 0s; arm hangup")
	r.in(HungUp{Epoch: 1})
	r.status(core.StatusFailed)
}

func TestASteerOfUnknownFateChangesNothing(t *testing.T) {
	r := newRig(t).running()
	r.in(Steer{Token: r.tok(), Input: core.TurnInput{Prompt: "left"}})
	r.fire(TimerID{Kind: TimerCommand, Op: sentOp[core.Steer](r).ID})
	r.want("reply response_uncertain")
	r.status(core.StatusRunning)
	r.notice(core.OpDone{Op: sentOp[core.Steer](r).ID})
	r.want("provider_event{late_op_done}")
}

func TestASteerThatIsTakenAfterTheTurnEndedIsLate(t *testing.T) {
	r := newRig(t).running()
	tok := r.tok()
	r.in(Steer{Token: tok, Input: core.TurnInput{Prompt: "left"}})
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted}, core.OpDone{Op: sentOp[core.Steer](r).ID})
	r.code(tok, core.CodeTurnNotActive)
	if !strings.HasSuffix(r.events(""), "steered(late)") {
		t.Error(r.events(""))
	}
}

func TestACommandThatIsTakenWhileTheSessionClosesSaysClosed(t *testing.T) {
	r := newRig(t).running()
	steer, conf := r.tok(), r.tok()
	r.in(Steer{Token: steer, Input: core.TurnInput{Prompt: "left"}}, Configure{Token: conf, Changes: core.Changes{Model: "m2"}}, Close{Token: r.tok()})
	r.notice(core.OpDone{Op: sentOp[core.Steer](r).ID}, core.OpDone{Op: sentOp[core.Configure](r).ID})
	r.code(steer, core.CodeSessionClosed)
	r.code(conf, core.CodeSessionClosed)
	if !strings.Contains(r.events(""), "steered session_updated") {
		t.Error("what the provider did belongs in the journal: " + r.events(""))
	}
}

func TestOnlyOneConfigureIsOnItsWay(t *testing.T) {
	r := newRig(t).idle()
	first, second := r.tok(), r.tok()
	r.in(Configure{Token: first, Changes: core.Changes{Model: "m2"}}, Configure{Token: second, Changes: core.Changes{Model: "m3"}})
	r.code(second, core.CodeCommandInProgress)
	r.notice(core.OpDone{Op: sentOp[core.Configure](r).ID})
	r.want("session_updated; reply ok")
	if r.s.Model != "m2" {
		t.Errorf("the model is %s", r.s.Model)
	}
}

func TestAProviderTurnBeforeOursStopsItsStartTimer(t *testing.T) {
	r := newRig(t, func(c *core.SessionConfig) { c.Timeouts.TurnIdle = time.Minute }).waiting()
	for _, id := range []TimerID{{Kind: TimerTurnStart, ID: "trn_1"}, {Kind: TimerTurnIdle, ID: "trn_1"}} {
		if _, armed := r.armed()[id]; armed {
			t.Errorf("%v runs while a provider's turn is first", id)
		}
	}
	r.wait(time.Hour)
	r.notice(core.TurnEnded{Turn: "auto", Verdict: core.VerdictCompleted})
	r.want("turn_completed; arm turn_start; arm turn_idle")
	r.status(core.StatusStarting)
	r.notice(core.OpDone{Op: sentOp[core.StartTurn](r).ID, Ref: "ref_1"})
	r.want("turn_started")
}

func TestOursStartsWhenTheProvidersTurnEndsIfItWasAcceptedMeanwhile(t *testing.T) {
	r := newRig(t).waiting()
	r.notice(core.OpDone{Op: sentOp[core.StartTurn](r).ID, Ref: "ref_1"})
	r.want("nothing")
	r.notice(core.OpDone{Op: sentOp[core.StartTurn](r).ID, Err: rejection()}) // no refusal after the acceptance
	r.want("provider_event{late_op_done}")
	r.notice(core.TurnEnded{Turn: "auto", Verdict: core.VerdictCompleted})
	r.want("turn_completed turn_started")
	r.status(core.StatusRunning)
}

func TestAProviderTurnBehindOursIsOnlyAnEvent(t *testing.T) {
	r := newRig(t).running()
	r.notice(core.TurnBegan{Turn: "auto"}, core.TurnEnded{Turn: "auto", Verdict: core.VerdictCompleted})
	r.want("provider_event{turn_began} provider_event{late_turn_ended}(late)")
	r.status(core.StatusRunning)
}

func TestTwoResultsEndTwoTurnsInEitherOrder(t *testing.T) {
	for _, order := range [][]string{{"auto", "trn_1"}, {"trn_1", "auto"}} {
		r := newRig(t).waiting()
		r.notice(core.TurnEnded{Turn: order[0], Verdict: core.VerdictCompleted}, core.TurnEnded{Turn: order[1], Verdict: core.VerdictCompleted})
		r.status(core.StatusIdle)
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
	r.notice(core.OpDone{Op: sentOp[core.StartTurn](r).ID, Ref: "ref_1"})
	r.in(Close{Token: tok})
	r.notice(core.TurnEnded{Turn: "auto", Verdict: core.VerdictCancelled})
	r.want("turn_cancelled turn_started; send Interrupt")
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCancelled})
	r.want("turn_cancelled; hangup 10s; arm hangup")
	r.in(HungUp{Epoch: 1})
	r.replied(tok)
	r.status(core.StatusClosed)
}

func TestALateWordOnOurEndedTurnBeginsNoOther(t *testing.T) {
	r := newRig(t).running()
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted}, core.TurnBegan{Turn: "trn_1", Ref: "ref_1"})
	r.status(core.StatusIdle)
}

func TestContentThatComesTooLateBelongsToTheSession(t *testing.T) {
	r := newRig(t).running()
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted}, core.Content{Turn: "trn_1", Payload: core.Message{Item: "i", Text: "late"}})
	if !strings.HasSuffix(r.events(""), "message(late)") || strings.Contains(r.events("trn_1"), "message") {
		t.Errorf("%s; of the turn: %s", r.events(""), r.events("trn_1"))
	}
	if r.s.Last.Text != "" {
		t.Error("a late message changed the ended turn")
	}
}

func TestATurnNobodyKnowsIsKeptAsAnEvent(t *testing.T) {
	r := newRig(t).running()
	r.notice(core.Content{Turn: "who", Payload: core.Message{Item: "i"}}, core.TurnEnded{Turn: "who", Verdict: core.VerdictCompleted})
	r.want("message(late) provider_event{late_turn_ended}(late)")
	r.status(core.StatusRunning)
}

func TestARequestWithoutATurnIsDeclined(t *testing.T) {
	for _, c := range []struct {
		actions []core.Action
		want    core.Action
	}{{[]core.Action{core.ActionApprove, core.ActionDeny}, core.ActionDeny}, {[]core.Action{core.ActionApprove, core.ActionCancel}, core.ActionCancel}, {[]core.Action{core.ActionAnswer}, core.ActionCancel}} {
		r := newRig(t).idle()
		r.notice(core.RequestRaised{Ref: "ask", Spec: core.RequestSpec{Actions: c.actions}})
		if got := sentOp[core.Respond](r).Response.Action; got != c.want {
			t.Errorf("of %v it was declined with %s", c.actions, got)
		}
		r.status(core.StatusIdle)
	}
}

func TestAnOldEpochIsNotHeard(t *testing.T) {
	r := newRig(t).running()
	before := frozenState(t, r.s)
	r.in(Notice{Epoch: 0, Notice: core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted}}, LinkLost{Epoch: 2}, HungUp{Epoch: 2})
	r.want("nothing")
	if frozenState(t, r.s) != before {
		t.Error("the State changed")
	}
}
