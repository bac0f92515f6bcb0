package claude

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
)

// Respond handles the op. The CLI confirms no answer, so the proof is that the
// line is in the pipe whole.
func (t *translator) Respond(op core.Respond) *core.Error {
	r := t.requests[op.Ref]
	if r == nil {
		return core.Errorf(core.CodeRequestNotPending, "Claude Code no longer waits for this")
	}
	response, err := t.answer(r, op.Response)
	if err != nil {
		return err
	}
	delete(t.requests, op.Ref)
	t.reply(r.id, response, op.ID)
	if op.Response.Action == core.ActionCancel && !silent(r, op.Response) && r.turn != nil {
		r.turn.stopping = true
		if r.elicit || r.agent { // their "cancel" refuses, and the turn would continue
			t.sendInterrupt(r.turn)
		}
	}
	return nil
}

// silent reports whether a question gets its empty answer: nobody answered, and
// denying is not offered.
func silent(r *request, a core.Response) bool {
	return r.kind == core.KindQuestion && a.Reason == string(core.ReasonNoAnswer)
}

// answer returns the response that the CLI's request wants.
func (t *translator) answer(r *request, a core.Response) (any, *core.Error) {
	if r.elicit {
		return elicited(a), nil
	}
	switch a.Action {
	case core.ActionApprove:
		allow := wire.Allow{Behavior: "allow", UpdatedInput: orEmpty(r.input)}
		if a.Scope == core.ScopeSession {
			if len(r.grants) == 0 {
				return nil, core.Errorf(core.CodeScope, "Claude Code offers no scope session here")
			}
			allow.UpdatedPermissions = r.grants
		}
		return allow, nil
	case core.ActionAnswer:
		return answered(r, a)
	}
	stops := a.Action == core.ActionCancel && !silent(r, a)
	t.mark(r, stops)
	return wire.Deny{Behavior: "deny", Message: refusal(r, a), Interrupt: stops}, nil
}

// mark notes how the tool's end is to be reported.
func (t *translator) mark(r *request, stops bool) {
	if r.turn == nil {
		return
	}
	if it := r.turn.items.find(r.tool); it != nil {
		it.status = core.ToolDeclined
		if stops {
			it.status = core.ToolCancelled
		}
	}
}

// refusal is what the model reads about a refused tool use.
func refusal(r *request, a core.Response) string {
	switch {
	case silent(r, a):
		return "Nobody answered the question."
	case a.Reason == "" || a.Reason == string(core.ReasonNoAnswer):
		return "The request was denied."
	}
	return a.Reason
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// answered returns the answers to a form: its own input, with the answers by the
// texts of their questions.
func answered(r *request, a core.Response) (any, *core.Error) {
	var input map[string]json.RawMessage
	if json.Unmarshal(orEmpty(r.input), &input) != nil {
		return nil, core.Errorf(core.CodeResponseRejected, "the question cannot be answered: its form cannot be read")
	}
	answers := make(map[string]string, len(r.questions))
	for _, id := range slices.Sorted(maps.Keys(r.questions)) {
		answers[r.questions[id]] = strings.Join(a.Answers[id], ", ")
	}
	raw, err := json.Marshal(answers)
	if err != nil {
		return nil, core.Errorf(core.CodeResponseRejected, "the answers cannot be written: %w", err)
	}
	input["answers"] = raw
	whole, err := json.Marshal(input)
	if err != nil {
		return nil, core.Errorf(core.CodeResponseRejected, "the answers cannot be written: %w", err)
	}
	return wire.Allow{Behavior: "allow", UpdatedInput: whole}, nil
}

func elicited(a core.Response) wire.ElicitationAnswer {
	switch a.Action {
	case core.ActionAnswer:
		return wire.ElicitationAnswer{Action: "accept", Content: a.Content}
	case core.ActionApprove:
		return wire.ElicitationAnswer{Action: "accept"}
	case core.ActionCancel:
		return wire.ElicitationAnswer{Action: "cancel"}
	}
	return wire.ElicitationAnswer{Action: "decline"}
}

// withdrawAll reports that the open requests of an ended turn are withdrawn. A
// sub-agent lives on and still waits, so its request is denied.
func (t *translator) withdrawAll(u *turn) {
	for _, id := range slices.Sorted(maps.Keys(t.requests)) {
		r := t.requests[id]
		if r.turn != u {
			continue
		}
		delete(t.requests, id)
		if r.agent {
			t.reply(r.id, wire.Deny{Behavior: "deny", Message: "The turn in which this was asked has ended; nobody can answer any more."}, 0)
		}
		t.Notice(core.RequestWithdrawn{Ref: id})
	}
}
