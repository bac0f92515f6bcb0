package pi

import (
	"encoding/json"
	"fmt"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// turn is a turn of ours, or one that Pi began by itself.
type turn struct {
	name      string
	op        core.OpID // that started it
	ours      bool
	input     wire.Command // the prompt, while it may have to be given again
	sent      bool         // the prompt is out
	own       uint64       // how many turns Pi had begun when it went out
	tries     int
	accepted  bool // the op was answered
	begun     bool // TurnBegan was reported
	started   bool // agent_start was seen
	over      bool // agent_end was, and no retry is announced
	pauses    int  // retries and compactions under way
	idleReads int  // get_state that showed Pi idle, in a row
	reading   bool // a get_state is out

	last  outcome
	spent spending
	text  *message
	tools []*toolUse

	interrupts []core.OpID // that wait for the abort's response
	stopping   bool        // an abort was sent
	aborts     int
}

// outcome is the result of a turn by the last message of the assistant.
type outcome struct {
	seen   bool
	stop   string
	failed string
}

// StartTurn handles the op. An error means that nothing was or will be sent.
func (t *translator) StartTurn(op core.StartTurn) *core.Error {
	if t.pending != nil {
		return core.Errorf(core.CodeTurnInProgress, "Pi has not taken the turn before")
	}
	if e := op.Input.ReasoningEffort; e != "" && e != t.level {
		return core.Errorf(core.CodeCapability, "pi takes reasoning_effort per session, not per turn").
			WithHint("Change it with configure.")
	}
	input, err := prompt(op.Input)
	if err != nil {
		return err
	}
	t.pending = &turn{name: op.TurnID, op: op.ID, ours: true, input: input}
	t.sendPending()
	return nil
}

// sendPending sends Pi the pending turn as soon as Pi is idle and everything that
// could get mixed up with it is answered.
func (t *translator) sendPending() {
	u := t.pending
	if u == nil || u.sent || t.turn != nil || t.barrier > 0 {
		return
	}
	if t.next != "" {
		t.mode, t.next = t.next, ""
	}
	u.sent, u.own = true, t.own
	u.tries++
	t.call(u.input, promptTag{u})
}

// prompted handles the response to a prompt.
func (t *translator) prompted(u *turn, r wire.Response, raw json.RawMessage) {
	if t.pending != u {
		return // it was withdrawn
	}
	if !r.Success {
		t.refused(u, r, raw)
		return
	}
	if t.turn != nil { // it has settled, or Pi would have refused
		t.conclude(t.turn, nil, false)
	}
	t.pending, t.turn = nil, u
	u.input = wire.Command{} // it may be large
	t.accept(u, raw)
	var d wire.Disposition
	_ = json.Unmarshal(r.Data, &d) // older releases have none
	switch {
	case d.Disposition == wire.Handled:
		t.finish(u, core.VerdictCompleted, core.Result{StopReason: wire.Handled}, raw)
	case len(u.interrupts) > 0:
		t.stop(u)
	}
}

// refused handles Pi's refusal of a prompt. If Pi began a run by itself meanwhile,
// the prompt waits for its end.
func (t *translator) refused(u *turn, r wire.Response, raw json.RawMessage) {
	if t.own > u.own && u.tries < maxTries && len(u.interrupts) == 0 {
		u.sent = false
		t.sendPending()
		return
	}
	t.pending = nil
	err := core.Errorf(core.TurnRejected, "Pi refused the prompt: %s", r.Error)
	if errorCode(r.Error) == core.TurnAuthRequired {
		err = err.WithHint("Sign in with `" + login + "`, or give its key in env.")
	}
	if u.begun { // a dialog of its extension's came first
		t.accept(u, nil)
		t.turn = u
		t.finish(u, core.VerdictFailed, core.Result{Error: turnError(r.Error)}, raw)
		return
	}
	for _, op := range u.interrupts {
		t.OpDone(op, "", nil, nil)
	}
	t.OpDone(u.op, "", err, raw)
	t.sendPending()
}

// accept reports that Pi has taken a turn of ours.
func (t *translator) accept(u *turn, raw json.RawMessage) {
	if u.ours && !u.accepted {
		u.accepted = true
		t.OpDone(u.op, "", nil, raw)
	}
}

// begin reports, once, that Pi runs a turn.
func (t *translator) begin(u *turn, raw json.RawMessage) {
	if !u.begun {
		u.begun = true
		t.Notice(core.TurnBegan{Turn: u.name, Raw: raw})
	}
}

// run handles the beginning and the ends of a run.
func (t *translator) run(kind string, raw json.RawMessage) {
	if kind == wire.TypeAgentStart {
		t.runStarted(raw)
		return
	}
	u := t.turn
	if kind == wire.TypeAgentSettled {
		t.settles = true
	}
	if u == nil || !u.started { // of a turn that has ended
		t.event(kind, raw)
		return
	}
	if kind == wire.TypeAgentSettled {
		var s wire.AgentSettled
		_ = json.Unmarshal(raw, &s) // the end of a turn must not be lost for a field
		t.conclude(u, raw, s.Aborted)
		return
	}
	var e wire.AgentEnd
	_ = json.Unmarshal(raw, &e)
	u.over = !e.WillRetry
	t.readState(u)
}

func (t *translator) runStarted(raw json.RawMessage) {
	if t.turn == nil {
		t.own++
		t.turn = &turn{name: fmt.Sprintf("pi-%d", t.own)}
	}
	t.turn.started, t.turn.over, t.turn.idleReads = true, false, 0
	t.begin(t.turn, raw)
}

// readState asks whether a turn whose run is over has settled, on releases that do
// not report it.
func (t *translator) readState(u *turn) {
	if t.settles || !u.over || u.pauses > 0 || u.reading {
		return
	}
	u.reading = true
	t.call(wire.Command{Type: wire.GetState}, stateTag{turn: u})
}

// stateRead handles the state that readState asked for.
func (t *translator) stateRead(tag stateTag, r wire.Response, raw json.RawMessage) {
	u := tag.turn
	u.reading = false
	if t.turn != u {
		return
	}
	var s wire.State
	busy := !r.Success || json.Unmarshal(r.Data, &s) != nil || s.IsStreaming || s.IsCompacting
	switch {
	case tag.abort && busy && u.aborts < maxTries:
		t.abort(u)
	case tag.abort && !busy: // it may have been faster than the abort
		t.conclude(u, raw, !u.over || u.last.stop == wire.StopToolUse)
	case busy || t.settles || !u.over || u.pauses > 0:
		u.idleReads = 0 // the next record of the run starts another read
	default:
		if u.idleReads++; u.idleReads < settleReads {
			t.readState(u)
			return
		}
		t.conclude(u, raw, false)
	}
}

// pause handles what Pi does between the runs of one turn.
func (t *translator) pause(kind string, raw json.RawMessage) {
	u := t.turn
	switch kind {
	case wire.TypeAutoRetryStart, wire.TypeSummaryScheduled:
		var r wire.Retry
		if t.decode(kind, raw, &r) {
			t.content(core.ProviderError{Message: r.ErrorMessage, Code: kind, WillRetry: true}, raw)
		}
	default:
		t.event(kind, raw)
	}
	if u == nil {
		return
	}
	switch kind {
	case wire.TypeAutoRetryStart, wire.TypeCompactionStart:
		u.pauses++
		u.idleReads = 0
	case wire.TypeAutoRetryEnd, wire.TypeCompactionEnd:
		u.pauses = max(0, u.pauses-1)
		t.readState(u)
	}
}

// conclude ends a turn by its last message. raw is the record that ends it.
func (t *translator) conclude(u *turn, raw json.RawMessage, aborted bool) {
	res := core.Result{StopReason: u.last.stop, Usage: u.spent.usage(), CostUSD: u.spent.cost()}
	verdict := core.VerdictCompleted
	switch {
	case aborted || u.last.stop == wire.StopAborted:
		verdict, res.StopReason, u.stopping = core.VerdictCancelled, wire.StopAborted, true
	case u.last.stop == wire.StopError:
		verdict, res.Error = core.VerdictFailed, turnError(u.last.failed)
	case !u.last.seen:
		verdict, res.Error = core.VerdictFailed, turnError("Pi ended its run without an answer of the model.")
	}
	t.finish(u, verdict, res, raw)
}

// finish ends the running turn and lets the next begin.
func (t *translator) finish(u *turn, verdict core.Verdict, res core.Result, raw json.RawMessage) {
	t.closeItems(u)
	t.dismissAll()
	for _, op := range u.interrupts { // the turn was faster than the response
		t.OpDone(op, "", nil, nil)
	}
	u.interrupts = nil
	t.Notice(core.TurnEnded{Turn: u.name, Verdict: verdict, Result: res, Raw: raw})
	t.turn = nil
	if t.next != "" {
		t.mode, t.next = t.next, ""
	}
	if len(t.steering) > 0 && !t.noClear {
		t.content(core.Warning{Message: "A steering message came too late for its turn and was dropped.", Code: "steer_dropped"}, nil)
		t.clear(clearTag{})
	}
	t.sendPending()
}

// clear empties Pi's own queues, since what is left in them would go to the
// model with the next prompt.
func (t *translator) clear(tag any) {
	t.barrier++
	t.steering = nil
	t.call(wire.Command{Type: wire.ClearQueue}, tag)
}

// passed handles the answer to a command that held prompts back.
func (t *translator) passed() {
	t.barrier--
	t.sendPending()
}
