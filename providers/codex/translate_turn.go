package codex

import (
	"encoding/json"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// turn is a turn of Codex's that is open, or was a short while ago.
type turn struct {
	ref        string
	names      []string // ours that it stands for; its ref when Codex began it
	began      bool     // turn/started was seen
	schema     bool     // its last message is to be JSON
	message    string   // the last whole message
	hasMessage bool     // there is one
	items      items
	closed     map[string]bool  // items whose end was reported
	before     *wire.TokenUsage // the thread's tokens when it began
	usage      *core.Usage

	interrupts  []core.OpID // that wait for the response
	interrupted bool        // turn/interrupt is under way or was taken
	again       bool        // and is to be sent again at turn/started

	ended   *held           // the end that waits for commands to end
	killing map[string]bool // items of those commands
	lists   int             // how often they were asked for; maxLists: no more
}

// held is an end that is reported later.
type held struct {
	turn wire.Turn
	raw  json.RawMessage
}

// name is the one under which its content is reported.
func (u *turn) name() string { return u.names[len(u.names)-1] }

// openTurns returns the open turns, oldest first.
func (t *translator) openTurns() []*turn {
	list := make([]*turn, 0, len(t.turns))
	for _, u := range t.turns {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b *turn) int { // Codex's ids are ordered by time
		if a.ref < b.ref {
			return -1
		}
		return 1
	})
	return list
}

// StartTurn handles the op. An error means that nothing was or will be sent.
func (t *translator) StartTurn(op core.StartTurn) *core.Error {
	if _, err := userInput(op.Input); err != nil {
		return err
	}
	if t.start != nil {
		return core.Errorf(core.CodeTurnInProgress, "a turn is being started already")
	}
	t.start = &starting{op: op}
	t.sendStart()
	return nil
}

// sendStart sends a waiting StartTurn, unless a turn runs that it would add to.
func (t *translator) sendStart() {
	s := t.start
	if s == nil || s.sent || len(t.turns) > 0 {
		return
	}
	s.sent = true
	input, _ := userInput(s.op.Input) // was checked when it was taken
	p := wire.TurnStartParams{ThreadID: t.thread, Input: input, Model: t.set.model, Effort: t.set.effort, OutputSchema: t.schemaOf(s.op.Input)}
	if s.op.Input.ReasoningEffort != "" {
		p.Effort = s.op.Input.ReasoningEffort
	}
	if t.set.changed {
		p.ApprovalPolicy = approvals[t.set.approval]
		p.SandboxPolicy = t.set.modes.policy(t.set.policy, t.set.addDirs)
	}
	t.Call(wire.TurnStart, p, startTag{s.op.ID})
}

func (t *translator) schemaOf(in core.TurnInput) json.RawMessage {
	if len(in.OutputSchema) > 0 {
		return in.OutputSchema
	}
	return t.set.schema
}

// startResponse is the acceptance of a turn, or its rejection.
func (t *translator) startResponse(tag startTag, m jsonrpc.Message) {
	s := t.start
	if s == nil || s.op.ID != tag.op {
		t.event("response to a turn that is over", m.Raw)
		return
	}
	var r wire.TurnResponse
	if m.Error == nil && (json.Unmarshal(m.Result, &r) != nil || r.Turn.ID == "") {
		m.Error = &jsonrpc.Error{Message: "the response to turn/start has no turn"}
	}
	if m.Error != nil {
		t.start = nil
		if s.ref == "" { // else it runs, whatever the response
			t.OpDone(s.op.ID, "", rejection(m.Error), m.Raw)
			return
		}
		r.Turn.ID = s.ref
	}
	if old := t.turns[s.ref]; old != nil && s.ref != r.Turn.ID {
		t.closeItems(old)
		old.names = []string{s.ref} // it was Codex's own after all
		t.Notice(core.TurnBegan{Turn: s.ref, Ref: s.ref})
		s.ref = ""
	}
	if s.ref == "" {
		t.bindStart(r.Turn.ID)
	}
	t.start = nil
	t.OpDone(s.op.ID, r.Turn.ID, nil, m.Raw)
}

// bindStart sets the name of the waiting StartTurn on a turn of Codex's, which may
// be one that Codex had begun before: turn/start adds to a turn that runs.
func (t *translator) bindStart(ref string) *turn {
	s := t.start
	s.ref = ref
	u := t.turns[ref]
	if u == nil {
		u = &turn{ref: ref}
		t.turns[ref], t.active = u, u
	}
	t.closeItems(u) // what continues does so under the other name
	u.names = append(u.names, s.op.TurnID)
	u.schema = len(t.schemaOf(s.op.Input)) > 0
	return u
}

// isOurs reports whether a turn that shows up before the response to turn/start
// is taken for ours. Only its start and its end count: after a resume Codex
// also reports turns that ended long ago.
func (t *translator) isOurs(ref string) bool {
	return ref != "" && t.start != nil && t.start.sent && t.start.ref == "" && t.pastTurn(ref) == nil
}

// turnFor finds the open turn of a reference.
func (t *translator) turnFor(ref string) *turn { return t.turns[ref] }

func (t *translator) pastTurn(ref string) *turn {
	for _, u := range t.past {
		if u.ref == ref {
			return u
		}
	}
	return nil
}

// turnStarted handles turn/started.
func (t *translator) turnStarted(ref string, raw json.RawMessage) {
	u := t.turnFor(ref)
	switch {
	case u != nil:
	case ref == "" || t.pastTurn(ref) != nil:
		t.event(wire.TurnStarted, raw)
		return
	case t.isOurs(ref):
		u = t.bindStart(ref)
	default:
		u = &turn{ref: ref, names: []string{ref}}
		t.turns[ref], t.active = u, u
	}
	u.began = true
	t.Notice(core.TurnBegan{Turn: u.name(), Ref: ref, Raw: raw})
	if u.again {
		u.again = false
		t.sendInterrupt(u)
	}
}

// turnCompleted handles turn/completed: the only thing that ends a turn.
func (t *translator) turnCompleted(m jsonrpc.Message) {
	var n wire.TurnNotification
	if err := json.Unmarshal(m.Params, &n); err != nil {
		// The end of a turn must not be lost for a field that is not needed.
		ref, _ := t.scope(m.Params)
		n = wire.TurnNotification{Turn: wire.Turn{ID: ref, Status: "unreadable"}}
	}
	u := t.turnFor(n.Turn.ID)
	if u == nil && t.isOurs(n.Turn.ID) {
		u = t.bindStart(n.Turn.ID)
	}
	if u == nil {
		t.late(n.Turn.ID, m)
		return
	}
	u.ended = &held{n.Turn, m.Raw}
	if n.Turn.Status == "interrupted" && u.items.commands() > 0 {
		t.listTerminals(u)
		t.Timer(link.Timer{Name: "drain", After: drainTimeout, Keep: true, Fire: t.drainExpired})
		return
	}
	t.conclude(u)
}

// conclude reports the end that u holds.
func (t *translator) conclude(u *turn) {
	end := u.ended.turn
	result := core.Result{StopReason: end.Status, Usage: u.usage}
	verdict := core.VerdictFailed
	switch end.Status {
	case "completed":
		verdict = core.VerdictCompleted
	case "interrupted":
		verdict = core.VerdictCancelled
	case "failed":
		result.Error = turnError(end.Error)
	default:
		result.Error = &core.TurnError{Code: core.TurnProviderError, Message: "Codex ended the turn with an unknown status: " + end.Status}
	}
	for _, item := range end.Items {
		if item.Type == wire.ItemAgentMessage && !u.hasMessage {
			result.Text = item.Text
		}
	}
	if u.schema && verdict == core.VerdictCompleted && u.hasMessage && json.Valid([]byte(u.message)) {
		result.StructuredOutput = json.RawMessage(u.message)
	}
	t.finish(u, verdict, result, u.ended.raw)
}

// finish ends a turn.
func (t *translator) finish(u *turn, verdict core.Verdict, result core.Result, raw json.RawMessage) {
	t.closeItems(u)
	t.withdraw(u)
	if t.usage != nil && u.usage != nil {
		t.Notice(core.Content{Turn: u.name(), Payload: core.UsageUpdated{Usage: *t.usage, Scope: core.UsageSession}})
	}
	for _, op := range u.interrupts { // the turn was faster than the response
		t.OpDone(op, "", nil, nil)
	}
	for _, name := range u.names {
		t.Notice(core.TurnEnded{Turn: name, Verdict: verdict, Result: result, Raw: raw})
	}
	delete(t.turns, u.ref)
	t.past = append(t.past, &turn{ref: u.ref, names: u.names, closed: u.closed})
	if len(t.past) > maxPast {
		t.past = slices.Delete(t.past, 0, 1)
	}
	t.active = nil
	if open := t.openTurns(); len(open) > 0 {
		t.active = open[len(open)-1]
	}
	t.sendStart()
}
