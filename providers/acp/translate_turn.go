package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// turn is one session/prompt and what came of it.
type turn struct {
	name     string
	op       core.OpID
	prompt   []wire.Block
	sent     bool
	accepted bool
	held     bool // until the agent is done with the turn before

	undelivered []core.OpID // answers and interrupts whose frames are on their way
	cancels     int         // how often session/cancel was sent
	stopped     bool        // a person's "cancel" stopped it

	openText *openText       // the text that is being streamed
	failure  *core.TurnError // an error by an aside, if nothing follows
	tools    tools
	failed   []string        // titles of tools that failed
	written  map[string]bool // files written for the agent, reported already
	edits    []core.FileEdit

	terminals []*terminal // that were made in it
}

// StartTurn handles the op.
func (t *translator) StartTurn(op core.StartTurn) *core.Error {
	if t.turn != nil {
		return core.Errorf(core.CodeTurnInProgress, "a turn is running").Retry()
	}
	list, err := blocks(op.Input, t.caps.PromptCapabilities)
	if err != nil {
		return err
	}
	u := &turn{name: op.TurnID, op: op.ID, prompt: list, written: map[string]bool{}}
	if e := op.Input.ReasoningEffort; e != "" && e != t.set.effort {
		method, params, err := t.setEffort(e)
		if err != nil {
			return err
		}
		t.turn = u
		t.set.effort = e
		t.Call(method, params, effortTag{u})
		return nil
	}
	t.turn = u
	t.sendPrompt(u)
	return nil
}

func (t *translator) sendPrompt(u *turn) {
	if t.settling {
		u.held = true
		return
	}
	u.sent = true
	t.Frame(link.Frame{Kind: jsonrpc.Request, Method: wire.SessionPrompt, Params: wire.PromptParams{SessionID: t.session, Prompt: u.prompt},
		Tag: promptTag{u}, Written: func() { t.accept(u) }})
	u.prompt = nil
	if u.cancels > 0 {
		t.sendCancel(u)
	}
}

// settled sends the prompt that waited for the agent.
func (t *translator) settled() {
	t.settling = false
	if u := t.turn; u != nil && u.held {
		u.held = false
		t.sendPrompt(u)
	}
}

// effortResponse sends the prompt that waited for its reasoning effort.
func (t *translator) effortResponse(u *turn, m jsonrpc.Message) {
	if m.Error == nil {
		t.sendPrompt(u)
		return
	}
	t.set.effort = ""
	t.turn = nil
	for _, op := range u.undelivered {
		t.OpDone(op, "", nil, nil)
	}
	t.OpDone(u.op, "", rejection(m.Error), nil)
}

// accept reports that the prompt is with the agent.
func (t *translator) accept(u *turn) {
	if u.accepted {
		return
	}
	u.accepted = true
	t.OpDone(u.op, "", nil, nil)
}

// delivered reports an op whose frame is in the pipe, once.
func (t *translator) delivered(op core.OpID) {
	if u := t.turn; u != nil {
		if i := slices.Index(u.undelivered, op); i >= 0 {
			u.undelivered = slices.Delete(u.undelivered, i, i+1)
			t.OpDone(op, "", nil, nil)
		}
	}
}

// Interrupt handles the op.
func (t *translator) Interrupt(op core.Interrupt) *core.Error {
	u := t.turn
	if u == nil || u.name != op.TurnID {
		return core.Errorf(core.CodeNoActiveTurn, "the turn is not running")
	}
	u.undelivered = append(u.undelivered, op.ID)
	t.cancel(u, func() { t.delivered(op.ID) })
	return nil
}

// cancel stops a turn: session/cancel first, then the outcome that every open
// question gets by it.
func (t *translator) cancel(u *turn, written func()) {
	if !u.sent {
		u.cancels = max(u.cancels, 1) // it is sent after the prompt
		return
	}
	t.cancelFrame(u, written)
	t.withdrawAll()
}

func (t *translator) sendCancel(u *turn) {
	t.cancelFrame(u, nil)
	for _, op := range u.undelivered {
		t.OpDone(op, "", nil, nil)
	}
	u.undelivered = nil
}

func (t *translator) cancelFrame(u *turn, written func()) {
	u.cancels++
	t.Frame(link.Frame{Kind: jsonrpc.Notification, Method: wire.SessionCancel, Params: wire.SessionRef{SessionID: t.session}, Written: written})
	t.Timer(link.Timer{Name: "cancel", After: cancelInterval, Keep: true, Fire: t.repeatCancel})
}

// repeatCancel sends session/cancel once more: an agent may have received it
// before it had begun the turn.
func (t *translator) repeatCancel() {
	if u := t.turn; u != nil && u.cancels > 0 && u.cancels < maxCancels {
		t.cancelFrame(u, nil)
	}
}

// promptResponse handles the response to session/prompt: the only thing that ends
// a turn.
func (t *translator) promptResponse(u *turn, m jsonrpc.Message) {
	if u != t.turn {
		t.event("second response to a prompt", m.Raw)
		return
	}
	t.accept(u)
	for _, op := range u.undelivered {
		t.OpDone(op, "", nil, nil)
	}
	u.undelivered = nil
	verdict, result := t.verdict(u, m)
	if m.Error != nil && t.set.agent.Quirks.SettleMS > 0 {
		t.settling = true
		t.Timer(link.Timer{Name: "settle", After: time.Duration(t.set.agent.Quirks.SettleMS) * time.Millisecond, Fire: t.settled})
	}
	t.finish(u, verdict, result, m.Raw)
}

// stopWarnings are stop reasons with which a turn is over and its work may not
// be.
var stopWarnings = map[string]string{
	wire.MaxTokens:       "The agent stopped at the limit of its answer's length.",
	wire.MaxTurnRequests: "The agent stopped at its limit of model calls in one turn.",
	wire.Refusal:         "The model refused to go on.",
}

// verdict reads how a turn ended.
func (t *translator) verdict(u *turn, m jsonrpc.Message) (core.Verdict, core.Result) {
	if m.Error != nil {
		if u.stopped || u.cancels > 0 && t.set.agent.Quirks.CancelFails {
			return core.VerdictCancelled, core.Result{StopReason: errorText(m.Error)}
		}
		return core.VerdictFailed, core.Result{Error: turnError(m.Error)}
	}
	var r wire.PromptResult
	if json.Unmarshal(m.Result, &r) != nil {
		return core.VerdictFailed, core.Result{Error: &core.TurnError{Code: core.TurnProviderError,
			Message: "The agent ended the turn with a result that cannot be read."}}
	}
	result := core.Result{StopReason: r.StopReason, Usage: t.turnUsage(r)}
	switch r.StopReason {
	case wire.Cancelled:
		return core.VerdictCancelled, result
	case wire.EndTurn, wire.MaxTokens, wire.MaxTurnRequests, wire.Refusal:
	default:
		result.Error = &core.TurnError{Code: core.TurnProviderError,
			Message: fmt.Sprintf("The agent ended the turn with an unknown stop reason: %.*q", maxStopWord, r.StopReason)}
		return core.VerdictFailed, result
	}
	if u.stopped {
		return core.VerdictCancelled, result // it takes a "cancelled" for a rejection and stops all the same
	}
	if u.failure != nil {
		result.Error = u.failure
		return core.VerdictFailed, result
	}
	if w := stopWarnings[r.StopReason]; w != "" {
		result.Warnings = append(result.Warnings, w)
	}
	if n := len(u.failed); n > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%d tool uses failed; the last was: %s", n, u.failed[n-1]))
	}
	return core.VerdictCompleted, result
}

// turnUsage reads what the turn used, wherever the agent reports it.
func (t *translator) turnUsage(r wire.PromptResult) *core.Usage {
	var u wire.Usage
	if json.Unmarshal(r.Usage, &u) != nil || u.InputTokens == nil && u.OutputTokens == nil && u.TotalTokens == nil {
		var q wire.Quota
		if json.Unmarshal(r.Meta, &q) != nil {
			return nil
		}
		u = wire.Usage{InputTokens: q.Quota.TokenCount.InputTokens, OutputTokens: q.Quota.TokenCount.OutputTokens}
		if u.InputTokens == nil && u.OutputTokens == nil {
			return nil
		}
	}
	all := core.Usage{InputTokens: u.InputTokens, CachedInputTokens: u.CachedReadTokens, OutputTokens: u.OutputTokens,
		ReasoningTokens: u.ThoughtTokens, TotalTokens: u.TotalTokens}
	if !t.set.agent.Quirks.UsageIsTotal {
		return &all
	}
	mine := core.Usage{
		InputTokens:       less(all.InputTokens, t.total.InputTokens),
		CachedInputTokens: less(all.CachedInputTokens, t.total.CachedInputTokens),
		OutputTokens:      less(all.OutputTokens, t.total.OutputTokens),
		ReasoningTokens:   less(all.ReasoningTokens, t.total.ReasoningTokens),
		TotalTokens:       less(all.TotalTokens, t.total.TotalTokens),
	}
	t.total = all
	return &mine
}

// less is a-b, where b may be absent; a count that went back starts again.
func less(a, b *int64) *int64 {
	if a == nil || b == nil || *b > *a {
		return a
	}
	d := *a - *b
	return &d
}

// finish ends a turn: what is open is closed before.
func (t *translator) finish(u *turn, verdict core.Verdict, result core.Result, raw json.RawMessage) {
	t.closeOpen(u, verdict != core.VerdictCompleted)
	t.withdrawAll()
	if result.Usage != nil {
		t.content(core.UsageUpdated{Usage: *result.Usage, Scope: core.UsageTurn}, nil)
	}
	result.FilesChanged = u.edits
	t.Notice(core.TurnEnded{Turn: u.name, Verdict: verdict, Result: result, Raw: raw})
	t.last = u.name
	t.turn = nil
}

// closeOpen closes the message and the tools that are open.
func (t *translator) closeOpen(u *turn, cut bool) {
	t.endText(u, cut)
	for _, tool := range u.tools.open() {
		t.endTool(u, tool, t.leftover(u, tool), nil)
	}
	t.leaveTerminals(u)
}

// Lost closes what is open when the link ends before the turn.
func (t *translator) Lost() {
	if u := t.turn; u != nil {
		t.closeOpen(u, true)
	}
}

// Steer rejects the op: the protocol has no message for it.
func (t *translator) Steer(core.Steer) *core.Error {
	return core.Errorf(core.CodeCapability, "ACP agents cannot be steered")
}
