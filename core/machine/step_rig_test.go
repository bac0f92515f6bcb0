package machine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// The rig drives one machine by hand: inputs in, effects out, and a clock that
// moves only by a test.
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
func rigTimeouts() core.Timeouts {
	return core.Timeouts{Startup: 30 * time.Second, TurnStart: 30 * time.Second, ProviderCommand: 30 * time.Second,
		Interrupt: 15 * time.Second, ProviderStop: 10 * time.Second, SessionIdle: time.Hour, Request: 15 * time.Minute}
}

func rigConfig() core.SessionConfig {
	return core.SessionConfig{SessionID: "ses_test", Owner: "local", Provider: "fake", Transport: "pipe", CWD: "/work",
		ApprovalMode: core.ApprovalPrompt, SandboxMode: core.SandboxReadOnly, Timeouts: rigTimeouts()}
}

func rigCapabilities() core.Capabilities {
	return core.Capabilities{Interrupt: core.Native, Steer: core.Native, Configure: core.Native, Resume: core.Native, Questions: core.Native, Approvals: core.Native}
}

func newRig(t testing.TB, change ...func(*core.SessionConfig)) *rig {
	cfg := rigConfig()
	for _, c := range change {
		c(&cfg)
	}
	return &rig{t: t, now: rigStart, s: NewState(cfg, rigCapabilities(), core.Durable, rigStart)}
}

// in steps the inputs and returns their effects.
func (r *rig) in(inputs ...Input) []Effect {
	r.t.Helper()
	r.out = nil
	for _, in := range inputs {
		s, out := Step(r.s, in, r.now)
		r.s = s
		r.out = append(r.out, out...)
	}
	r.all = append(r.all, r.out...)
	return r.out
}

// notice steps a notice of the present epoch, with fresh ids.
func (r *rig) notice(ns ...core.Notice) []Effect {
	r.t.Helper()
	var ins []Input
	for _, n := range ns {
		ins = append(ins, r.noticed(n))
	}
	return r.in(ins...)
}

func (r *rig) noticed(n core.Notice) Input {
	r.ids++
	return Notice{Epoch: r.s.Epoch, Notice: n, TurnID: fmt.Sprintf("trn_p%d", r.ids), RequestID: fmt.Sprintf("req_%d", r.ids)}
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
	return r.in(TimerDue{Timer: id})
}

// armed returns the timers as a host would hold them.
func (r *rig) armed() map[TimerID]time.Time {
	m := map[TimerID]time.Time{}
	for _, e := range r.all {
		switch e := e.(type) {
		case Arm:
			m[e.Timer] = e.At
		case Disarm:
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

func (r *rig) status(want core.SessionStatus) {
	r.t.Helper()
	if got := r.s.Status(); got != want {
		r.t.Fatalf("status %s, want %s", got, want)
	}
}

// sentOp returns the last op of type T that was sent.
func sentOp[T core.Op](r *rig) T {
	r.t.Helper()
	for i := len(r.all) - 1; i >= 0; i-- {
		if s, ok := r.all[i].(Send); ok {
			if op, ok := s.Op.(T); ok {
				return op
			}
		}
	}
	var zero T
	r.t.Fatalf("no %T was sent", zero)
	return zero
}

// replied returns the one answer that a token got.
func (r *rig) replied(t Token) Reply {
	r.t.Helper()
	var got []Reply
	for _, e := range r.all {
		if d, ok := e.(Reply); ok && d.Token == t {
			got = append(got, d)
		}
	}
	if len(got) != 1 {
		r.t.Fatalf("token %d got %d replies, want one: %v", t, len(got), got)
	}
	return got[0]
}

func (r *rig) code(t Token, want core.Code) {
	r.t.Helper()
	d := r.replied(t)
	if d.Err == nil || d.Err.Code != want {
		r.t.Fatalf("token %d was answered %v, want %s", t, d, want)
	}
}

func (r *rig) unanswered(t Token) {
	r.t.Helper()
	for _, e := range r.all {
		if d, ok := e.(Reply); ok && d.Token == t {
			r.t.Fatalf("token %d was answered too early: %v", t, d)
		}
	}
}

// events returns the types of all events since the rig was made, optionally of
// one turn.
func (r *rig) events(turn string) string {
	var out []string
	for _, e := range r.all {
		if a, ok := e.(Append); ok && (turn == "" || a.TurnID == turn) {
			out = append(out, eventWord(a))
		}
	}
	return strings.Join(out, " ")
}

// Ways into each state, by inputs as they happen.

func (r *rig) opening() *rig {
	r.in(Start{Token: r.tok()})
	return r
}

func (r *rig) idle() *rig {
	r.opening()
	r.in(Opened{Epoch: r.s.Epoch, Ready: core.Ready{ProviderSessionID: "conv", PID: 7}})
	return r
}

func (r *rig) starting() *rig {
	r.idle()
	r.in(Prompt{Token: r.tok(), TurnID: "trn_1", Input: core.TurnInput{Prompt: "work"}})
	return r
}

func (r *rig) running() *rig {
	r.starting()
	r.notice(core.OpDone{Op: sentOp[core.StartTurn](r).ID, Ref: "ref_1"})
	return r
}

func askApproval() core.RequestSpec {
	return core.RequestSpec{Kind: core.KindCommandApproval, Prompt: "run it?", Actions: []core.Action{core.ActionApprove, core.ActionDeny, core.ActionCancel}}
}

func (r *rig) awaiting() *rig {
	r.running()
	r.ask("trn_1", "ask_1", askApproval(), "req_1")
	return r
}

func (r *rig) ask(turn, ref string, spec core.RequestSpec, id string) {
	r.in(Notice{Epoch: r.s.Epoch, Notice: core.RequestRaised{Turn: turn, Ref: ref, Spec: spec}, RequestID: id})
}

func (r *rig) claimed() *rig {
	r.awaiting()
	r.in(Respond{Token: r.tok(), RequestID: "req_1", Response: core.Response{Action: core.ActionApprove}, By: core.ByCaller})
	return r
}

func (r *rig) cancellingClaimed() *rig {
	r.claimed()
	r.in(Interrupt{Token: r.tok()})
	return r
}

func (r *rig) cancellingStart() *rig {
	r.starting()
	r.in(Interrupt{Token: r.tok()})
	return r
}

func (r *rig) cancelling() *rig {
	r.running()
	r.in(Interrupt{Token: r.tok()})
	return r
}

func (r *rig) closing() *rig {
	r.running()
	r.in(Close{Token: r.tok()})
	return r
}

func (r *rig) hangingUp() *rig {
	r.idle()
	r.in(Close{Token: r.tok()})
	return r
}

func (r *rig) providerTurn() *rig {
	r.idle()
	r.in(Notice{Epoch: 1, Notice: core.TurnBegan{Turn: "auto", Ref: "auto", Prompt: "by itself"}, TurnID: "trn_theirs"})
	return r
}

func (r *rig) waiting() *rig {
	r.starting()
	r.in(Notice{Epoch: 1, Notice: core.TurnBegan{Turn: "auto", Ref: "auto"}, TurnID: "trn_theirs"})
	return r
}

func (r *rig) unavailable() *rig {
	r.idle()
	r.in(LinkLost{Epoch: 1, Err: &core.TurnError{Code: core.TurnTransportLost, Message: "gone"}})
	return r
}

func (r *rig) closed() *rig {
	r.hangingUp()
	r.in(HungUp{Epoch: 1})
	return r
}

func (r *rig) failed() *rig {
	r.starting()
	r.in(TimerDue{Timer: TimerID{Kind: TimerTurnStart, ID: "trn_1"}}, HungUp{Epoch: 1})
	return r
}

func (r *rig) killed() *rig {
	r.idle()
	r.in(Close{Token: r.tok(), Force: true}, HungUp{Epoch: 1})
	return r
}

// with queues turns behind the active one.
func (r *rig) with(queued ...string) *rig {
	for _, id := range queued {
		r.in(Prompt{Token: r.tok(), TurnID: id, Input: core.TurnInput{Prompt: "later"}, Queue: true})
	}
	return r
}

// describeEffects renders effects in one line: events, replies, then what is asked of
// the world.
func describeEffects(out []Effect) string {
	var events, rest []string
	for _, e := range out {
		switch e := e.(type) {
		case Append:
			events = append(events, eventWord(e))
		case Reply:
			rest = append(rest, "reply "+replyWord(e))
		case Send:
			rest = append(rest, "send "+opWord(e.Op))
		case Arm:
			rest = append(rest, "arm "+timerWords[e.Timer.Kind])
		case Open:
			rest = append(rest, "open")
		case CancelOpen:
			rest = append(rest, "cancel open")
		case Hangup:
			rest = append(rest, "hangup "+e.Grace.String())
		case Discard:
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

func eventWord(a Append) string {
	w := string(a.Type)
	switch d := a.Data.(type) {
	case *TerminalData:
		switch {
		case d.Reason != "" && d.Result.Error == nil:
			w += "{" + string(d.Reason) + "}"
		case d.Result.Error != nil:
			w += "{" + string(d.Result.Error.Code) + "}"
		}
	case ExpiredData:
		w += "{" + string(d.Reason) + "}"
	case dataEnded:
		if d.Reason != "" {
			w += "{" + string(d.Reason) + "}"
		}
	case core.ProviderEvent:
		w += "{" + d.Kind + "}"
	}
	if a.Late != "" {
		w += "(late)"
	}
	return w
}

func replyWord(d Reply) string {
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

func opWord(op core.Op) string {
	switch op := op.(type) {
	case core.Respond:
		return "Respond(" + string(op.Response.Action) + ")"
	case core.Interrupt:
		if len(op.Requests) > 0 {
			return "Interrupt(" + strings.Join(op.Requests, ",") + ")"
		}
	}
	return strings.TrimPrefix(reflect.TypeOf(op).String(), "core.")
}

// frozenState returns a copy of a state that shares nothing with it, to see whether a
// step changed what an old State reaches.
func frozenState(t testing.TB, s State) string {
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
