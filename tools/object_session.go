package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

// sessionObject is a session as callers read it.
type sessionObject struct {
	Object    string             `json:"object"`
	SessionID string             `json:"session_id"`
	Status    core.SessionStatus `json:"status"`
	Reason    core.Reason        `json:"reason,omitempty"`
	Live      bool               `json:"live"`
	nexts
	Title             string             `json:"title,omitempty"`
	Provider          string             `json:"provider"`
	Transport         string             `json:"transport"`
	CWD               string             `json:"cwd"`
	Model             string             `json:"model,omitempty"`
	ReasoningEffort   string             `json:"reasoning_effort,omitempty"`
	ProviderSessionID string             `json:"provider_session_id,omitempty"`
	ApprovalMode      core.ApprovalMode  `json:"approval_mode"`
	SandboxMode       core.SandboxMode   `json:"sandbox_mode"`
	AnswerBy          core.AnswerBy      `json:"answer_by"`
	Durability        core.Durability    `json:"durability"`
	QueuedTurns       int                `json:"queued_turns"`
	PendingRequests   []any              `json:"pending_requests,omitempty"`
	PendingTotal      int                `json:"pending_requests_total,omitempty"` // when not all are listed
	Error             *turnError         `json:"error,omitempty"`
	Warnings          []string           `json:"warnings,omitempty"`
	Usage             *usageObject       `json:"usage,omitempty"`
	CostUSD           *float64           `json:"cost_usd,omitempty"`
	CreatedAt         *time.Time         `json:"created_at,omitempty"`
	UpdatedAt         *time.Time         `json:"updated_at,omitempty"`
	Epoch             uint64             `json:"epoch,omitempty"`
	Fingerprint       string             `json:"config_fingerprint,omitempty"`
	Capabilities      *core.Capabilities `json:"capabilities,omitempty"`
	Metadata          json.RawMessage    `json:"metadata,omitempty"`
	Cursor            uint64             `json:"cursor"`
	CurrentTurn       *turnObject        `json:"current_turn,omitempty"`
	LastTurn          *turnObject        `json:"last_turn,omitempty"`

	shrink []slot
}

func (c *call) session(v core.SessionView) *sessionObject {
	s := v.Session
	o := &sessionObject{
		Object: "session", SessionID: s.ID, Status: s.Status, Reason: s.Reason, Live: s.Status.Live(),
		Title: clip(s.Title, maxErrorText), Provider: s.Provider, Transport: s.Transport, CWD: s.CWD, Model: s.Model,
		ReasoningEffort: s.ReasoningEffort, ProviderSessionID: s.ProviderSessionID, ApprovalMode: s.ApprovalMode,
		SandboxMode: s.SandboxMode, AnswerBy: s.AnswerBy, Durability: s.Durability, QueuedTurns: len(s.Queue),
		Warnings: c.warnings(s.Warnings), Usage: newUsage(s.Usage), CostUSD: s.CostUSD,
		CreatedAt: utc(s.CreatedAt), UpdatedAt: utc(s.UpdatedAt), Epoch: s.Epoch, Fingerprint: s.Fingerprint, Cursor: s.LastSeq,
	}
	l := slotList{more: c.wholeObject(s.ID)}
	if s.Error != nil {
		o.Error = l.turnError(&core.TurnError{Code: s.Error.Code, Message: s.Error.Message})
	}
	l.raw(&o.Metadata, encodeMap(s.Metadata))
	o.shrink = append(l.slots, &listSlot{dst: &o.Warnings, src: o.Warnings})
	var requests []slot
	o.PendingRequests, o.PendingTotal, requests = c.pendingRequests(pendingOnly(v.Requests))
	o.shrink = append(o.shrink, requests...)
	if v.Current != nil { // its requests are the session's
		o.CurrentTurn = c.turn(*v.Current, nil)
		o.shrink = append(o.shrink, o.CurrentTurn.slots()...)
	}
	if v.Last != nil {
		o.LastTurn = c.turn(*v.Last, nil)
		c.applySession(o.LastTurn, v.Session)
		o.LastTurn.repeatsText = c.repeatsAnswers()
		o.LastTurn.text.more = c.restOfTurn(v.Last.ID)
		o.shrink = append(o.shrink, o.LastTurn.slots()...)
	}
	return o
}

// repeatsAnswers reports whether a reply about a session most likely repeats
// the last answer: that of close, and that of inspect without max_bytes.
func (c *call) repeatsAnswers() bool {
	_, sized := c.given["max_bytes"]
	return c.tool == "close" || c.tool == "inspect" && !sized
}

// restOfTurn returns how to read the rest of the answer of a turn that the
// reply is not about.
func (c *call) restOfTurn(turn string) func(int) string {
	return func(offset int) string {
		return strings.Replace(c.restOfText(offset), "{id", fmt.Sprintf("{id: %q", turn), 1)
	}
}

// lastError returns the error of the last turn, nil if there is none.
func (o *sessionObject) lastError() *turnError {
	if o.LastTurn == nil {
		return nil
	}
	return o.LastTurn.Error
}

func (o *sessionObject) slots() []slot { return o.shrink }

func (o *sessionObject) links() []mcp.ResourceLink {
	if o.LastTurn != nil {
		return o.LastTurn.links()
	}
	return nil
}

func (o *sessionObject) stateLine() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", o.SessionID, o.Status)
	if o.Reason != "" {
		fmt.Fprintf(&b, " (%s)", o.Reason)
	}
	fmt.Fprintf(&b, ": %s", o.Provider)
	if o.Model != "" {
		fmt.Fprintf(&b, " %s", o.Model)
	}
	fmt.Fprintf(&b, " in %s, approval %s, sandbox %s", o.CWD, o.ApprovalMode, o.SandboxMode)
	if o.QueuedTurns > 0 {
		fmt.Fprintf(&b, ", %s", proseCount(o.QueuedTurns, "queued turn"))
	}
	if o.Durability != "" && o.Durability != core.Durable {
		fmt.Fprintf(&b, ", durability %s", o.Durability)
	}
	fmt.Fprintf(&b, ", cursor %d.", o.Cursor)
	return b.String()
}

func (o *sessionObject) prose() prose {
	p := prose{lines: []string{o.stateLine()}}
	var facts []string
	if o.Title != "" {
		facts = append(facts, "title: "+oneLine(o.Title, maxPreview))
	}
	if o.Error != nil {
		facts = append(facts, fmt.Sprintf("%s: %s", o.Error.Code, oneLine(o.Error.Message, maxWarning)))
	}
	for _, w := range o.Warnings {
		facts = append(facts, "warning: "+w)
	}
	if o.Capabilities != nil {
		if missing := capabilityNames(*o.Capabilities, core.Unsupported); len(missing) > 0 {
			facts = append(facts, "not supported: "+strings.Join(missing, ", "))
		}
	}
	if len(facts) > 0 {
		p.lines = append(p.lines, clip(strings.Join(facts, "; "), maxErrorText))
	}
	content := proseRequests(o.PendingRequests, o.PendingTotal)
	if t := o.CurrentTurn; t != nil {
		p.lines = append(p.lines, "Now: "+t.stateLine())
	} else if t := o.LastTurn; t != nil {
		p.lines = append(p.lines, "Last: "+t.stateLine())
	}
	if t := o.LastTurn; t != nil && t.proseContent() != "" {
		if o.CurrentTurn != nil {
			content = append(content, "Last: "+t.stateLine())
		}
		content = append(content, t.proseContent())
	}
	p.content = strings.Join(content, "\n\n")
	return p
}
