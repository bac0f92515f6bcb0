package pi

import (
	"encoding/json"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// change is a configure under way: the model first, then the thinking level,
// which is read back, since Pi accepts any value and uses what the model can.
type change struct {
	op     core.OpID
	step   string // the command that is out
	effort string // wanted, "" for none
	before string // the level that it falls back to
	model  string // the new one, once Pi has taken it
	failed *core.Error
}

// end answers the op. A model that Pi names in full is reported after it,
// since the op's success means that the session has what was asked for.
func (t *translator) end(ch *change, err *core.Error, raw json.RawMessage) {
	t.OpDone(ch.op, "", err, raw)
	if ch.model != "" {
		t.Notice(core.SessionChanged{Model: ch.model, Raw: raw})
	}
}

// Configure handles the op.
func (t *translator) Configure(op core.Configure) *core.Error {
	c := op.Changes
	if c.ApprovalMode != "" {
		if !t.gated && asks(c.ApprovalMode) {
			return core.Errorf(core.CodeCapability, "this release of Pi did not load the approval gate, so it cannot ask").
				WithHint("Start a new session.")
		}
		if t.turn == nil && t.pending == nil {
			t.mode = c.ApprovalMode
		} else {
			t.next = c.ApprovalMode
		}
	}
	ch := &change{op: op.ID, effort: c.ReasoningEffort}
	if c.Model == "" {
		t.configureEffort(ch)
		return nil
	}
	provider, id, ok := t.splitModel(c.Model)
	if !ok {
		return core.Errorf(core.CodeInvalidArgument, "pi needs the provider of the model %q", c.Model).
			WithHint("Name it as PROVIDER/MODEL, such as openai/gpt-5.")
	}
	ch.step = wire.SetModel
	t.call(wire.Command{Type: wire.SetModel, Provider: provider, ModelID: id}, ch)
	return nil
}

// splitModel takes a model's name apart; one without a provider is of the
// present one's.
func (t *translator) splitModel(name string) (provider, id string, ok bool) {
	if provider, id, ok := strings.Cut(name, "/"); ok {
		return provider, id, provider != "" && id != ""
	}
	provider, _, ok = strings.Cut(t.model, "/")
	return provider, name, ok && name != ""
}

func (t *translator) configureEffort(ch *change) {
	if ch.effort == "" || ch.effort == t.level {
		t.end(ch, nil, nil)
		return
	}
	ch.step, ch.before = wire.SetThinkingLevel, t.level
	t.call(wire.Command{Type: wire.SetThinkingLevel, Level: ch.effort}, ch)
}

// changed handles the response to a step of a change.
func (t *translator) changed(ch *change, r wire.Response, raw json.RawMessage) {
	if ch.failed != nil { // the fall-back; nothing more to try
		t.end(ch, ch.failed, raw)
		return
	}
	if !r.Success {
		t.end(ch, rejection(r), raw)
		return
	}
	switch ch.step {
	case wire.SetModel:
		var m wire.Model
		if json.Unmarshal(r.Data, &m) == nil && m.ID != "" {
			t.model, ch.model = m.Name(), m.Name()
		}
		t.configureEffort(ch)
	case wire.SetThinkingLevel:
		ch.step = wire.GetState
		t.call(wire.Command{Type: wire.GetState}, ch)
	case wire.GetState:
		var s wire.State
		if json.Unmarshal(r.Data, &s) == nil && s.ThinkingLevel == ch.effort {
			t.end(ch, nil, raw)
			return
		}
		ch.failed = core.Errorf(core.CodeOption, "the model %s has no reasoning_effort %q", t.model, ch.effort).
			WithHint("Pi would use %q for it.", s.ThinkingLevel)
		t.call(wire.Command{Type: wire.SetThinkingLevel, Level: ch.before}, ch)
	}
}
