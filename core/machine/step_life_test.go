package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unique"

	"github.com/google/go-cmp/cmp"
	"github.com/harness-mcp/harness-mcp/core"
)

func TestQueuedTurnsRunInOrderAndAreNotOvertaken(t *testing.T) {
	r := newRig(t).running().with("trn_2", "trn_3", "trn_4")
	refused := r.tok()
	r.in(Prompt{Token: refused, TurnID: "trn_5", Input: core.TurnInput{Prompt: "first!"}})
	r.code(refused, core.CodeTurnInProgress)
	for _, end := range []struct {
		id string
		v  core.Verdict
	}{{"trn_1", core.VerdictCompleted}, {"trn_2", core.VerdictFailed}, {"trn_3", core.VerdictCancelled}, {"trn_4", core.VerdictCompleted}} {
		if got := sentOp[core.StartTurn](r).TurnID; got != end.id {
			t.Fatalf("%s was started, want %s", got, end.id)
		}
		r.notice(core.OpDone{Op: sentOp[core.StartTurn](r).ID}, core.TurnEnded{Turn: end.id, Verdict: end.v})
	}
	r.status(core.StatusIdle)
	if n := strings.Count(r.events(""), "session_idle"); n != 2 {
		t.Errorf("idle was said %d times, want at the start and at the end: %s", n, r.events(""))
	}
}

func TestTheQueueIsBoundInTurnsAndInBytes(t *testing.T) {
	r := newRig(t).running()
	for i := range core.MaxQueue {
		r.with(fmt.Sprintf("trn_q%d", i))
	}
	full := r.tok()
	r.in(Prompt{Token: full, TurnID: "trn_over", Queue: true})
	r.code(full, core.CodeQueueFull)

	r = newRig(t).running()
	big := strings.Repeat("x", core.MaxQueueBytes/2)
	toks := []Token{r.tok(), r.tok(), r.tok()}
	for i, tok := range toks {
		r.in(Prompt{Token: tok, TurnID: fmt.Sprintf("trn_big%d", i), Input: core.TurnInput{Prompt: big}, Queue: true})
	}
	if r.replied(toks[1]).Err != nil {
		t.Errorf("exactly the bound was refused: %v", r.replied(toks[1]).Err)
	}
	r.code(toks[2], core.CodeQueueFull)
}

func TestAnAuthenticationFailureDropsTheQueue(t *testing.T) {
	r := newRig(t).running().with("trn_2", "trn_3")
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictFailed, Result: core.Result{Error: &core.TurnError{Code: core.TurnAuthRequired, Message: "sign in"}}})
	r.want("turn_failed{auth_required} turn_interrupted{queue_cleared} turn_interrupted{queue_cleared} queue_changed session_idle; arm session_idle")
}

func TestATurnThatTakesTooLongFailsWithItsCause(t *testing.T) {
	for _, c := range []struct {
		kind TimerKind
		code core.Code
	}{{TimerTurnRuntime, core.TurnRuntimeTimeout}, {TimerTurnIdle, core.TurnIdleTimeout}} {
		slow := func() *rig {
			r := newRig(t, func(cfg *core.SessionConfig) {
				cfg.Timeouts.TurnRuntime, cfg.Timeouts.TurnIdle = time.Minute, 30*time.Second
			}).running()
			r.fire(TimerID{Kind: c.kind, ID: "trn_1"})
			r.status(core.StatusCancelling)
			return r
		}
		for name, end := range map[string]func(*rig){
			"cancelled":  func(r *rig) { r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCancelled}) },
			"failed":     func(r *rig) { r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictFailed}) },
			"no verdict": func(r *rig) { r.fire(TimerID{Kind: TimerInterrupt, ID: "trn_1"}) },
			"link lost":  func(r *rig) { r.in(LinkLost{Epoch: 1}) },
		} {
			r := slow()
			end(r)
			if l := r.s.Last; l.Status != core.TurnDoneFailed || l.Error == nil || l.Error.Code != c.code {
				t.Errorf("%s, %s: the turn is %s with %v", c.code, name, l.Status, l.Error)
			}
		}
		r := slow()
		r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted})
		if l := r.s.Last; l.Status != core.TurnDoneCompleted || l.Error != nil {
			t.Errorf("%s: a turn that completed after all is %s with %v", c.code, l.Status, l.Error)
		}
	}
}

func TestTheIdleClockStandsStillWhileAPersonIsAsked(t *testing.T) {
	r := newRig(t, func(c *core.SessionConfig) { c.Timeouts.TurnIdle, c.Timeouts.TurnRuntime = 30*time.Second, time.Hour }).awaiting()
	idle, runtime := TimerID{Kind: TimerTurnIdle, ID: "trn_1"}, TimerID{Kind: TimerTurnRuntime, ID: "trn_1"}
	if _, runs := r.armed()[idle]; runs {
		t.Error("the idle clock runs while a request is open")
	}
	if _, runs := r.armed()[runtime]; !runs {
		t.Error("the runtime clock does not")
	}
	r.notice(core.Content{Turn: "trn_1", Payload: core.MessageDelta{Item: "i", Text: "x"}}) // another part of the agent goes on
	if _, runs := r.armed()[idle]; runs {
		t.Error("output moved the idle clock while a request is open")
	}
	r.wait(10 * time.Minute)
	r.notice(core.RequestWithdrawn{Ref: "ask_1"})
	if at := r.armed()[idle]; !at.Equal(r.now.Add(30 * time.Second)) {
		t.Errorf("after the answer the idle clock is due at %v", at)
	}
}

func TestARequestThatNobodyAnswersIsDeniedInTheWayItOffers(t *testing.T) {
	for _, c := range []struct {
		actions []core.Action
		want    string
	}{
		{[]core.Action{core.ActionApprove, core.ActionDeny, core.ActionCancel}, "request_expired{no_answer}; send Respond(deny); arm command"},
		{[]core.Action{core.ActionApprove, core.ActionCancel}, "request_expired{no_answer}; send Respond(cancel); arm command"},
		{[]core.Action{core.ActionAnswer}, "request_expired{no_answer} cancel_requested; arm interrupt; send Interrupt(ask_1)"},
	} {
		r := newRig(t).running()
		r.ask("trn_1", "ask_1", core.RequestSpec{Kind: core.KindQuestion, Actions: c.actions}, "req_1")
		r.fire(TimerID{Kind: TimerRequest, ID: "req_1"})
		r.want(c.want)
	}
}

func TestAnAnswerThatMissesItsSchemaLeavesTheRequestPending(t *testing.T) {
	r := newRig(t).running()
	r.s.Base.CheckSchema = func(schema, doc json.RawMessage) error {
		if string(schema) == `"none"` || doc != nil && string(doc) != `{"ok":1}` {
			return errors.New("ok is missing")
		}
		return nil
	}
	form := core.RequestSpec{Kind: core.KindMCPElicitation, Actions: []core.Action{core.ActionAnswer, core.ActionDeny}, Schema: json.RawMessage(`{}`)}
	r.ask("trn_1", "ask_1", form, "req_1")
	answer := func(id, content string) Token {
		tok := r.tok()
		r.in(Respond{Token: tok, RequestID: id, Response: core.Response{Action: core.ActionAnswer, Content: json.RawMessage(content)}, By: core.ByCaller})
		return tok
	}
	r.code(answer("req_1", `{"no":1}`), core.CodeInvalidArgument)
	answer("req_1", `{"ok":1}`)
	r.want("send Respond(answer); arm command")
	form.Schema = json.RawMessage(`"none"`)
	r.ask("trn_1", "ask_2", form, "req_2")
	answer("req_2", `{"no":1}`)
	r.want("send Respond(answer); arm command")
}

func TestAnInterruptThatHasToWaitStillWithdrawsTheRequests(t *testing.T) {
	r := newRig(t).waiting()
	r.ask("trn_1", "ask_1", askApproval(), "req_1")
	r.in(Interrupt{Token: r.tok(), TurnID: "trn_1"})
	r.want("request_expired{interrupted} cancel_requested; arm interrupt; reply ok")
	r.notice(core.TurnEnded{Turn: "auto", Verdict: core.VerdictCompleted})
	r.want("turn_completed turn_started; send Interrupt(ask_1)")
}

// Whatever state a close or a kill meets, it ends the session, and both who
// closes and who joins hear of it once.
func TestACloseEndsTheSessionFromEveryState(t *testing.T) {
	for _, c := range tableColumns {
		for _, force := range []bool{false, true} {
			r := c.build(newRig(t))
			first, second := r.tok(), r.tok()
			was := r.s.Status()
			r.in(Close{Token: first, Force: force}, Close{Token: second})
			r.rest()
			for _, tok := range []Token{first, second} {
				if d := r.replied(tok); d.Err != nil {
					t.Errorf("close of %s: %v", was, d.Err)
				}
			}
			want := core.StatusClosed
			switch {
			case was.Ended():
				want = was
			case force && was != core.StatusOpening:
				want = core.StatusKilled
			}
			if got := r.s.Status(); got != want {
				t.Errorf("close (force %v) of %s ends %s, want %s", force, was, got, want)
			}
			if left := r.armed(); len(left) > 0 {
				t.Errorf("close (force %v) of %s leaves timers %v", force, was, left)
			}
		}
	}
}

// rest lets the world become idle without any verdict of the provider.
func (r *rig) rest() {
	for range 10 {
		if r.s.Link == LinkOpening {
			r.in(Opened{Epoch: r.s.Epoch, Err: core.Errorf(core.CodeStartFailed, "ended")})
		}
		var next TimerID
		var at time.Time
		for id, due := range r.armed() {
			if at.IsZero() || due.Before(at) {
				next, at = id, due
			}
		}
		if at.IsZero() {
			return
		}
		r.fire(next)
		if c := r.s.Closing; c != nil && c.HungUp {
			r.in(HungUp{Epoch: r.s.Epoch})
		}
	}
}

func TestAKillUpgradesAClose(t *testing.T) {
	for _, build := range []func(*rig) *rig{(*rig).closing, (*rig).hangingUp} {
		r := build(newRig(t))
		closer := r.token
		killer := r.tok()
		r.in(Close{Token: killer, Force: true})
		if !strings.Contains(describeEffects(r.out), "hangup 0s") {
			t.Errorf("a kill must end the tree now: %s", describeEffects(r.out))
		}
		r.in(Shutdown{}, HungUp{Epoch: 1}) // what comes later does not soften it
		r.status(core.StatusKilled)
		r.replied(closer)
		r.replied(killer)
	}
}

func TestAHangupThatTakesTooLongKillsTheTree(t *testing.T) {
	r := newRig(t).hangingUp()
	r.fire(TimerID{Kind: TimerHangup})
	r.want("session_closed; hangup 0s; reply ok")
	r.in(HungUp{Epoch: 1})
	r.want("nothing")
}

func TestAResumeGoesOnUnderTheNextEpoch(t *testing.T) {
	for _, build := range []func(*rig) *rig{(*rig).unavailable, (*rig).closed, (*rig).failed, (*rig).killed} {
		r := build(newRig(t))
		tok := r.tok()
		r.in(Resume{Token: tok, Config: r.s.Base.Config}, Opened{Epoch: 2, Ready: core.Ready{ProviderSessionID: "conv2"}})
		r.status(core.StatusIdle)
		v, ok := r.replied(tok).Value.(core.SessionView)
		if !ok || v.Session.Epoch != 2 || v.Session.ProviderSessionID != "conv2" || v.Session.Reason != "" || v.Session.Error != nil {
			t.Errorf("resumed as %+v", r.replied(tok))
		}
		ready := r.all[len(r.all)-1]
		for _, e := range r.out {
			if a, ok := e.(Append); ok && a.Type == core.SessionReady {
				ready = a
			}
		}
		if d := ready.(Append).Data.(dataReady); !d.Resumed || d.Epoch != 2 {
			t.Errorf("session_ready says %+v", d)
		}
	}
}

func TestAFailedResumeChangesNothing(t *testing.T) {
	for _, c := range tableColumns {
		if s := c.build(newRig(t)).s; s.Status().Live() {
			continue
		}
		for name, fail := range map[string]func(*rig){
			"open error": func(r *rig) { r.in(Opened{Epoch: 2, Err: core.Errorf(core.CodeStartFailed, "no")}) },
			"time-out": func(r *rig) {
				r.fire(TimerID{Kind: TimerStartup})
				r.in(Opened{Epoch: 2, Err: core.Errorf(core.CodeStartFailed, "ended")})
			},
			"time-out, then it comes up": func(r *rig) {
				r.fire(TimerID{Kind: TimerStartup})
				r.in(Opened{Epoch: 2}, HungUp{Epoch: 2})
			},
			"shutdown": func(r *rig) { r.in(Shutdown{}, Opened{Epoch: 2}, HungUp{Epoch: 2}) },
		} {
			r := c.build(newRig(t))
			before, tok := frozenState(t, r.s), r.tok()
			events := len(r.events(""))
			r.in(Resume{Token: tok, Config: r.s.Base.Config})
			fail(r)
			if d := r.replied(tok); d.Err == nil {
				t.Errorf("%s of %s: the resume succeeded", name, c.name)
			}
			if after := frozenState(t, r.s); after != before {
				t.Errorf("%s of %s changed:\n%s", name, c.name, cmp.Diff(before, after))
			}
			if len(r.events("")) != events {
				t.Errorf("%s of %s left events: %s", name, c.name, r.events(""))
			}
			if left := r.armed(); len(left) > 0 {
				t.Errorf("%s of %s leaves timers %v", name, c.name, left)
			}
		}
	}
}

func TestACloseDuringAResumeClosesWhatWasUnavailable(t *testing.T) {
	for _, timedOut := range []bool{false, true} {
		r := newRig(t).unavailable()
		tok := r.tok()
		r.in(Resume{Token: r.tok(), Config: r.s.Base.Config})
		if timedOut {
			r.fire(TimerID{Kind: TimerStartup})
		}
		r.in(Close{Token: tok}, Opened{Epoch: 2, Err: core.Errorf(core.CodeStartFailed, "ended")})
		if got := r.events(""); !strings.HasSuffix(got, "transport_error{transport_lost} session_closed{session_closed}") {
			t.Error(got)
		}
		r.replied(tok)
		r.status(core.StatusClosed)
	}
}

func TestAnOpeningThatComesUpTooLateIsHungUp(t *testing.T) {
	r := newRig(t).opening()
	starter := r.token
	closer := r.tok()
	r.in(Close{Token: closer})
	r.code(starter, core.CodeStartFailed)
	r.unanswered(closer)
	r.in(Opened{Epoch: 1, Ready: core.Ready{PID: 7}})
	r.want("hangup 0s; arm hangup")
	r.in(HungUp{Epoch: 1})
	r.want("discard; reply ok")
	if r.events("") != "" {
		t.Errorf("it left events: %s", r.events(""))
	}
}

func TestAShutdownWaitsForNoVerdict(t *testing.T) {
	r := newRig(t).claimed().with("trn_2")
	r.in(Shutdown{})
	r.want("request_expired{session_shutdown} turn_interrupted{session_shutdown} turn_interrupted{session_shutdown} queue_changed; reply request_not_pending{expired}; hangup 2s; arm hangup")
	r.in(HungUp{Epoch: 1})
	r.want("session_closed{session_shutdown}")
}

func TestRecoveryEndsWhatADeadServerLeft(t *testing.T) {
	r := newRig(t).claimed().with("trn_2")
	r.ask("trn_1", "ask_2", askApproval(), "req_2")
	r.in(Recover{Reason: core.ReasonServerRestarted})
	if got := r.events(""); !strings.HasSuffix(got, "transport_error{server_restarted} request_expired{response_uncertain} request_expired{server_restarted} turn_interrupted{server_restarted} turn_interrupted{server_restarted} queue_changed") {
		t.Error(got)
	}
	r.status(core.StatusUnavailable)
}

func TestAStoreThatFailsUnderDegradeKeepsTheCourse(t *testing.T) {
	r := newRig(t).running()
	r.in(StoreFailed{Message: "disk full"}, StoreFailed{Message: "disk full"})
	r.want("store_failed")
	r.notice(core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted})
	if r.s.Snapshot().Durability != core.DurabilityDegraded {
		t.Error("the snapshot does not say so")
	}
	r.in(StoreRecovered{LostFrom: 5, LostTo: 7}, StoreRecovered{LostFrom: 5, LostTo: 7})
	r.want("store_recovered")
	if r.s.Durability != core.Durable {
		t.Error("still degraded")
	}
}

func TestAStoreThatFailsUnderStopTellsEveryoneWhoWaits(t *testing.T) {
	r := newRig(t).claimed().with("trn_2")
	answer, conf, steer := Token(3), r.tok(), r.tok()
	r.in(Configure{Token: conf, Changes: core.Changes{Model: "m2"}}, Steer{Token: steer, Input: core.TurnInput{Prompt: "left"}})
	r.in(StoreFailed{Message: "disk full", Stop: true})
	for _, tok := range []Token{answer, conf, steer} {
		r.code(tok, core.CodeStoreFailed)
	}
	r.in(HungUp{Epoch: 1})
	r.status(core.StatusFailed)
	if r.s.Err == nil || r.s.Err.Code != core.TurnStoreFailed {
		t.Errorf("the session says %v", r.s.Err)
	}
}

func TestAnUncertainStartRetiresTheSession(t *testing.T) {
	r := newRig(t).starting().with("trn_2")
	r.fire(TimerID{Kind: TimerTurnStart, ID: "trn_1"})
	r.want("turn_failed{uncertain} turn_interrupted{queue_cleared} queue_changed; hangup 0s; arm hangup")
	r.in(HungUp{Epoch: 1})
	r.status(core.StatusFailed)
}

func TestWhatAProviderCannotDoIsRefusedBeforeItIsSent(t *testing.T) {
	r := newRig(t).running()
	base := *r.s.Base
	base.Capabilities = unique.Make(core.Capabilities{})
	r.s.Base = &base
	toks := []Token{r.tok(), r.tok(), r.tok()}
	r.in(Steer{Token: toks[0]}, Interrupt{Token: toks[1]}, Configure{Token: toks[2]})
	for _, tok := range toks {
		r.code(tok, core.CodeCapability)
	}
	r.want("reply capability_unsupported; reply capability_unsupported; reply capability_unsupported")
}

func TestAStoreThatFailsBeforeTheStartLeavesNothing(t *testing.T) {
	r := newRig(t)
	r.in(StoreFailed{Message: "disk full", Stop: true})
	r.want("discard")
	if r.s.End != EndGone {
		t.Errorf("it ended as %d", r.s.End)
	}
	tok := r.tok()
	r.in(Resume{Token: tok, Config: r.s.Base.Config})
	r.code(tok, core.CodeNotFound)
}
