package codex

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// request is a request of Codex's that waits for an answer or, answered, for
// Codex's report that it is done.
type request struct {
	id       json.RawMessage
	method   string
	kind     core.RequestKind
	turn     string          // its reference
	item     *openItem       // the command that waits for the answer
	asked    json.RawMessage // the permissions that were asked for
	answered bool
	op       core.OpID // that answered
}

// raise turns a request of Codex's into one of ours.
func (t *translator) raise(m jsonrpc.Message) {
	key := string(m.ID)
	if t.requests[key] != nil {
		t.event(m.Method, m.Raw) // an id that is in use: the answers could not be told apart
		return
	}
	u := t.active // also for a sub-agent's request: the same person decides
	if ref, own := t.scope(m.Params); own && ref != "" {
		if mine := t.turnFor(ref); mine != nil {
			u = mine
		}
	}
	r := &request{id: m.ID, method: m.Method}
	name := ""
	if u != nil {
		r.turn, name = u.ref, u.name()
	}
	spec, ok := t.spec(r, u, m)
	if !ok {
		return
	}
	r.kind = spec.Kind
	if strings.TrimSpace(spec.Prompt) == "" {
		spec.Prompt = "Codex asks: " + m.Method
	}
	t.requests[key] = r
	t.Notice(core.RequestRaised{Turn: name, Ref: key, Spec: spec, Raw: m.Raw})
}

// spec declares what a request asks. Not ok means that it has been answered.
func (t *translator) spec(r *request, u *turn, m jsonrpc.Message) (spec core.RequestSpec, ok bool) {
	var err error
	switch m.Method {
	case wire.CommandApproval:
		var p wire.CommandApprovalParams
		if err = json.Unmarshal(m.Params, &p); err == nil {
			if u != nil {
				if r.item = u.items.find(t.itemName(u, p.ItemID)); r.item != nil {
					r.item.asked = true
				}
			}
			return commandSpec(p, r.item), true
		}
	case wire.FileChangeApproval:
		var p wire.FileChangeApprovalParams
		if err = json.Unmarshal(m.Params, &p); err == nil {
			changes := t.changesOf(u, p.ItemID)
			if t.acceptsEdit(p, changes) {
				t.Reply(m.ID, wire.DecisionResponse{Decision: wire.Accept}, nil)
				t.event("edit accepted by auto_edit", m.Raw)
				return spec, false
			}
			return fileChangeSpec(p, changes), true
		}
	case wire.PermissionApproval:
		var p wire.PermissionApprovalParams
		if err = json.Unmarshal(m.Params, &p); err == nil {
			r.asked = p.Permissions
			return permissionSpec(p), true
		}
	case wire.RequestUserInput:
		var p wire.UserInputParams
		if err = json.Unmarshal(m.Params, &p); err == nil && answerable(p.Questions) {
			return questionSpec(p), true
		}
	case wire.Elicitation:
		var p wire.ElicitationParams
		if err = json.Unmarshal(m.Params, &p); err == nil && (p.Mode == "form" || p.Mode == "url") {
			if p.Meta.ToolName == "" {
				p.Meta.ToolName = toolInUse(u, p.ServerName)
			}
			return elicitationSpec(p), true
		}
	}
	t.Refuse(m.ID, jsonrpc.CodeMethodNotFound, "harness-mcp cannot put this to a person")
	t.broken(m)
	return spec, false
}

// acceptsEdit reports whether auto_edit covers a patch: every file of it is in
// the workspace, unless the sandbox is unrestricted.
func (t *translator) acceptsEdit(p wire.FileChangeApprovalParams, changes []wire.FileUpdateChange) bool {
	if t.set.approval != core.ApprovalAutoEdit || p.GrantRoot != "" || len(changes) == 0 {
		return false
	}
	if t.set.sandbox == core.SandboxUnrestricted {
		return true
	}
	for _, c := range changes {
		if !t.set.inside(c.Path) || c.Kind.MovePath != "" && !t.set.inside(c.Kind.MovePath) {
			return false
		}
	}
	return true
}

// changesOf finds the patch that an approval is about: only the start of its
// item has it.
func (t *translator) changesOf(u *turn, item string) []wire.FileUpdateChange {
	if u == nil {
		return nil
	}
	if it := u.items.find(t.itemName(u, item)); it != nil {
		return it.Changes
	}
	return nil
}

func commandSpec(p wire.CommandApprovalParams, it *openItem) core.RequestSpec {
	shown := p.Command
	if it != nil && shown == it.Command {
		shown = shownCommand(it.Item)
	}
	prompt := "Run this command? " + shown
	if p.Command == "" {
		prompt = "Allow this? " + p.Reason
	}
	return core.RequestSpec{
		Kind: core.KindCommandApproval, Prompt: prompt, Actions: link.ApprovalActions(), Scopes: link.BothScopes(),
		Details: &core.RequestDetails{Command: p.Command, CWD: p.CWD, Reason: p.Reason},
	}
}

func fileChangeSpec(p wire.FileChangeApprovalParams, changes []wire.FileUpdateChange) core.RequestSpec {
	d := &core.RequestDetails{Reason: p.Reason, Path: p.GrantRoot}
	var diffs, names []string
	for _, e := range edits(changes) {
		names = append(names, e.Path)
		if e.Diff != "" {
			diffs = append(diffs, e.Diff)
		}
	}
	d.Diff = strings.Join(diffs, "")
	if len(names) == 1 {
		d.Path = names[0]
	}
	return core.RequestSpec{
		Kind: core.KindFileChangeApproval, Prompt: "Apply this change? " + strings.Join(names, ", "),
		Actions: link.ApprovalActions(), Scopes: link.BothScopes(), Details: d,
	}
}

func permissionSpec(p wire.PermissionApprovalParams) core.RequestSpec {
	return core.RequestSpec{
		Kind: core.KindPermission, Prompt: "Grant these permissions? " + p.Reason,
		Actions: link.ApprovalActions(), Scopes: link.BothScopes(),
		Details: &core.RequestDetails{CWD: p.CWD, Reason: p.Reason, Input: p.Permissions},
	}
}

// answerable reports whether each question has a name of its own to answer by.
func answerable(list []wire.UserInputQuestion) bool {
	seen := map[string]bool{"": true}
	for _, q := range list {
		if seen[q.ID] {
			return false
		}
		seen[q.ID] = true
	}
	return len(list) > 0
}

func questionSpec(p wire.UserInputParams) core.RequestSpec {
	spec := core.RequestSpec{Kind: core.KindQuestion, Actions: []core.Action{core.ActionAnswer, core.ActionCancel}}
	var prompts []string
	for _, q := range p.Questions {
		for _, words := range []string{q.Header, q.ID} {
			if q.Question == "" {
				q.Question = words
			}
		}
		prompts = append(prompts, q.Question)
		mine := core.Question{ID: q.ID, Prompt: q.Question, Header: q.Header, Choices: []core.Choice{},
			AllowsOther: q.IsOther || len(q.Options) == 0, Secret: q.IsSecret}
		for _, o := range q.Options {
			mine.Choices = append(mine.Choices, core.Choice{Label: o.Label, Value: o.Label, Description: o.Description})
		}
		spec.Questions = append(spec.Questions, mine)
	}
	spec.Prompt = strings.Join(prompts, "\n")
	return spec
}

// toolApproval is how Codex marks an elicitation that is its own question
// whether an MCP tool may run.
const toolApproval = "mcp_tool_call"

// toolInUse names the tool of an MCP server that began last: older versions do
// not name the one that they ask about.
func toolInUse(u *turn, server string) string {
	if u == nil {
		return ""
	}
	for _, it := range slices.Backward(u.items.list) {
		if it.Type == wire.ItemMcpToolCall && it.Server == server {
			return it.Tool
		}
	}
	return ""
}

func elicitationSpec(p wire.ElicitationParams) core.RequestSpec {
	if p.Meta.ApprovalKind == toolApproval {
		spec := core.RequestSpec{
			Kind: core.KindPermission, Prompt: p.Message, Actions: link.ApprovalActions(),
			Details: &core.RequestDetails{Tool: strings.TrimSuffix(p.ServerName+"."+p.Meta.ToolName, "."), Input: p.Meta.ToolParams},
		}
		if strings.Contains(string(p.Meta.Persist), `"session"`) {
			spec.Scopes = link.BothScopes()
		}
		return spec
	}
	return link.ElicitationSpec(p.ServerName, p.Message, p.Mode == "url", p.URL, p.RequestedSchema)
}
