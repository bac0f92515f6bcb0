package codex

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// unwanted are notifications that Codex is asked not to send: states that
// follow from other frames, and whole-turn diffs that grow with every edit.
var unwanted = []string{
	"thread/status/changed", "thread/readState/changed", "thread/goal/cleared", "thread/started",
	"remoteControl/status/changed", "turn/diff/updated", "item/fileChange/outputDelta",
}

// notification handles one that wants no answer.
func (t *translator) notification(m jsonrpc.Message) {
	ref, own := t.scope(m.Params)
	if !own {
		t.event(m.Method, m.Raw)
		return
	}
	switch m.Method {
	case wire.TurnStarted:
		t.turnStarted(ref, m.Raw)
	case wire.TurnCompleted:
		t.turnCompleted(m)
	case wire.ItemStarted, wire.ItemCompleted:
		t.itemNotification(ref, m)
	case wire.AgentMessageDelta, wire.ReasoningSummaryDelta, wire.ReasoningSummaryPart, wire.ReasoningTextDelta,
		wire.CommandOutputDelta, wire.McpToolCallProgress:
		t.deltaNotification(ref, m)
	case wire.ServerRequestResolved:
		t.resolved(m)
	case wire.TokenUsageUpdated:
		t.tokens(ref, m)
	default:
		t.report(ref, m)
	}
}

// content reports something of an open turn; what belongs to none belongs to
// the session.
func (t *translator) content(ref string, p core.Payload, raw json.RawMessage) {
	turn := ""
	if u := t.turnFor(ref); u != nil {
		turn = u.name()
	}
	t.Notice(core.Content{Turn: turn, Payload: p, Raw: raw})
}

// late keeps what comes for a turn that is over, or was never known.
func (t *translator) late(ref string, m jsonrpc.Message) {
	e := core.ProviderEvent{Kind: m.Method, Data: m.Raw}
	if u := t.pastTurn(ref); u != nil {
		e.TurnID = u.name()
	}
	t.Notice(core.Content{Payload: e, Raw: m.Raw})
}

// report handles the notifications that need no state, and keeps unknown ones.
func (t *translator) report(ref string, m jsonrpc.Message) {
	switch m.Method {
	case wire.Error:
		var n wire.ErrorNotification
		if t.read(m, &n) {
			if u := t.turnFor(ref); u != nil {
				t.closeTexts(u) // the text is sent again, or never
			}
			t.content(ref, core.ProviderError{Message: n.Error.Message, Code: errorWord(n.Error), WillRetry: n.WillRetry}, m.Raw)
		}
	case wire.Warning, wire.GuardianWarning, wire.ConfigWarning, wire.DeprecationNotice:
		var n wire.WarningNotification
		if t.read(m, &n) {
			t.warning(ref, n, m)
		}
	case wire.PlanUpdated:
		var n wire.PlanNotification
		if t.read(m, &n) {
			t.content(ref, plan(n), m.Raw)
		}
	case wire.RateLimitsUpdated:
		var n wire.RateLimitsNotification
		if t.read(m, &n) {
			t.rateLimits(n, m.Raw)
		}
	case wire.ModelRerouted:
		var n wire.ModelReroutedNotification
		if t.read(m, &n) {
			t.Notice(core.SessionChanged{Model: n.ToModel, Raw: m.Raw})
		}
	default:
		t.event(m.Method, m.Raw)
	}
}

// read decodes the params of a known message; a body that cannot be read is
// reported and the conversation continues.
func (t *translator) read(m jsonrpc.Message, into any) bool {
	if err := json.Unmarshal(m.Params, into); err != nil {
		t.broken(m)
		return false
	}
	return true
}

func (t *translator) warning(ref string, n wire.WarningNotification, m jsonrpc.Message) {
	text := n.Message
	if text == "" {
		text = n.Summary
	}
	if n.Details != "" {
		text += ": " + n.Details
	}
	if ref == "" && t.active != nil {
		ref = t.active.ref
	}
	t.content(ref, core.Warning{Message: text, Code: m.Method}, m.Raw)
}

func plan(n wire.PlanNotification) core.PlanUpdated {
	words := map[string]string{"inProgress": "in_progress"}
	p := core.PlanUpdated{Steps: make([]core.PlanStep, len(n.Plan))}
	for i, s := range n.Plan {
		status, ok := words[s.Status]
		if !ok {
			status = s.Status
		}
		p.Steps[i] = core.PlanStep{Text: s.Step, Status: status}
	}
	return p
}

// rateLimits reports limits that are not empty and have changed: Codex
// repeats them after every model call.
func (t *translator) rateLimits(n wire.RateLimitsNotification, raw json.RawMessage) {
	var limits map[string]json.RawMessage
	if json.Unmarshal(n.RateLimits, &limits) != nil || string(n.RateLimits) == t.limits {
		return
	}
	for name, v := range limits {
		if name != "limitId" && name != "limitName" && string(v) != "null" {
			t.limits = string(n.RateLimits)
			t.Notice(core.Content{Payload: core.RateLimit{Limits: n.RateLimits}, Raw: raw})
			return
		}
	}
}

// tokens handles a count of tokens. Codex counts over the thread, so a turn's
// are what came since its first model call began.
func (t *translator) tokens(ref string, m jsonrpc.Message) {
	var n wire.TokenUsageNotification
	if !t.read(m, &n) {
		return
	}
	total, last := n.TokenUsage.Total, n.TokenUsage.Last
	t.usage = usage(total, wire.TokenUsage{})
	u := t.turnFor(ref)
	if u == nil {
		t.content(ref, core.UsageUpdated{Usage: *t.usage, Scope: core.UsageSession}, m.Raw)
		return
	}
	if u.before == nil {
		u.before = &wire.TokenUsage{
			TotalTokens: total.TotalTokens - last.TotalTokens, InputTokens: total.InputTokens - last.InputTokens,
			CachedInputTokens: total.CachedInputTokens - last.CachedInputTokens, OutputTokens: total.OutputTokens - last.OutputTokens,
			ReasoningOutputTokens: total.ReasoningOutputTokens - last.ReasoningOutputTokens,
		}
	}
	u.usage = usage(total, *u.before)
	t.content(ref, core.UsageUpdated{Usage: *u.usage, Scope: core.UsageTurn}, m.Raw)
}

func usage(total, before wire.TokenUsage) *core.Usage {
	diff := func(a, b int64) *int64 { d := a - b; return &d }
	return &core.Usage{
		InputTokens:       diff(total.InputTokens, before.InputTokens),
		CachedInputTokens: diff(total.CachedInputTokens, before.CachedInputTokens),
		OutputTokens:      diff(total.OutputTokens, before.OutputTokens),
		ReasoningTokens:   diff(total.ReasoningOutputTokens, before.ReasoningOutputTokens),
		TotalTokens:       diff(total.TotalTokens, before.TotalTokens),
	}
}
