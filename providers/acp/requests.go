package acp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// request is a question for permission that waits for an answer.
type request struct {
	id   json.RawMessage
	tool *tool
	// The options by what they do; "" where there is none.
	once, session, reject string
}

// cancelled is the outcome of a question without an answer.
var cancelled = wire.PermissionResult{Outcome: wire.Outcome{Outcome: wire.Cancelled}}

// permission handles a question. It always gets an outcome, at once or later.
func (t *translator) permission(m jsonrpc.Message) {
	ref := string(m.ID)
	u := t.turn
	var p wire.PermissionParams
	var call wire.ToolCall
	if json.Unmarshal(m.Params, &p) != nil || json.Unmarshal(p.ToolCall, &call) != nil {
		t.broken(m.Method, m.Raw)
		t.Reply(m.ID, cancelled, nil)
		return
	}
	switch {
	case u == nil, t.requests[ref] != nil, len(t.requests) >= maxRequests,
		t.session != "" && p.SessionID != "" && p.SessionID != t.session:
		// It belongs to no turn, or the answers could not be told apart.
		t.event("permission declined at once", m.Raw)
		t.Reply(m.ID, cancelled, nil)
		return
	}
	if call.ToolCallID == "" {
		call.ToolCallID = "permission-" + ref
	}
	x := t.upsert(u, call)
	if x == nil {
		t.event("permission declined at once", m.Raw)
		t.Reply(m.ID, cancelled, nil)
		return
	}
	t.endText(u, false)
	t.beginTool(u, x, nil)
	r := t.options(p.Options)
	r.id, r.tool = m.ID, x
	if u.cancels > 0 {
		x.asked = true
		t.event("permission cancelled with its turn", m.Raw)
		t.Reply(m.ID, cancelled, nil)
		return
	}
	if option := t.allowed(x, r); option != "" {
		t.event("permission granted by "+string(t.set.approval), m.Raw)
		t.Reply(m.ID, selected(option), nil)
		return
	}
	x.asked = true
	t.requests[ref] = r
	t.Notice(core.RequestRaised{Turn: u.name, Ref: ref, Spec: t.spec(x, r), Raw: m.Raw})
}

// options sorts the answers by what they do. Ids and names differ from agent to
// agent; of several of a kind the first counts.
func (t *translator) options(list []wire.PermissionOption) *request {
	r := &request{}
	for _, o := range list {
		if o.OptionID == "" || slices.Contains(t.set.agent.Quirks.AvoidOptions, o.OptionID) {
			continue
		}
		slot := map[string]*string{wire.AllowOnce: &r.once, wire.AllowAlways: &r.session, wire.RejectOnce: &r.reject}[o.Kind]
		if slot != nil && *slot == "" {
			*slot = o.OptionID
		}
	}
	return r
}

// allowed returns the option that the approval mode chooses without a question.
func (t *translator) allowed(x *tool, r *request) string {
	switch t.set.approval {
	case core.ApprovalAuto:
		if r.once == "" {
			return r.session
		}
		return r.once
	case core.ApprovalAutoEdit:
		if x.call.Kind == wire.KindEdit && t.editsInside(x) {
			return r.once
		}
	}
	return ""
}

// editsInside reports whether every file that an edit names is in the workspace.
func (t *translator) editsInside(x *tool) bool {
	var paths []string
	for _, l := range x.call.Locations {
		paths = append(paths, l.Path)
	}
	for _, c := range x.content {
		if c.Type == wire.ContentDiff {
			paths = append(paths, c.Path)
		}
	}
	if p := x.path(); p != "" {
		paths = append(paths, p)
	}
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return !t.set.inside(p) })
}

// spec declares what the question asks. Deny is for agents that continue after it.
func (t *translator) spec(x *tool, r *request) core.RequestSpec {
	started := toolStarted(x)
	spec := core.RequestSpec{Kind: core.KindPermission, Prompt: "Allow this? " + started.Title}
	d := &core.RequestDetails{Tool: started.Name, Input: started.Input, Reason: contentText(x.content)}
	switch x.call.Kind {
	case wire.KindExecute:
		spec.Kind, spec.Prompt = core.KindCommandApproval, "Run this command? "+started.Title
		d.Command, d.CWD, d.Input = started.Command, started.CWD, nil
		if d.Command == "" {
			d.Command = x.call.Title
		}
	case wire.KindEdit, wire.KindDelete, wire.KindMove:
		spec.Kind, spec.Prompt = core.KindFileChangeApproval, "Change this file? "+started.Title
		d.Path = x.path()
		var diffs strings.Builder
		for _, c := range x.content {
			if c.Type == wire.ContentDiff {
				diffs.WriteString(edit(c.Path, c.OldText, c.NewText).Diff)
			}
		}
		d.Diff = diffs.String()
	default:
		d.Path = x.path()
	}
	spec.Details = d
	if r.once != "" {
		spec.Scopes = append(spec.Scopes, core.ScopeOnce)
	}
	if r.session != "" {
		spec.Scopes = append(spec.Scopes, core.ScopeSession)
	}
	if len(spec.Scopes) > 0 {
		spec.Actions = append(spec.Actions, core.ActionApprove)
	}
	if r.reject != "" && !t.set.agent.Quirks.RejectEnds {
		spec.Actions = append(spec.Actions, core.ActionDeny)
	}
	spec.Actions = append(spec.Actions, core.ActionCancel)
	return spec
}

func selected(option string) wire.PermissionResult {
	return wire.PermissionResult{Outcome: wire.Outcome{Outcome: wire.Selected, OptionID: option}}
}

// Respond handles the op. The question stays known until it is answered, and the
// op is done when the answer is in the pipe: the protocol has no other proof.
func (t *translator) Respond(op core.Respond) *core.Error {
	r, u := t.requests[op.Ref], t.turn
	if r == nil || u == nil {
		return core.Errorf(core.CodeRequestNotPending, "the agent no longer waits for this")
	}
	option := ""
	switch a := op.Response; {
	case a.Action == core.ActionApprove && a.Scope == core.ScopeSession:
		option = r.session
	case a.Action == core.ActionApprove:
		option = r.once
	case a.Action == core.ActionDeny:
		option = r.reject
	case a.Action == core.ActionCancel:
		u.undelivered = append(u.undelivered, op.ID)
		u.stopped = true
		delete(t.requests, op.Ref)
		r.tool.declined = true
		t.cancelFrame(u, nil) // before the outcome, so that the agent does not continue
		t.Reply(r.id, cancelled, func() { t.delivered(op.ID) })
		t.withdrawAll()
		return nil
	}
	if option == "" {
		return core.Errorf(core.CodeScope, "the agent offers no such answer")
	}
	u.undelivered = append(u.undelivered, op.ID)
	delete(t.requests, op.Ref)
	r.tool.asked = false
	r.tool.declined = op.Response.Action == core.ActionDeny
	t.Reply(r.id, selected(option), func() { t.delivered(op.ID) })
	return nil
}

// withdraw answers a question that ends with its turn.
func (t *translator) withdraw(ref string, r *request) {
	delete(t.requests, ref)
	t.Reply(r.id, cancelled, nil)
	t.Notice(core.RequestWithdrawn{Ref: ref})
}

func (t *translator) withdrawAll() {
	for _, ref := range slices.Sorted(maps.Keys(t.requests)) {
		t.withdraw(ref, t.requests[ref])
	}
}
