package claude

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// named finds the open turn with a name.
func (t *translator) named(name string) *turn {
	all := slices.Concat(t.waiting, t.joined)
	if t.running != nil {
		all = append(all, t.running)
	}
	for _, u := range all {
		if u.name == name {
			return u
		}
	}
	return nil
}

// runs reports whether the CLI is in the turn.
func (t *translator) runs(u *turn) bool { return u == t.running || slices.Contains(t.joined, u) }

// Steer handles the op. The CLI folds a message into a running turn at the next
// end of a tool; without a tool the message would become a turn of its own.
func (t *translator) Steer(op core.Steer) *core.Error {
	u := t.named(op.TurnID)
	if u == nil || !t.runs(u) || u.stopping {
		return core.Errorf(core.CodeTurnNotActive, "the turn is not running").Retry()
	}
	if !t.running.items.tools() {
		return core.Errorf(core.CodeCapability, "Claude Code takes a message into a running turn only while it uses a tool").
			WithHint("Use follow_up, or interrupt and send_message.")
	}
	if err := checkInput(op.Input); err != nil {
		return err
	}
	uuid := t.set.newID()
	m := t.prompt(op.Input, uuid)
	if !t.lifecycle {
		t.Send(m, op.ID)
		return nil
	}
	t.steers[uuid] = steer{op: op.ID, prompt: op.Input.Prompt}
	t.Send(m, 0)
	return nil
}

// steerNews handles the CLI's report about a message that was to be folded in.
func (t *translator) steerNews(l wire.Lifecycle, s steer, raw json.RawMessage) {
	if !s.done {
		s.done = true
		t.steers[l.CommandUUID] = s
		var err *core.Error
		if l.State == wire.Cancelled {
			err = core.Errorf(core.TurnRejected, "Claude Code dropped the message")
		}
		t.OpDone(s.op, l.CommandUUID, err, raw)
	}
	if l.State == wire.Started && t.running == nil {
		// The tool was faster: the message has become a turn of its own.
		u := t.beginOwn(s.prompt, raw)
		u.uuid = l.CommandUUID
		delete(t.steers, l.CommandUUID)
	}
	if l.State == wire.Completed || l.State == wire.Cancelled {
		delete(t.steers, l.CommandUUID)
	}
}

// Interrupt handles the op. Open requests end with the turn: the CLI withdraws
// them itself.
func (t *translator) Interrupt(op core.Interrupt) *core.Error {
	u := t.named(op.TurnID)
	if u == nil {
		return core.Errorf(core.CodeNoActiveTurn, "the turn is not running")
	}
	u.interrupts = append(u.interrupts, op.ID)
	switch {
	case t.runs(u):
		t.sendInterrupt(t.running)
	case t.lifecycle: // it waits after another turn, which is to continue
		t.call(wire.CancelRequest{Subtype: wire.CancelMessage, MessageUUID: u.uuid}, recallTag{u})
	default:
		u.stopBegin = true
	}
	return nil
}

// sendInterrupt stops the running turn. What waits after a turn of ours is
// cancelled with it; after a turn of the provider's waits ours.
func (t *translator) sendInterrupt(u *turn) {
	u.stopping = true
	t.call(wire.InterruptRequest{Subtype: wire.Interrupt, CancelQueued: len(t.waiting) == 0}, interruptTag{u})
}

// Configure handles the op. The mode goes first: it is the one that the CLI
// checks.
func (t *translator) Configure(op core.Configure) *core.Error {
	c := op.Changes
	switch {
	case c.ReasoningEffort != "" && c.ReasoningEffort != t.set.effort:
		return core.Errorf(core.CodeCapability, "claude cannot change reasoning_effort in a running session").
			WithHint("Close the session and resume it with another effort.")
	case c.SandboxMode != "":
		return core.Errorf(core.CodeCapability, "claude cannot change sandbox_mode in a running session").
			WithHint("Close the session and resume it with another sandbox_mode.")
	}
	switch {
	case c.ApprovalMode != "":
		mode, ok := permissionModes[c.ApprovalMode]
		if !ok {
			return core.Errorf(core.CodeOption, "claude has no approval mode %q", c.ApprovalMode)
		}
		t.call(wire.ModeRequest{Subtype: wire.SetPermissionMode, Mode: mode}, configureTag{op.ID, c.Model})
	case c.Model != "":
		t.call(wire.ModelRequest{Subtype: wire.SetModel, Model: c.Model}, modelTag{op.ID, c.Model})
	default:
		t.OpDone(op.ID, "", nil, nil)
	}
	return nil
}

// response handles the answer to a control request of ours.
func (t *translator) response(raw []byte) {
	var m wire.Response
	if !t.decode(wire.ControlResponse, raw, &m) {
		return
	}
	id := m.Response.RequestID
	tag, ok := t.calls[id]
	if !ok {
		t.event("response without a request", raw)
		return
	}
	delete(t.calls, id)
	var err *core.Error
	if m.Response.Subtype != wire.Success {
		err = rejection(m)
	}
	switch tag := tag.(type) {
	case opened:
		tag(m.Response.Response, err)
	case interruptTag:
		t.interrupted(tag.turn, m.Response.Response, err, raw)
	case recallTag:
		t.recalled(tag.turn, m.Response.Response, err, raw)
	case configureTag:
		if err == nil && tag.model != "" {
			t.call(wire.ModelRequest{Subtype: wire.SetModel, Model: tag.model}, modelTag(tag))
			return
		}
		t.OpDone(tag.op, "", err, raw)
	case modelTag:
		t.OpDone(tag.op, "", err, raw)
	}
}

// rejection is the error response to a control request.
func rejection(m wire.Response) *core.Error {
	e := core.Errorf(core.TurnRejected, "Claude Code refused it: %s", cmp.Or(m.Response.Error, m.Response.ErrorCode))
	if m.Response.ErrorCode == "bypass_not_launched" || strings.Contains(m.Response.Error, "--dangerously-skip-permissions") {
		return e.WithHint("auto_approve cannot be switched on in a running session. Start one with approval_mode auto_approve.")
	}
	return e
}

// interrupted handles the response to an interrupt. A turn whose message had not
// been taken up yet is cancelled by it and gets no result.
func (t *translator) interrupted(u *turn, body json.RawMessage, err *core.Error, raw json.RawMessage) {
	for _, open := range append([]*turn{u}, t.joined...) {
		for _, op := range open.interrupts {
			t.OpDone(op, "", err, raw)
		}
		open.interrupts = nil
	}
	var r wire.Interrupted
	if err != nil || len(body) == 0 || json.Unmarshal(body, &r) != nil {
		return
	}
	for _, uuid := range r.Cancelled {
		switch w := t.waits(uuid); {
		case w != nil:
			t.withdrawn(w, raw)
		case t.running == u && u.uuid == uuid && !u.inited:
			t.closeItems(u, true)
			t.conclude(u, core.VerdictCancelled, core.Result{StopReason: "interrupted"}, raw)
		}
	}
}

// recalled handles the response to the recall of a waiting message. One that
// could not be recalled has begun, or is about to.
func (t *translator) recalled(u *turn, body json.RawMessage, err *core.Error, raw json.RawMessage) {
	var r wire.MessageCancelled
	if err == nil && len(body) > 0 && json.Unmarshal(body, &r) != nil {
		r.Cancelled = false
	}
	switch {
	case t.named(u.name) != u: // it has ended
	case r.Cancelled:
		t.withdrawn(u, raw)
	case t.runs(u):
		t.sendInterrupt(t.running)
	default:
		u.stopBegin = true
	}
}

// Take returns what has to be done since the last call, with the timer of a
// silent model started again: it runs while the turn waits for the model alone.
func (t *translator) Take() link.Output[link.Line] {
	if t.set.stall.silence > 0 {
		timer := link.Timer{Name: "stall"}
		if u := t.running; t.busy() {
			timer.After, timer.Fire = t.set.stall.silence, func() { t.silent(u) }
			if u.stalled {
				timer.After = t.set.stall.grace
			}
		}
		t.Timer(timer)
	}
	return t.LineOutput.Take()
}

// silent handles the end of the time in which the model had to send something.
func (t *translator) silent(u *turn) {
	switch {
	case t.running != u:
	case u.stalled:
		t.Fatal = core.Errorf(core.CodeSessionUnavailable, "Claude Code did not stop a turn whose model went silent")
	default:
		t.stall()
	}
}

// stall stops a turn whose model went silent.
func (t *translator) stall() {
	u := t.running
	if u == nil || u.stopping {
		return
	}
	u.stalled = true
	t.content(core.Warning{Message: "The model has been silent for too long; the turn is being stopped.", Code: "model_stalled"}, nil)
	t.sendInterrupt(u)
}

// busy reports whether the running turn waits for the model alone.
func (t *translator) busy() bool {
	return t.running != nil && len(t.requests) == 0 && !t.running.items.tools()
}
