package codex

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// Respond handles the op: it answers a request, or interrupts the turn where the
// protocol has no answer "cancel".
func (t *translator) Respond(op core.Respond) *core.Error {
	r := t.requests[op.Ref]
	if r == nil || r.answered {
		return core.Errorf(core.CodeRequestNotPending, "Codex no longer waits for this")
	}
	r.answered, r.op = true, op.ID
	cancelled := op.Response.Action == core.ActionCancel
	u := t.turns[r.turn]
	if r.kind == core.KindQuestion && cancelled && op.Response.Reason != string(core.ReasonNoAnswer) && u != nil {
		// The question ends with its turn; the interrupt's response is the proof.
		delete(t.requests, op.Ref)
		u.interrupts = append(u.interrupts, op.ID)
		t.sendInterrupt(u)
		return nil
	}
	if r.item != nil && op.Response.Action == core.ActionApprove {
		r.item.asked = false
	}
	t.Reply(r.id, answer(r, op.Response), nil)
	if cancelled && u != nil && (r.kind == core.KindPermission || r.kind == core.KindMCPElicitation || r.kind == core.KindConfirmation) {
		t.sendInterrupt(u) // their "cancel" refuses, and the turn would continue
	}
	return nil
}

// answer returns the result that Codex's request wants.
func answer(r *request, a core.Response) any {
	switch r.method {
	case wire.CommandApproval, wire.FileChangeApproval:
		return wire.DecisionResponse{Decision: decision(a)}
	case wire.PermissionApproval:
		return permission(r, a)
	case wire.RequestUserInput:
		answers := make(map[string]wire.UserInputAnswer, len(a.Answers))
		for id, values := range a.Answers {
			answers[id] = wire.UserInputAnswer{Answers: values}
		}
		return wire.UserInputResponse{Answers: answers}
	}
	return elicited(r, a)
}

func decision(a core.Response) string {
	switch {
	case a.Action == core.ActionApprove && a.Scope == core.ScopeSession:
		return wire.AcceptForSession
	case a.Action == core.ActionApprove:
		return wire.Accept
	case a.Action == core.ActionCancel:
		return wire.Cancel
	}
	return wire.Decline
}

// permission grants exactly what was asked for, or nothing.
func permission(r *request, a core.Response) wire.PermissionApprovalResponse {
	granted := wire.PermissionApprovalResponse{Permissions: json.RawMessage("{}"), Scope: "turn"}
	if a.Action == core.ActionApprove {
		granted.Permissions = r.asked
		if a.Scope == core.ScopeSession {
			granted.Scope = "session"
		}
	}
	return granted
}

// elicited answers a form, a page to be opened, or Codex's own question about
// a tool.
func elicited(r *request, a core.Response) wire.ElicitationResponse {
	switch a.Action {
	case core.ActionAnswer:
		return wire.ElicitationResponse{Action: "accept", Content: a.Content}
	case core.ActionApprove:
		e := wire.ElicitationResponse{Action: "accept"}
		if r.kind == core.KindPermission && a.Scope == core.ScopeSession {
			e.Meta = &wire.PersistMeta{Persist: "session"}
		}
		return e
	case core.ActionCancel:
		return wire.ElicitationResponse{Action: "cancel"}
	}
	return wire.ElicitationResponse{Action: "decline"}
}

// resolved handles the report that a request is done: the proof of our answer, or
// the withdrawal of the request.
func (t *translator) resolved(m jsonrpc.Message) {
	var n wire.ResolvedNotification
	if !t.read(m, &n) {
		return
	}
	key := string(n.RequestID)
	r := t.requests[key]
	if r == nil {
		return // answered by this adapter, or withdrawn with its turn
	}
	delete(t.requests, key)
	if r.answered {
		t.OpDone(r.op, "", nil, m.Raw)
		return
	}
	t.Notice(core.RequestWithdrawn{Ref: key, Raw: m.Raw})
}

// withdraw reports that the open requests of an ended turn are withdrawn. Answered
// ones keep waiting for Codex's word, which comes just after the end.
func (t *translator) withdraw(u *turn) {
	for _, key := range slices.Sorted(maps.Keys(t.requests)) {
		if r := t.requests[key]; r.turn == u.ref && !r.answered {
			delete(t.requests, key)
			t.Notice(core.RequestWithdrawn{Ref: key})
		}
	}
}
