package tools

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

// requestObject is a request as callers read it: everything that a decision
// needs, so that respond needs no other call before it.
type requestObject struct {
	Object    string             `json:"object"`
	RequestID string             `json:"request_id"`
	SessionID string             `json:"session_id"`
	TurnID    string             `json:"turn_id"`
	Kind      core.RequestKind   `json:"kind"`
	Status    core.RequestStatus `json:"status"`
	nexts
	Actions    []core.Action     `json:"actions"`
	Scopes     []core.Scope      `json:"scopes,omitempty"`
	CreatedAt  *time.Time        `json:"created_at,omitempty"`
	ExpiresAt  *time.Time        `json:"expires_at,omitempty"`
	AskedUser  string            `json:"asked_user,omitempty"`
	Resolution *resolutionObject `json:"resolution,omitempty"`
	Prompt     string            `json:"prompt"`
	Questions  []core.Question   `json:"questions,omitempty"`
	Schema     json.RawMessage   `json:"schema,omitempty"`
	Details    *detailsObject    `json:"details,omitempty"`
	Turn       *turnObject       `json:"turn,omitempty"` // the answer of respond

	asking bool // a person is looking at it
	shrink []slot
}

type resolutionObject struct {
	Action core.Action `json:"action,omitempty"`
	Scope  core.Scope  `json:"scope,omitempty"`
	By     string      `json:"by"`
	Client string      `json:"client,omitempty"`
	Reason string      `json:"reason,omitempty"`
	At     *time.Time  `json:"at,omitempty"`
}

type detailsObject struct {
	Tool    string          `json:"tool,omitempty"`
	Command string          `json:"command,omitempty"`
	CWD     string          `json:"cwd,omitempty"`
	Path    string          `json:"path,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Diff    string          `json:"diff,omitempty"`
}

func (c *call) request(q core.Request) *requestObject {
	o := &requestObject{
		Object: "request", RequestID: q.ID, SessionID: q.SessionID, TurnID: q.TurnID, Kind: q.Kind, Status: q.Status,
		Actions: q.Actions, Scopes: q.Scopes, CreatedAt: utc(q.CreatedAt), ExpiresAt: utc(q.ExpiresAt),
		AskedUser: q.AskedUser, Questions: q.Questions,
	}
	if o.asking = beingAsked(q); o.asking {
		o.AskedUser = "" // the person has said nothing yet
	}
	if r := q.Resolution; r != nil {
		o.Resolution = &resolutionObject{Action: r.Action, Scope: r.Scope, By: r.By, Client: r.Client,
			Reason: clip(r.Reason, maxErrorText), At: utc(r.At)}
	}
	whole := c.wholeObject(q.ID)
	text := func(dst *string, src string) {
		*dst = src
		o.shrink = append(o.shrink, textSlot{dst: dst, src: longText{src, whole}})
	}
	raw := func(dst *json.RawMessage, src json.RawMessage) {
		if len(src) > 0 {
			*dst = src
			o.shrink = append(o.shrink, rawSlot{dst: dst, src: src, more: whole(0)})
		}
	}
	text(&o.Prompt, q.Prompt)
	raw(&o.Schema, q.Schema)
	o.Questions = append([]core.Question(nil), q.Questions...)
	if o.Actions == nil {
		o.Actions = []core.Action{}
	}
	for i := range o.Questions {
		if o.Questions[i].Choices == nil {
			o.Questions[i].Choices = []core.Choice{}
		}
		text(&o.Questions[i].Prompt, q.Questions[i].Prompt)
		o.Questions[i].Choices = slices.Clone(o.Questions[i].Choices)
		for j := range o.Questions[i].Choices { // the values are what respond takes
			text(&o.Questions[i].Choices[j].Label, q.Questions[i].Choices[j].Label)
			text(&o.Questions[i].Choices[j].Description, q.Questions[i].Choices[j].Description)
		}
	}
	if d := q.Details; d != nil {
		o.Details = &detailsObject{Tool: d.Tool}
		text(&o.Details.CWD, d.CWD)
		text(&o.Details.Path, d.Path)
		text(&o.Details.Command, d.Command)
		text(&o.Details.Reason, d.Reason)
		text(&o.Details.Diff, d.Diff)
		raw(&o.Details.Input, d.Input)
	}
	return o
}

func (o *requestObject) slots() []slot {
	if o.Turn != nil {
		return append(o.Turn.slots(), o.shrink...)
	}
	return o.shrink
}

func (o *requestObject) links() []mcp.ResourceLink {
	if o.Turn != nil {
		return o.Turn.links()
	}
	return nil
}

// suggestAnswers adds calls that answer a request, or, where only a person may
// do so, the one that waits for it.
func (c *call) suggestAnswers(n *nexts, q *requestObject) {
	if q.Status != core.RequestPending {
		return
	}
	if c.opts.AnswerByUser || q.asking || q.AskedUser == core.AskedNoAnswer {
		n.suggest("await", "until a person has answered", args{
			"ids": []string{q.TurnID}, "ignore_requests": []string{q.RequestID}})
	}
	if c.opts.AnswerByUser {
		return
	}
	respond := func(why string, a args) {
		a["request_id"] = q.RequestID
		n.suggest("respond", why, a)
	}
	for _, a := range q.Actions {
		switch a {
		case core.ActionAnswer:
			q.suggestAnswer(respond)
		case core.ActionApprove:
			q.suggestApproval(respond)
		case core.ActionDeny:
			respond("refuses this step, the turn goes on", args{"action": a})
		case core.ActionCancel:
			respond("refuses and stops the turn", args{"action": a})
		}
	}
}

// suggestApproval says the scope, where the agent offers no approval of just
// this once: that is for the caller to see before it calls.
func (o *requestObject) suggestApproval(respond func(string, args)) {
	if len(o.Scopes) == 0 || slices.Contains(o.Scopes, core.ScopeOnce) {
		respond("allows it; read it first", args{"action": core.ActionApprove})
		return
	}
	respond("allows it and all alike, which is all that is offered; read it first",
		args{"action": core.ActionApprove, "scope": o.Scopes[0]})
}

// suggestAnswer adds the choices of a single question, or the form in which
// several are answered.
func (o *requestObject) suggestAnswer(respond func(string, args)) {
	const shownChoices = 2
	switch {
	case len(o.Questions) == 1:
		for i, ch := range o.Questions[0].Choices {
			if i < shownChoices {
				respond("answers: "+oneLine(first(ch.Label, ch.Value), maxPreview), args{"action": "answer", "answer": ch.Value})
			}
		}
	case len(o.Questions) > 1:
		answers := map[string][]string{}
		for _, x := range o.Questions {
			if len(x.Choices) == 0 {
				return
			}
			answers[x.ID] = []string{x.Choices[0].Value}
		}
		respond("answers all, here with the first choices", args{"action": "answer", "answers": answers})
	}
}
