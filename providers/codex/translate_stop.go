package codex

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// named finds the open turn with a name of ours.
func (t *translator) named(name string) *turn {
	for _, u := range t.openTurns() {
		for _, n := range u.names {
			if n == name {
				return u
			}
		}
	}
	return nil
}

// Steer handles the op.
func (t *translator) Steer(op core.Steer) *core.Error {
	u := t.named(op.TurnID)
	if u == nil {
		return core.Errorf(core.CodeTurnNotActive, "the turn is not running").Retry()
	}
	input, err := userInput(op.Input)
	if err != nil {
		return err
	}
	t.Call(wire.TurnSteer, wire.TurnSteerParams{ThreadID: t.thread, ExpectedTurnID: u.ref, Input: input}, steerTag{op.ID})
	return nil
}

// Interrupt handles the op. Open requests end with the turn: Codex withdraws them
// itself.
func (t *translator) Interrupt(op core.Interrupt) *core.Error {
	u := t.named(op.TurnID)
	if u == nil {
		return core.Errorf(core.CodeNoActiveTurn, "the turn is not running")
	}
	u.interrupts = append(u.interrupts, op.ID)
	t.sendInterrupt(u)
	return nil
}

// sendInterrupt asks once. Before turn/started Codex knows the turn only by an
// empty id.
func (t *translator) sendInterrupt(u *turn) {
	if u.interrupted || u.ended != nil {
		return
	}
	u.interrupted = true
	ref := u.ref
	if !u.began {
		ref = ""
	}
	t.Call(wire.TurnInterrupt, wire.TurnRef{ThreadID: t.thread, TurnID: ref}, interruptTag{u.ref, !u.began})
}

func (t *translator) interruptResponse(tag interruptTag, m jsonrpc.Message) {
	u := t.turns[tag.ref]
	if u == nil {
		return // it has ended: its end has answered
	}
	if m.Error != nil && tag.early {
		// It came before Codex knew the turn at all, or just after turn/started.
		u.interrupted = false
		u.again = !u.began
		if u.began {
			t.sendInterrupt(u)
		}
		return
	}
	if m.Error != nil {
		u.interrupted = false
	}
	for _, op := range u.interrupts {
		t.OpDone(op, "", rejection(m.Error), m.Raw)
	}
	u.interrupts = nil
}

// listResponse handles the list of commands that run after their turn was
// interrupted. Those of the turn are ended; what an earlier turn left running on
// purpose stays. A command that was just being started is listed a moment later.
func (t *translator) listResponse(tag listTag, m jsonrpc.Message) {
	u := t.turns[tag.ref]
	if u == nil || u.ended == nil {
		return
	}
	var list wire.Terminals
	if m.Error != nil || json.Unmarshal(m.Result, &list) != nil {
		t.leftRunning(u)
		t.conclude(u)
		return
	}
	if u.killing == nil {
		u.killing = map[string]bool{}
	}
	for _, term := range list.Data {
		item := u.items.find(t.itemName(u, term.ItemID))
		if item != nil && item.Type == wire.ItemCommand && !u.killing[item.ID] {
			u.killing[item.ID] = true
			t.Call(wire.TerminalTerminate, wire.TerminateParams{ThreadID: t.thread, ProcessID: term.ProcessID}, terminateTag{u.ref, item.ID})
		}
	}
	if t.unlisted(u) {
		if u.lists++; u.lists < maxLists {
			t.listTerminals(u)
			return
		}
		t.leftRunning(u)
	}
	u.lists = maxLists
	t.drained(u)
}

func (t *translator) listTerminals(u *turn) {
	t.Call(wire.TerminalsList, wire.ThreadRef{ThreadID: t.thread}, listTag{u.ref})
}

// unlisted reports whether a command of the turn is open that is not being ended.
// One that was not approved does not run.
func (t *translator) unlisted(u *turn) bool {
	for _, it := range u.items.list {
		if it.Type == wire.ItemCommand && !u.killing[it.ID] && !it.asked {
			return true
		}
	}
	return false
}

func (t *translator) terminateResponse(tag terminateTag, m jsonrpc.Message) {
	u := t.turns[tag.ref]
	if u == nil || m.Error == nil || !u.killing[tag.item] {
		return // the command's own end was reported
	}
	t.leftRunning(u)
	delete(u.killing, tag.item)
	t.drained(u)
}

// drained concludes an interrupted turn when its commands are gone.
func (t *translator) drained(u *turn) {
	if u.ended != nil && u.lists == maxLists && len(u.killing) == 0 {
		t.conclude(u)
	}
}

// drainExpired ends the wait for commands.
func (t *translator) drainExpired() {
	for _, u := range t.openTurns() {
		if u.ended != nil {
			t.leftRunning(u)
			t.conclude(u)
		}
	}
}

func (t *translator) leftRunning(u *turn) {
	t.Notice(core.Content{Turn: u.name(), Payload: core.Warning{
		Message: "A command of the interrupted turn may still be running.", Code: "command_left_running"}})
}

// Configure handles the op: what it changes goes out with the next turn.
func (t *translator) Configure(op core.Configure) *core.Error {
	m := t.set.modes
	if op.Changes.ApprovalMode != "" {
		m.approval = op.Changes.ApprovalMode
	}
	if op.Changes.SandboxMode != "" {
		m.sandbox = op.Changes.SandboxMode
	}
	if err := m.check(); err != nil {
		return err
	}
	if m != t.set.modes {
		t.set.modes, t.set.changed = m, true
	}
	if op.Changes.Model != "" {
		t.set.model = op.Changes.Model
	}
	if op.Changes.ReasoningEffort != "" {
		t.set.effort = op.Changes.ReasoningEffort
	}
	t.OpDone(op.ID, "", nil, nil)
	return nil
}
