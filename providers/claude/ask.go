package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/textdiff"
)

// request is a control request of the CLI's that waits for an answer.
type request struct {
	id        string
	kind      core.RequestKind
	turn      *turn // nil for none
	input     json.RawMessage
	tool      string // id of the tool's use
	agent     bool   // a sub-agent asks
	elicit    bool
	grants    []wire.Suggestion // what scope "session" stands for
	questions map[string]string // the text of a question, by its id
}

// request handles a control request of the CLI's. What nobody here can answer is
// refused at once, so that the CLI never waits.
func (t *translator) request(raw []byte) {
	var m wire.Request
	var kind struct {
		Subtype string `json:"subtype"`
	}
	if !t.decode(wire.ControlRequest, raw, &m) {
		return
	}
	if err := json.Unmarshal(m.Request, &kind); err != nil || m.RequestID == "" {
		t.event(wire.ControlRequest, raw)
		if m.RequestID != "" {
			t.refuse(m.RequestID, "harness-mcp cannot read this request")
		}
		return
	}
	switch kind.Subtype {
	case wire.CanUseTool:
		t.ask(m, raw)
	case wire.Elicitation:
		t.elicit(m, raw)
	default:
		t.refuse(m.RequestID, "harness-mcp does not answer "+kind.Subtype)
		t.event("control_request: "+kind.Subtype, raw)
	}
}

// raise reports a request, for whoever decides.
func (t *translator) raise(r *request, spec core.RequestSpec, raw json.RawMessage) {
	r.kind, r.turn = spec.Kind, t.running
	if old := t.requests[r.id]; old != nil {
		t.event("a request that is open already", raw)
		return
	}
	t.requests[r.id] = r
	t.Notice(core.RequestRaised{Turn: t.name(), Ref: r.id, Spec: spec, Raw: raw})
}

// ask handles can_use_tool, which asks for approvals and questions alike.
func (t *translator) ask(m wire.Request, raw json.RawMessage) {
	var a wire.Ask
	if !t.decode("control_request: "+wire.CanUseTool, m.Request, &a) {
		t.refuse(m.RequestID, "harness-mcp cannot read this request")
		return
	}
	r := &request{id: m.RequestID, input: a.Input, tool: a.ToolUseID, agent: a.AgentID != ""}
	in := inputOf(a.Input)
	if a.ToolName == wire.AskUserQuestion && len(in.Questions) > 0 {
		spec, texts := questionSpec(in.Questions)
		r.questions = texts
		t.raise(r, spec, raw)
		return
	}
	r.grants = grants(a.Suggestions)
	t.raise(r, approvalSpec(a, in, len(r.grants) > 0), raw)
}

// grants returns the rules that the CLI would remember, for the session only. Only
// its suggestions about this tool use are taken: one that changes the mode would
// allow more than was asked.
func grants(suggestions []json.RawMessage) []wire.Suggestion {
	for _, raw := range suggestions {
		var s wire.Suggestion
		if json.Unmarshal(raw, &s) == nil && s.Type == wire.AddRules && s.Behavior == "allow" && len(s.Rules) > 0 {
			s.Destination = wire.ToSession
			return []wire.Suggestion{s} // suggestions are alternatives
		}
	}
	return nil
}

// approvalSpec declares what an approval is about.
func approvalSpec(a wire.Ask, in wire.ToolInput, session bool) core.RequestSpec {
	title := toolTitle(a.ToolName, in)
	spec := core.RequestSpec{Kind: core.KindPermission, Actions: link.ApprovalActions(),
		Details: &core.RequestDetails{Tool: shownName(a.ToolName), Input: a.Input, Path: a.BlockedPath, Reason: a.Reason}}
	d := spec.Details
	if session {
		spec.Scopes = link.BothScopes()
	}
	switch kind := toolKind(a.ToolName); {
	case a.ToolName == wire.ExitPlanMode:
		spec.Kind, spec.Prompt = core.KindConfirmation, "Leave plan mode and begin?"
		if in.Plan != "" {
			spec.Prompt += "\n" + in.Plan
		}
		return spec
	case kind == core.ToolCommand && in.Command != "":
		spec.Kind, spec.Prompt = core.KindCommandApproval, "Run this command? "+in.Command
		d.Command = in.Command
		d.Reason = cmp.Or(d.Reason, in.Description)
	case kind == core.ToolFile && a.ToolName != "Read":
		spec.Kind, spec.Prompt = core.KindFileChangeApproval, "Change this file? "+title
		d.Path = cmp.Or(cmp.Or(in.FilePath, in.NotebookPath), a.BlockedPath)
		d.Diff = askedDiff(a.ToolName, in)
	default:
		spec.Prompt = "Allow this? " + title
		d.Path = cmp.Or(in.FilePath, a.BlockedPath)
	}
	if a.ReasonType == wire.ModeReason && d.Reason == "" {
		d.Reason = "The permission mode forbids this (plan mode, say); approving lets it happen all the same."
	}
	return spec
}

// askedDiff shows a change that is asked for. The place of an edit in its file
// is not known.
func askedDiff(tool string, in wire.ToolInput) string {
	switch {
	case tool == "Write":
		return addedDiff(in.FilePath, in.Content)
	case in.OldString == "" && in.NewString == "":
		return ""
	}
	var b strings.Builder
	b.WriteString(textdiff.Header(in.FilePath, in.FilePath) + "@@ @@\n")
	signed(&b, '-', in.OldString)
	signed(&b, '+', in.NewString)
	return b.String()
}

func signed(b *strings.Builder, sign byte, text string) {
	for l := range strings.Lines(text) {
		b.WriteByte(sign)
		b.WriteString(strings.TrimSuffix(l, "\n"))
		b.WriteByte('\n')
	}
}

// questionSpec declares a form. The CLI takes free text for every question.
func questionSpec(questions []wire.Question) (core.RequestSpec, map[string]string) {
	spec := core.RequestSpec{Kind: core.KindQuestion, Actions: []core.Action{core.ActionAnswer, core.ActionCancel}}
	texts := map[string]string{}
	var prompts []string
	for i, q := range questions {
		id := fmt.Sprintf("q%d", i+1)
		prompt := cmp.Or(cmp.Or(q.Question, q.Header), id)
		texts[id] = q.Question
		mine := core.Question{ID: id, Prompt: prompt, Header: q.Header, Choices: []core.Choice{}, Multiple: q.MultiSelect, AllowsOther: true}
		for _, o := range q.Options {
			mine.Choices = append(mine.Choices, core.Choice{Label: o.Label, Value: o.Label, Description: o.Description})
		}
		spec.Questions = append(spec.Questions, mine)
		prompts = append(prompts, prompt)
	}
	spec.Prompt = strings.Join(prompts, "\n")
	return spec, texts
}

// elicit handles the question of an MCP server.
func (t *translator) elicit(m wire.Request, raw json.RawMessage) {
	var e wire.ElicitationRequest
	if !t.decode("control_request: "+wire.Elicitation, m.Request, &e) {
		t.refuse(m.RequestID, "harness-mcp cannot read this request")
		return
	}
	r := &request{id: m.RequestID, elicit: true}
	prompt := cmp.Or(e.Message, "The MCP server "+e.MCPServerName+" asks.")
	t.raise(r, link.ElicitationSpec(e.MCPServerName, prompt, e.Mode == "url", e.URL, e.RequestedSchema), raw)
}

// cancelled handles the report that the CLI no longer waits.
func (t *translator) cancelled(id string, raw json.RawMessage) {
	if t.requests[id] == nil {
		t.event(wire.ControlCancel, raw)
		return
	}
	delete(t.requests, id)
	t.Notice(core.RequestWithdrawn{Ref: id, Raw: raw})
}
