package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
)

// verdict returns how a turn ended. The subtype of a result is not used: it is
// "success" for a failed API call, and "error" for an interrupt.
func (t *translator) verdict(u *turn, r wire.Result) (core.Verdict, core.Result) {
	res := core.Result{StopReason: r.StopReason, Provider: extras(r)}
	res.Usage, res.CostUSD = t.spent.add(r)
	if r.StopReason == "" {
		res.StopReason = r.TerminalReason
	}
	switch {
	case u.stalled:
		res.Error = &core.TurnError{Code: core.TurnProviderError, Message: "The model went silent in the middle of its answer, and Claude Code would have waited for ever."}
		return core.VerdictFailed, res
	case strings.HasPrefix(r.TerminalReason, wire.AbortedPrefix), r.IsError && r.TerminalReason == "" && u.stopping:
		res.StopReason = "interrupted"
		return core.VerdictCancelled, res
	case r.IsError:
		res.Error = turnError(u, r)
		return core.VerdictFailed, res
	}
	if !u.hasMessage {
		res.Text = r.Result
	}
	if len(r.StructuredOutput) > 0 && string(r.StructuredOutput) != "null" {
		res.StructuredOutput = r.StructuredOutput
	}
	return core.VerdictCompleted, res
}

// turnError returns why a turn failed, in the CLI's own words.
func turnError(u *turn, r wire.Result) *core.TurnError {
	e := &core.TurnError{Code: core.TurnProviderError, Message: r.Result}
	if e.Message == "" {
		e.Message = strings.Join(r.Errors, "; ")
	}
	if e.Message == "" {
		e.Message = "Claude Code ended the turn: " + cmp.Or(r.TerminalReason, r.Subtype)
	}
	status := 0
	if r.APIErrorStatus != nil {
		status = *r.APIErrorStatus
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, u.failure == "authentication_failed":
		e.Code = core.TurnAuthRequired
	case status == http.StatusTooManyRequests, u.failure == "rate_limit":
		e.Code = core.TurnRateLimited
	}
	own, err := json.Marshal(struct {
		Status         int    `json:"status,omitempty"`
		Error          string `json:"error,omitempty"`
		Subtype        string `json:"subtype"`
		TerminalReason string `json:"terminal_reason,omitempty"`
	}{status, u.failure, r.Subtype, r.TerminalReason})
	if err == nil {
		e.Provider = own
	}
	return e
}

// extras are the facts of a result that have no place of their own.
func extras(r wire.Result) json.RawMessage {
	x := struct {
		Subtype        string          `json:"subtype"`
		TerminalReason string          `json:"terminal_reason,omitempty"`
		NumTurns       int             `json:"num_turns"`
		Denials        json.RawMessage `json:"permission_denials,omitempty"`
	}{r.Subtype, r.TerminalReason, r.NumTurns, nil}
	if len(r.Denials) > 0 && string(r.Denials) != "[]" && string(r.Denials) != "null" {
		x.Denials = r.Denials
	}
	raw, err := json.Marshal(x)
	if err != nil {
		return nil
	}
	return raw
}

// openingError is why a conversation could not be opened.
func openingError(r wire.Result) *core.Error {
	why := cmp.Or(strings.Join(r.Errors, "; "), r.Result)
	e := core.Errorf(core.CodeStartFailed, "claude did not open: %s", cmp.Or(why, r.Subtype))
	switch {
	case strings.Contains(why, "andbox"):
		return e.WithHint(sandboxHint)
	case strings.HasPrefix(why, wire.NoConversation):
		return e.WithHint("Check provider_session_id, cwd and CLAUDE_CONFIG_DIR: versions before 2.1.3xx find a conversation only from the directory it began in.")
	}
	return e
}

// sandboxHint is what to do where no sandbox is available.
const sandboxHint = "The sandbox of sandbox_mode is not available here: install bubblewrap and socat, or use sandbox_mode default."

// account keeps what the process has used so far; the CLI counts cumulatively.
type account struct {
	usage *core.Usage
	cost  *float64
}

// add handles a result and returns what came since the last one.
func (a *account) add(r wire.Result) (*core.Usage, *float64) {
	var cost *float64
	if r.TotalCostUSD != nil {
		d := *r.TotalCostUSD
		if a.cost != nil && *a.cost <= d { // else the CLI began to count from zero
			d -= *a.cost
		}
		cost, a.cost = &d, r.TotalCostUSD
	}
	total := totalUsage(r)
	if total == nil {
		return turnUsage(r.Usage), cost
	}
	usage := total
	if a.usage != nil && *a.usage.TotalTokens <= *total.TotalTokens { // as above
		usage = minus(total, a.usage)
	}
	a.usage = total
	return usage, cost
}

// session returns the totals of the whole conversation, nil for none.
func (a *account) session() *core.UsageUpdated {
	if a.usage == nil {
		return nil
	}
	return &core.UsageUpdated{Usage: *a.usage, CostUSD: a.cost, Scope: core.UsageSession}
}

// totalUsage adds up the models, sub-agents' included. Input counts what was
// read from the cache and written to it.
func totalUsage(r wire.Result) *core.Usage {
	if len(r.ModelUsage) == 0 {
		return nil
	}
	var in, cached, out, thought int64
	thinks := false
	for _, m := range r.ModelUsage {
		in += m.InputTokens + m.CacheRead + m.CacheCreation
		cached += m.CacheRead
		out += m.OutputTokens
		if m.Thinking != nil {
			thinks, thought = true, thought+*m.Thinking
		}
	}
	u := usageOf(in, cached, out)
	if thinks {
		u.ReasoningTokens = &thought
	}
	return u
}

// turnUsage is the CLI's own count of a turn; all zeros mean that it has none.
func turnUsage(u *wire.Usage) *core.Usage {
	if u == nil || *u == (wire.Usage{}) {
		return nil
	}
	return usageOf(u.InputTokens+u.CacheRead+u.CacheCreation, u.CacheRead, u.OutputTokens)
}

func usageOf(in, cached, out int64) *core.Usage {
	total := in + out
	return &core.Usage{InputTokens: &in, CachedInputTokens: &cached, OutputTokens: &out, TotalTokens: &total}
}

func minus(a, b *core.Usage) *core.Usage {
	diff := func(a, b *int64) *int64 {
		if a == nil {
			return nil
		}
		d := *a
		if b != nil {
			d -= *b
		}
		return &d
	}
	return &core.Usage{
		InputTokens: diff(a.InputTokens, b.InputTokens), CachedInputTokens: diff(a.CachedInputTokens, b.CachedInputTokens),
		OutputTokens: diff(a.OutputTokens, b.OutputTokens), ReasoningTokens: diff(a.ReasoningTokens, b.ReasoningTokens),
		TotalTokens: diff(a.TotalTokens, b.TotalTokens),
	}
}

// sameJSON compares two JSON texts but for their white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
