package claude

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
)

// turn is a turn that was sent and has no result yet, or one that the provider
// began.
type turn struct {
	name       string
	uuid       string    // of its message; "" for the provider's own
	op         core.OpID // that started it
	accepted   bool      // the op was answered
	inited     bool      // the CLI opened it by system/init
	hasMessage bool      // a message was reported
	items      items
	failure    string // the CLI's name for a failed API call

	interrupts []core.OpID // that wait for the response
	stopping   bool        // an interrupt was sent, or an answer that stops
	stopBegin  bool        // it is to be stopped as soon as it begins
	stalled    bool        // the watchdog stopped it
}

// StartTurn handles the op. An error means that nothing was or will be sent.
func (t *translator) StartTurn(op core.StartTurn) *core.Error {
	if err := t.checkTurn(op.Input); err != nil {
		return err
	}
	u := &turn{name: op.TurnID, uuid: t.set.newID(), op: op.ID}
	t.waiting = append(t.waiting, u)
	t.sent = true
	m := t.prompt(op.Input, u.uuid)
	m.Priority = wire.Later
	t.Send(m, 0)
	return nil
}

// checkTurn refuses what only a session can have.
func (t *translator) checkTurn(in core.TurnInput) *core.Error {
	if in.ReasoningEffort != "" && in.ReasoningEffort != t.set.effort {
		return core.Errorf(core.CodeCapability, "claude takes reasoning_effort per session, not per turn").
			WithHint("Give it to start_session.")
	}
	if len(in.OutputSchema) > 0 && !sameJSON(in.OutputSchema, t.set.schema) {
		return core.Errorf(core.CodeCapability, "claude takes output_schema per session, not per turn").
			WithHint("Give it to start_session.")
	}
	return checkInput(in)
}

// accept reports that the CLI has begun with a turn of ours.
func (t *translator) accept(u *turn, raw json.RawMessage) {
	if !u.accepted {
		u.accepted = true
		t.OpDone(u.op, u.uuid, nil, raw)
	}
}

// begin makes a turn of ours the running one, or a part of the running one.
func (t *translator) begin(u *turn, raw json.RawMessage) {
	t.waiting = slices.DeleteFunc(t.waiting, func(w *turn) bool { return w == u })
	t.accept(u, raw)
	if t.running != nil {
		t.joined = append(t.joined, u)
	} else {
		t.running = u
	}
}

// beginOwn begins a turn that nobody here asked for.
func (t *translator) beginOwn(prompt string, raw json.RawMessage) *turn {
	t.own++
	u := &turn{name: fmt.Sprintf("claude-%d", t.own), accepted: true}
	t.running = u
	t.Notice(core.TurnBegan{Turn: u.name, Prompt: prompt, Raw: raw})
	return u
}

// lifecycleOf handles the report about a message of ours.
func (t *translator) lifecycleOf(raw json.RawMessage) {
	var l wire.Lifecycle
	if !t.decode(wire.CommandLifecycle, raw, &l) {
		return
	}
	t.lifecycle = true
	if s, ok := t.steers[l.CommandUUID]; ok {
		t.steerNews(l, s, raw)
		return
	}
	u := t.waits(l.CommandUUID)
	switch {
	case u == nil: // it runs, or has ended
	case l.State == wire.Started:
		t.begin(u, raw)
	case l.State == wire.Cancelled:
		t.withdrawn(u, raw)
	}
}

// waits finds a turn of ours that has not begun.
func (t *translator) waits(uuid string) *turn {
	for _, u := range t.waiting {
		if u.uuid == uuid {
			return u
		}
	}
	return nil
}

// withdrawn ends a turn whose message was taken out of the CLI's queue.
func (t *translator) withdrawn(u *turn, raw json.RawMessage) {
	t.waiting = slices.DeleteFunc(t.waiting, func(w *turn) bool { return w == u })
	t.accept(u, nil)
	t.conclude(u, core.VerdictCancelled, core.Result{StopReason: "cancelled"}, raw)
}

// opened handles system/init, which opens every turn.
func (t *translator) opened(h wire.Head, raw json.RawMessage) {
	var m wire.InitMessage
	if !t.decode("system/init", raw, &m) {
		return
	}
	t.facts(h.SessionID, m, raw)
	t.lifecycle = t.lifecycle || slices.Contains(m.Capabilities, "msg_lifecycle_v1")
	notified := t.notified
	t.notified = false
	switch {
	case t.running != nil && t.running.inited:
		t.event("system/init", raw)
		return
	case t.running != nil:
	case t.lifecycle || notified || len(t.waiting) == 0:
		t.beginOwn("", raw)
	default:
		t.begin(t.waiting[0], raw)
	}
	u := t.running
	u.inited = true
	if u.uuid != "" {
		t.Notice(core.TurnBegan{Turn: u.name, Ref: u.uuid, Raw: raw})
	}
	if u.stopBegin || u.stopping {
		u.stopBegin = false
		t.sendInterrupt(u) // the first one may have come too early
	}
}

// facts reports what changed about the session.
func (t *translator) facts(session string, m wire.InitMessage, raw json.RawMessage) {
	n := core.SessionChanged{Raw: raw}
	if session != "" && session != t.session {
		t.session, n.ProviderSessionID = session, session
	}
	if m.Model != "" && m.Model != t.model {
		t.model, n.Model = m.Model, m.Model
	}
	if n.ProviderSessionID != "" || n.Model != "" {
		t.Notice(n)
	}
}

// result ends the running turn and whatever took part in it.
func (t *translator) result(h wire.Head, raw json.RawMessage) {
	var r wire.Result
	if err := json.Unmarshal(raw, &r); err != nil {
		// The end of a turn must not be lost for a field that is not needed.
		r = wire.Result{Subtype: h.Subtype, IsError: true, Result: "Claude Code ended the turn with a result that cannot be read."}
	}
	if !t.sent && t.running == nil && r.IsError {
		t.Fatal = openingError(r)
		return
	}
	for _, uuid := range r.UserMessageUUIDs {
		if u := t.waits(uuid); u != nil {
			t.begin(u, nil)
		}
	}
	if t.running == nil && r.IsError && len(t.waiting) > 0 && len(r.UserMessageUUIDs) == 0 {
		t.begin(t.waiting[0], nil) // it failed before it began
	}
	if t.running == nil || !t.answers(r) {
		t.event("result of another turn", raw)
		return
	}
	t.finish(r, raw)
}

// answers reports whether a result is that of the running turn.
func (t *translator) answers(r wire.Result) bool {
	u := t.running
	if len(r.UserMessageUUIDs) == 0 {
		return r.Origin == nil || u.uuid == ""
	}
	if u.uuid == "" || slices.Contains(r.UserMessageUUIDs, u.uuid) {
		return true
	}
	return slices.ContainsFunc(t.joined, func(j *turn) bool { return slices.Contains(r.UserMessageUUIDs, j.uuid) })
}

// finish reports the end of the running turn and of those that joined it.
func (t *translator) finish(r wire.Result, raw json.RawMessage) {
	u := t.running
	all := append([]*turn{u}, t.joined...)
	verdict, res := t.verdict(u, r)
	if verdict == core.VerdictCancelled {
		u.stopping = true
	}
	t.closeItems(u, verdict == core.VerdictCancelled)
	if session := t.spent.session(); session != nil {
		t.content(*session, nil)
	}
	t.running, t.joined = nil, nil
	for i, u := range all {
		mine := res
		if i < len(all)-1 { // the usage is reported once, with the last
			mine.Usage, mine.CostUSD = nil, nil
		}
		t.conclude(u, verdict, mine, raw)
	}
	if len(t.steers) > maxSteers {
		clear(t.steers)
	}
}

// conclude ends one turn.
func (t *translator) conclude(u *turn, verdict core.Verdict, res core.Result, raw json.RawMessage) {
	t.withdrawAll(u)
	for _, op := range u.interrupts { // the turn was faster than the response
		t.OpDone(op, "", nil, nil)
	}
	u.interrupts = nil
	t.Notice(core.TurnEnded{Turn: u.name, Verdict: verdict, Result: res, Raw: raw})
	t.running, t.joined = dropEnded(t.running, t.joined, u)
}

// dropEnded takes a turn out of those that run.
func dropEnded(running *turn, joined []*turn, u *turn) (*turn, []*turn) {
	joined = slices.DeleteFunc(joined, func(j *turn) bool { return j == u })
	if running == u {
		running = nil
	}
	return running, joined
}
