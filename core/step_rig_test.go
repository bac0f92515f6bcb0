package core

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The rig drives one machine by hand: inputs in, effects out, and a clock that
// only moves when a test says so.
type rig struct {
	t     testing.TB
	s     State
	now   time.Time
	out   []Effect // of the inputs of the last call of in
	all   []Effect // since the rig was made
	token Token
	ids   int
}

var rigStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rigTimeouts has every bound that a session always has; tests add the ones
// that are optional.
func rigTimeouts() Timeouts {
	return Timeouts{Startup: 30 * time.Second, TurnStart: 30 * time.Second, ProviderCommand: 30 * time.Second,
		Interrupt: 15 * time.Second, ProviderStop: 10 * time.Second, SessionIdle: time.Hour, Request: 15 * time.Minute}
}

func rigConfig() SessionConfig {
	return SessionConfig{SessionID: "ses_test", Owner: "local", Provider: "fake", Transport: "pipe", CWD: "/work",
		ApprovalMode: ApprovalPrompt, SandboxMode: SandboxReadOnly, Timeouts: rigTimeouts()}
}

func rigCapabilities() Capabilities {
	return Capabilities{Interrupt: Native, Steer: Native, Configure: Native, Resume: Native, Questions: Native, Approvals: Native}
}

func newRig(t testing.TB, change ...func(*SessionConfig)) *rig {
	cfg := rigConfig()
	for _, c := range change {
		c(&cfg)
	}
	return &rig{t: t, now: rigStart, s: NewState(cfg, rigCapabilities(), Durable, rigStart)}
}

// in steps the inputs and gives their effects.
func (r *rig) in(inputs ...Input) []Effect {
	r.t.Helper()
	r.out = nil
	for _, in := range inputs {
		s, out := step(r.s, in, r.now)
		r.s = s
		r.out = append(r.out, out...)
	}
	r.all = append(r.all, r.out...)
	return r.out
}

// notice steps a notice of the present epoch, with fresh ids.
func (r *rig) notice(ns ...Notice) []Effect {
	r.t.Helper()
	var ins []Input
	for _, n := range ns {
		ins = append(ins, r.noticed(n))
	}
	return r.in(ins...)
}

func (r *rig) noticed(n Notice) Input {
	r.ids++
	return inNotice{Epoch: r.s.Epoch, Notice: n, TurnID: fmt.Sprintf("trn_p%d", r.ids), RequestID: fmt.Sprintf("req_%d", r.ids)}
}

func (r *rig) tok() Token { r.token++; return r.token }

func (r *rig) wait(d time.Duration) { r.now = r.now.Add(d) }

// fire steps a timer at the time it is due, which must be armed.
func (r *rig) fire(id TimerID) []Effect {
	r.t.Helper()
	at, ok := r.armed()[id]
	if !ok {
		r.t.Fatalf("timer %v is not armed", id)
	}
	if at.After(r.now) {
		r.now = at
	}
	return r.in(inTimer{Timer: id})
}

// armed gives the timers as a host would hold them.
func (r *rig) armed() map[TimerID]time.Time {
	m := map[TimerID]time.Time{}
	for _, e := range r.all {
		switch e := e.(type) {
		case doArm:
			m[e.Timer] = e.At
		case doDisarm:
			delete(m, e.Timer)
		}
	}
	return m
}

func (r *rig) want(what string) {
	r.t.Helper()
	if got := describeEffects(r.out); got != what {
		r.t.Fatalf("effects\n got %s\nwant %s", got, what)
	}
}

func (r *rig) status(want SessionStatus) {
	r.t.Helper()
	if got := r.s.Status(); got != want {
		r.t.Fatalf("status %s, want %s", got, want)
	}
}

// sentOp gives the last op of type T that was sent.
func sentOp[T Op](r *rig) T {
	r.t.Helper()
	for i := len(r.all) - 1; i >= 0; i-- {
		if s, ok := r.all[i].(doSend); ok {
			if op, ok := s.Op.(T); ok {
				return op
			}
		}
	}
	var zero T
	r.t.Fatalf("no %T was sent", zero)
	return zero
}

// replied gives the one answer that a token got.
func (r *rig) replied(t Token) doReply {
	r.t.Helper()
	var got []doReply
	for _, e := range r.all {
		if d, ok := e.(doReply); ok && d.Token == t {
			got = append(got, d)
		}
	}
	if len(got) != 1 {
		r.t.Fatalf("token %d got %d replies, want one: %v", t, len(got), got)
	}
	return got[0]
}

func (r *rig) code(t Token, want Code) {
	r.t.Helper()
	d := r.replied(t)
	if d.Err == nil || d.Err.Code != want {
		r.t.Fatalf("token %d was answered %v, want %s", t, d, want)
	}
}

func (r *rig) unanswered(t Token) {
	r.t.Helper()
	for _, e := range r.all {
		if d, ok := e.(doReply); ok && d.Token == t {
			r.t.Fatalf("token %d was answered too early: %v", t, d)
		}
	}
}

// events gives the types of all events since the rig was made, optionally of
// one turn.
func (r *rig) events(turn string) string {
	var out []string
	for _, e := range r.all {
		if a, ok := e.(doAppend); ok && (turn == "" || a.TurnID == turn) {
			out = append(out, eventWord(a))
		}
	}
	return strings.Join(out, " ")
}

// Ways into each state, by inputs as they happen.

func (r *rig) opening() *rig {
	r.in(inStart{Token: r.tok()})
	return r
}

func (r *rig) idle() *rig {
	r.opening()
	r.in(inOpened{Epoch: r.s.Epoch, Ready: Ready{ProviderSessionID: "conv", PID: 7}})
	return r
}

func (r *rig) starting() *rig {
	r.idle()
	r.in(inSend{Token: r.tok(), TurnID: "trn_1", Input: TurnInput{Prompt: "work"}})
	return r
}

func (r *rig) running() *rig {
	r.starting()
	r.notice(OpDone{Op: sentOp[StartTurn](r).ID, Ref: "ref_1"})
	return r
}

func askApproval() RequestSpec {
	return RequestSpec{Kind: KindCommandApproval, Prompt: "run it?", Actions: []Action{ActionApprove, ActionDeny, ActionCancel}}
}

func (r *rig) awaiting() *rig {
	r.running()
	r.ask("trn_1", "ask_1", askApproval(), "req_1")
	return r
}

func (r *rig) ask(turn, ref string, spec RequestSpec, id string) {
	r.in(inNotice{Epoch: r.s.Epoch, Notice: RequestRaised{Turn: turn, Ref: ref, Spec: spec}, RequestID: id})
}

func (r *rig) claimed() *rig {
	r.awaiting()
	r.in(inRespond{Token: r.tok(), RequestID: "req_1", Response: Response{Action: ActionApprove}, By: ByCaller})
	return r
}

func (r *rig) cancellingClaimed() *rig {
	r.claimed()
	r.in(inInterrupt{Token: r.tok()})
	return r
}

func (r *rig) cancellingStart() *rig {
	r.starting()
	r.in(inInterrupt{Token: r.tok()})
	return r
}

func (r *rig) cancelling() *rig {
	r.running()
	r.in(inInterrupt{Token: r.tok()})
	return r
}

func (r *rig) closing() *rig {
	r.running()
	r.in(inClose{Token: r.tok()})
	return r
}

func (r *rig) hangingUp() *rig {
	r.idle()
	r.in(inClose{Token: r.tok()})
	return r
}

func (r *rig) theirs() *rig {
	r.idle()
	r.in(inNotice{Epoch: 1, Notice: TurnBegan{Turn: "auto", Ref: "auto", Prompt: "by itself"}, TurnID: "trn_theirs"})
	return r
}

func (r *rig) waiting() *rig {
	r.starting()
	r.in(inNotice{Epoch: 1, Notice: TurnBegan{Turn: "auto", Ref: "auto"}, TurnID: "trn_theirs"})
	return r
}

func (r *rig) unavailable() *rig {
	r.idle()
	r.in(inLinkLost{Epoch: 1, Err: &TurnError{Code: TurnTransportLost, Message: "gone"}})
	return r
}

func (r *rig) closed() *rig {
	r.hangingUp()
	r.in(inHungUp{Epoch: 1})
	return r
}

func (r *rig) failed() *rig {
	r.starting()
	r.in(inTimer{Timer: TimerID{Kind: TimerTurnStart, ID: "trn_1"}}, inHungUp{Epoch: 1})
	return r
}

func (r *rig) killed() *rig {
	r.idle()
	r.in(inClose{Token: r.tok(), Force: true}, inHungUp{Epoch: 1})
	return r
}

// with queues turns behind the active one.
func (r *rig) with(queued ...string) *rig {
	for _, id := range queued {
		r.in(inSend{Token: r.tok(), TurnID: id, Input: TurnInput{Prompt: "later"}, Queue: true})
	}
	return r
}

// describeEffects renders effects in one line: events, replies, then what is asked of
// the world.
func describeEffects(out []Effect) string {
	var events, rest []string
	for _, e := range out {
		switch e := e.(type) {
		case doAppend:
			events = append(events, eventWord(e))
		case doReply:
			rest = append(rest, "reply "+replyWord(e))
		case doSend:
			rest = append(rest, "send "+opWord(e.Op))
		case doArm:
			rest = append(rest, "arm "+timerWords[e.Timer.Kind])
		case doOpen:
			rest = append(rest, "open")
		case doCancelOpen:
			rest = append(rest, "cancel open")
		case doHangup:
			rest = append(rest, "hangup "+e.Grace.String())
		case doDiscard:
			rest = append(rest, "discard")
		}
	}
	if len(events) > 0 {
		rest = append([]string{strings.Join(events, " ")}, rest...)
	}
	if len(rest) == 0 {
		return "nothing"
	}
	return strings.Join(rest, "; ")
}

var timerWords = map[TimerKind]string{TimerStartup: "startup", TimerTurnStart: "turn_start", TimerCommand: "command",
	TimerInterrupt: "interrupt", TimerTurnRuntime: "turn_runtime", TimerTurnIdle: "turn_idle",
	TimerSessionIdle: "session_idle", TimerRequest: "request", TimerHangup: "hangup", TimerAsk: "ask"}

func eventWord(a doAppend) string {
	w := string(a.Type)
	switch d := a.Data.(type) {
	case *dataTerminal:
		switch {
		case d.Reason != "" && d.Result.Error == nil:
			w += "{" + string(d.Reason) + "}"
		case d.Result.Error != nil:
			w += "{" + string(d.Result.Error.Code) + "}"
		}
	case dataExpired:
		w += "{" + string(d.Reason) + "}"
	case dataEnded:
		if d.Reason != "" {
			w += "{" + string(d.Reason) + "}"
		}
	case ProviderEvent:
		w += "{" + d.Kind + "}"
	}
	if a.Late != "" {
		w += "(late)"
	}
	return w
}

func replyWord(d doReply) string {
	if d.Err == nil {
		return "ok"
	}
	w := string(d.Err.Code)
	if st, ok := d.Err.Details["state"]; ok {
		w += fmt.Sprintf("{%v}", st)
	}
	if d.Err.Retryable {
		w += " retryable"
	}
	return w
}

func opWord(op Op) string {
	switch op := op.(type) {
	case Respond:
		return "Respond(" + string(op.Response.Action) + ")"
	case Interrupt:
		if len(op.Requests) > 0 {
			return "Interrupt(" + strings.Join(op.Requests, ",") + ")"
		}
	}
	return strings.TrimPrefix(reflect.TypeOf(op).String(), "core.")
}

// frozenState gives a copy of a state that shares nothing with it, to see whether a
// step changed what an old State reaches.
func frozenState(t testing.TB, s State) string {
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
