package pi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// dialog is one that an extension of Pi's waits for.
type dialog struct {
	id     string
	method string
	gate   *gateCall // the approval that it stands for, nil for another extension's
}

// gateCall is what the gate asks about.
type gateCall struct {
	ID     string          `json:"id"` // of the tool's use
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Path   string          `json:"path"` // absolute; "" where the tool names no file, or not plainly
	Exists bool            `json:"exists"`
}

// allowance is what an approval for the session covers: exactly this
// command, or any use of another tool.
func (g *gateCall) allowance() string {
	if kindOf(g.Tool) == core.ToolCommand {
		return g.Tool + "\x00" + argsOf(g.Input).Command
	}
	return g.Tool
}

// dialog handles an extension_ui_request. Pi's extensions wait for some without
// limit, so each that could not be answered is dismissed at once.
func (t *translator) dialog(raw json.RawMessage) {
	var d wire.Dialog
	if !t.decode(wire.TypeDialog, raw, &d) {
		return
	}
	switch d.Method {
	case wire.Select, wire.Confirm, wire.Input, wire.Editor:
	default:
		t.shown(d, raw)
		return
	}
	if d.ID == "" || t.dialogs[d.ID] != nil {
		t.event("dialog without an id of its own", raw)
		return
	}
	if t.turn == nil && t.pending != nil && t.pending.sent {
		t.begin(t.pending, nil) // it is the prompt that makes the extension ask
	}
	turn := t.asking()
	if turn == nil || turn.stopping || len(t.dialogs) >= maxDialogs {
		t.answerCancelled(d.ID, 0)
		t.event("dialog dismissed", raw)
		return
	}
	open := &dialog{id: d.ID, method: d.Method}
	spec := question(d)
	if t.set.channel != "" && d.Title == t.set.channel {
		if open.gate, spec = t.gateAsks(d, raw); open.gate == nil {
			return
		}
	}
	t.dialogs[d.ID] = open
	t.order = append(t.order, d.ID)
	t.Notice(core.RequestRaised{Turn: turn.name, Ref: d.ID, Spec: spec, Raw: raw})
	if d.Timeout > 0 { // Pi takes its own answer then, and does not report it
		t.Timer(link.Timer{Name: d.ID, After: time.Duration(d.Timeout) * time.Millisecond, Fire: func() { t.dialogExpired(d.ID) }})
	}
}

// asking is the turn that a dialog belongs to.
func (t *translator) asking() *turn {
	if t.turn == nil && t.pending != nil && t.pending.sent {
		return t.pending
	}
	return t.turn
}

// shown handles what an extension shows and wants no answer to.
func (t *translator) shown(d wire.Dialog, raw json.RawMessage) {
	switch {
	case d.Method == wire.SetStatus && t.set.channel != "" && d.StatusKey == t.set.channel:
		t.gated = true
	case d.Method == wire.Notify && (d.NotifyType == "warning" || d.NotifyType == "error"):
		t.content(core.Warning{Message: d.Message, Code: "extension_" + d.NotifyType}, raw)
	default:
		t.event(wire.TypeDialog+": "+d.Method, raw)
	}
}

// gateAsks handles a dialog of the gate's. It returns nil where no one has
// to be asked.
func (t *translator) gateAsks(d wire.Dialog, raw json.RawMessage) (*gateCall, core.RequestSpec) {
	var g gateCall
	if json.Unmarshal([]byte(d.Placeholder), &g) != nil || g.Tool == "" {
		t.answerCancelled(d.ID, 0)
		t.event("dialog dismissed", raw)
		return nil, core.RequestSpec{}
	}
	x := t.toolInUse(g.ID)
	if x != nil {
		x.path, x.exists = g.Path, g.Exists
	}
	if t.passes(&g) {
		t.answerValue(d.ID, gateAllow, 0)
		return nil, core.RequestSpec{}
	}
	return &g, approval(&g)
}

// passes reports whether the gate lets a tool run without asking anybody.
func (t *translator) passes(g *gateCall) bool {
	switch {
	case t.mode == core.ApprovalAuto, t.allowed[g.allowance()]:
		return true
	case t.mode == core.ApprovalAutoEdit && edits(g.Tool):
		return g.Path != "" && t.set.inside(g.Path)
	}
	return false
}

// approval is the question about a tool.
func approval(g *gateCall) core.RequestSpec {
	args := argsOf(g.Input)
	spec := core.RequestSpec{
		Kind: core.KindPermission, Prompt: "Pi wants to use " + g.Tool + ".",
		Actions: link.ApprovalActions(),
		Scopes:  link.BothScopes(),
		Details: &core.RequestDetails{Tool: g.Tool, Input: g.Input, Path: g.Path},
	}
	switch {
	case kindOf(g.Tool) == core.ToolCommand:
		spec.Kind, spec.Prompt = core.KindCommandApproval, "Pi wants to run: "+args.Command
		spec.Details.Command = args.Command
	case edits(g.Tool):
		path := cmp.Or(g.Path, args.Path)
		spec.Kind, spec.Prompt = core.KindFileChangeApproval, "Pi wants to "+g.Tool+" "+path
		spec.Details.Path = path
	}
	return spec
}

// questionID names the only question of a dialog.
const questionID = "answer"

// question is what an extension asks.
func question(d wire.Dialog) core.RequestSpec {
	prompt := cmp.Or(strings.TrimSpace(strings.TrimSpace(d.Title)+"\n"+strings.TrimSpace(d.Message)), "An extension of Pi's asks.")
	if d.Method == wire.Confirm {
		return core.RequestSpec{Kind: core.KindConfirmation, Prompt: prompt,
			Actions: link.ApprovalActions()}
	}
	q := core.Question{ID: questionID, Prompt: prompt, Choices: []core.Choice{}, AllowsOther: d.Method != wire.Select || len(d.Options) == 0}
	for _, o := range d.Options {
		q.Choices = append(q.Choices, core.Choice{Label: o, Value: o})
	}
	for _, hint := range []string{d.Placeholder, d.Prefill} {
		if hint != "" {
			q.Prompt += "\n\n" + hint
		}
	}
	return core.RequestSpec{Kind: core.KindQuestion, Prompt: prompt, Questions: []core.Question{q},
		Actions: []core.Action{core.ActionAnswer, core.ActionCancel}}
}

// Respond handles the op.
func (t *translator) Respond(op core.Respond) *core.Error {
	d := t.dialogs[op.Ref]
	if d == nil {
		return core.Errorf(core.CodeRequestNotPending, "Pi no longer waits for this")
	}
	t.forget(op.Ref)
	r := op.Response
	if r.Action == core.ActionApprove && r.Scope == core.ScopeSession && d.gate != nil && len(t.allowed) < maxAllowed {
		t.allowed[d.gate.allowance()] = true
	}
	t.answer(d, r, op.ID)
	// A missing answer does not stop a turn; a person's cancel does.
	if u := t.asking(); r.Action == core.ActionCancel && r.Reason != string(core.ReasonNoAnswer) && u != nil {
		if u == t.turn {
			t.stop(u)
		} else {
			t.dismissAll() // its prompt has no response yet, and cannot be aborted
		}
	}
	return nil
}

// gateAllow is the value by which the gate lets a tool run. Any other value is
// passed to the model as the reason of the refusal.
const gateAllow = "allow"

// answer sends the answer to a dialog.
func (t *translator) answer(d *dialog, r core.Response, op core.OpID) {
	switch {
	case d.gate != nil && r.Action == core.ActionApprove:
		t.answerValue(d.id, gateAllow, op)
	case d.gate != nil:
		if x := t.toolInUse(d.gate.ID); x != nil {
			x.denied = true
		}
		if r.Reason == "" || r.Action == core.ActionCancel {
			t.answerCancelled(d.id, op)
			return
		}
		t.answerValue(d.id, "The user did not allow this: "+r.Reason, op)
	case d.method == wire.Confirm && r.Action != core.ActionCancel:
		yes := r.Action == core.ActionApprove
		t.Send(wire.DialogResponse{Type: wire.TypeDialogResponse, ID: d.id, Confirmed: &yes}, op)
	case r.Action == core.ActionAnswer && len(r.Answers[questionID]) > 0:
		t.answerValue(d.id, r.Answers[questionID][0], op)
	default:
		t.answerCancelled(d.id, op)
	}
}

func (t *translator) answerValue(id, value string, op core.OpID) {
	t.Send(wire.DialogResponse{Type: wire.TypeDialogResponse, ID: id, Value: &value}, op)
}

func (t *translator) answerCancelled(id string, op core.OpID) {
	t.Send(wire.DialogResponse{Type: wire.TypeDialogResponse, ID: id, Cancelled: true}, op)
}

// dismissAll cancels every open dialog.
func (t *translator) dismissAll() {
	for _, id := range slices.Clone(t.order) {
		t.answer(t.dialogs[id], core.Response{Action: core.ActionCancel}, 0)
		t.forget(id)
	}
}

func (t *translator) forget(id string) {
	delete(t.dialogs, id)
	t.order = slices.DeleteFunc(t.order, func(o string) bool { return o == id })
}

// dialogExpired reports that Pi has taken its own answer to a dialog.
func (t *translator) dialogExpired(ref string) {
	if t.dialogs[ref] != nil {
		t.forget(ref)
		t.Notice(core.RequestWithdrawn{Ref: ref})
	}
}

// overtaken withdraws the approval of a tool that ended without it.
func (t *translator) overtaken(tool string, raw json.RawMessage) {
	for _, id := range slices.Clone(t.order) {
		if g := t.dialogs[id].gate; g != nil && g.ID == tool {
			t.forget(id)
			t.Notice(core.RequestWithdrawn{Ref: id, Raw: raw})
		}
	}
}
