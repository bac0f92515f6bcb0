package acp

import (
	"encoding/json"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// offers are the settings of a session that the agent lets its client change.
// Agents have them as config options, in older forms of their own, or both.
type offers struct {
	mode   string // the present one
	modes  []string
	model  string
	models []string
	option map[string]choice // config options by category
}

// choice is a config option that is chosen from a list.
type choice struct {
	id      string
	current string
	values  []string
}

// readOffers reads what the opening of a session offers.
func readOffers(r wire.SessionResult) offers {
	var o offers
	if r.Modes != nil {
		o.mode = r.Modes.CurrentModeID
		for _, m := range r.Modes.AvailableModes {
			o.modes = append(o.modes, m.ID)
		}
	}
	if r.Models != nil {
		o.model = r.Models.CurrentModelID
		for _, m := range r.Models.AvailableModels {
			o.models = append(o.models, m.ModelID)
		}
	}
	o.option = readChoices(r.ConfigOptions)
	return o
}

// readChoices reads the config options that can be read; of several of one
// category the first counts. One of a new type is no reason to fail.
func readChoices(raw json.RawMessage) map[string]choice {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	found := map[string]choice{}
	for _, item := range list {
		var o wire.ConfigOption
		if json.Unmarshal(item, &o) != nil {
			continue
		}
		category := o.Category
		if category == "" {
			category = o.ID
		}
		if _, twice := found[category]; twice || o.ID == "" {
			continue
		}
		c := choice{id: o.ID, current: plain(o.CurrentValue)}
		for _, v := range o.Options {
			if v.Value != "" {
				c.values = append(c.values, v.Value)
			}
			for _, inner := range v.Options {
				c.values = append(c.values, inner.Value)
			}
		}
		found[category] = c
	}
	return found
}

// currentModel is the model as far as the agent reports it.
func (o offers) currentModel() string {
	if c, ok := o.option[wire.CategoryModel]; ok && c.current != "" {
		return c.current
	}
	return o.model
}

// currentEffort is the reasoning effort as far as the agent reports it.
func (o offers) currentEffort() string { return o.option[wire.CategoryEffort].current }

// offered handles new config options, and reports what they change.
func (t *translator) offered(raw, frame json.RawMessage) {
	before := t.offers
	if list := readChoices(raw); list != nil {
		t.offers.option = list
	}
	change := core.SessionChanged{Raw: frame}
	if m := t.offers.currentModel(); m != before.currentModel() {
		change.Model = m
	}
	if e := t.offers.currentEffort(); e != before.currentEffort() {
		change.ReasoningEffort = t.set.agent.effort(e)
	}
	if t.phase == live && (change.Model != "" || change.ReasoningEffort != "") {
		t.Notice(change)
	}
}

// effort is a reasoning effort that can be asked for again, or "": agents
// report values such as "default" when none was set.
func (a Agent) effort(word string) string {
	if slices.Contains(a.Efforts, word) {
		return word
	}
	return ""
}

// modeFor returns the agent's mode for an approval mode. Where it has none, it is
// set to ask, and the adapter answers.
func (a Agent) modeFor(m core.ApprovalMode) string {
	if mode, ok := a.Modes[m]; ok {
		return mode
	}
	return a.Modes[core.ApprovalDefault]
}

// call is one call that changes a setting.
type call struct {
	method string
	params any
}

// setMode returns the call that sets a session mode; none when it is set already
// or is not offered.
func (t *translator) setMode(mode string) (c call, ok bool) {
	o := t.offers.option[wire.CategoryMode]
	switch {
	case mode == "":
	case slices.Contains(t.offers.modes, mode):
		if t.offers.mode == mode {
			return call{}, false
		}
		return call{wire.SetMode, wire.SetModeParams{SessionID: t.session, ModeID: mode}}, true
	case slices.Contains(o.values, mode):
		if o.current == mode {
			return call{}, false
		}
		return call{wire.SetConfigOption, wire.SetConfigParams{SessionID: t.session, ConfigID: o.id, Value: mode}}, true
	}
	return call{}, false
}

// hasMode reports whether a mode is offered.
func (o offers) hasMode(mode string) bool {
	return slices.Contains(o.modes, mode) || slices.Contains(o.option[wire.CategoryMode].values, mode)
}

// setModel returns the call that sets a model.
func (t *translator) setModel(model string) (call, *core.Error) {
	if o, ok := t.offers.option[wire.CategoryModel]; ok {
		if !slices.Contains(o.values, model) {
			return call{}, unknownValue("model", model, o.values)
		}
		return call{wire.SetConfigOption, wire.SetConfigParams{SessionID: t.session, ConfigID: o.id, Value: model}}, nil
	}
	if len(t.offers.models) == 0 {
		return call{}, core.Errorf(core.CodeCapability, "this agent has no choice of a model over ACP").
			WithHint("Choose it in the agent's own configuration, or by env.")
	}
	if !slices.Contains(t.offers.models, model) {
		return call{}, unknownValue("model", model, t.offers.models)
	}
	return call{wire.SetModel, wire.SetModelParams{SessionID: t.session, ModelID: model}}, nil
}

// setEffort returns the call that sets a reasoning effort.
func (t *translator) setEffort(effort string) (method string, params any, err *core.Error) {
	o, ok := t.offers.option[wire.CategoryEffort]
	if !ok {
		return "", nil, core.Errorf(core.CodeCapability, "this agent's model has no choice of reasoning efforts")
	}
	if !slices.Contains(o.values, effort) {
		return "", nil, unknownValue("reasoning effort", effort, o.values)
	}
	return wire.SetConfigOption, wire.SetConfigParams{SessionID: t.session, ConfigID: o.id, Value: effort}, nil
}

func unknownValue(what, value string, have []string) *core.Error {
	e := core.Errorf(core.CodeOption, "this agent has no %s %q", what, value)
	if len(have) > 20 {
		have = have[:20]
	}
	return e.WithDetail("available", have)
}

// change is a Configure under way.
type change struct {
	op      core.OpID
	changes core.Changes
	left    int
	failed  *core.Error
}

// Configure handles the op. What the agent has a setting for is asked of it; the
// op is done when all is answered.
func (t *translator) Configure(op core.Configure) *core.Error {
	if s := op.Changes.SandboxMode; s != "" && s != core.SandboxDefault {
		return core.Errorf(core.CodeOption, "ACP agents have no sandbox mode %q", s)
	}
	calls, err := t.settingCalls(op.Changes)
	if err != nil {
		return err
	}
	c := &change{op: op.ID, changes: op.Changes, left: len(calls)}
	if len(calls) == 0 {
		t.configured(c)
		return nil
	}
	for _, k := range calls {
		t.Call(k.method, k.params, settingTag{c})
	}
	return nil
}

// settingCalls returns the calls that make the changes.
func (t *translator) settingCalls(ch core.Changes) ([]call, *core.Error) {
	var calls []call
	if ch.Model != "" && ch.Model != t.offers.currentModel() {
		c, err := t.setModel(ch.Model)
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	if ch.ReasoningEffort != "" && ch.ReasoningEffort != t.offers.currentEffort() {
		method, params, err := t.setEffort(ch.ReasoningEffort)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call{method, params})
	}
	if ch.ApprovalMode != "" {
		if c, ok := t.setMode(t.set.agent.modeFor(ch.ApprovalMode)); ok {
			calls = append(calls, c)
		}
	}
	return calls, nil
}

// settingResponse handles the answer to one of the calls of a change.
func (t *translator) settingResponse(c *change, m jsonrpc.Message) {
	if m.Error != nil && c.failed == nil {
		c.failed = rejection(m.Error)
	}
	t.tookSetting(m)
	if c.left--; c.left > 0 {
		return
	}
	if c.failed != nil {
		t.OpDone(c.op, "", c.failed, nil)
		return
	}
	t.configured(c)
}

// tookSetting reads the config options that come back from a change.
func (t *translator) tookSetting(m jsonrpc.Message) {
	var p wire.ConfigParams
	if m.Error == nil && json.Unmarshal(m.Result, &p) == nil && len(p.ConfigOptions) > 0 {
		t.offered(p.ConfigOptions, m.Raw)
	}
}

// configured stores the new settings.
func (t *translator) configured(c *change) {
	if mode := c.changes.ApprovalMode; mode != "" {
		t.set.approval = mode
		if own := t.set.agent.modeFor(mode); t.offers.hasMode(own) {
			t.offers.mode = own
		}
	}
	if m := c.changes.Model; m != "" {
		t.offers.model = m
	}
	if e := c.changes.ReasoningEffort; e != "" {
		t.set.effort = e
	}
	t.OpDone(c.op, "", nil, nil)
}
