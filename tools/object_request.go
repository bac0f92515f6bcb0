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

	asking bool // the user is being asked
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
	if o.asking = isBeingAsked(q); o.asking {
		o.AskedUser = "" // the user has not answered yet
	}
	if r := q.Resolution; r != nil {
		o.Resolution = &resolutionObject{Action: r.Action, Scope: r.Scope, By: r.By, Client: r.Client,
			Reason: clip(r.Reason, maxErrorText), At: utc(r.At)}
	}
	l := slotList{more: c.wholeObject(q.ID)}
	l.text(&o.Prompt, q.Prompt)
	l.raw(&o.Schema, q.Schema)
	o.Questions = append([]core.Question(nil), q.Questions...)
	if o.Actions == nil {
		o.Actions = []core.Action{}
	}
	for i := range o.Questions {
		if o.Questions[i].Choices == nil {
			o.Questions[i].Choices = []core.Choice{}
		}
		l.text(&o.Questions[i].Prompt, q.Questions[i].Prompt)
		o.Questions[i].Choices = slices.Clone(o.Questions[i].Choices)
		for j := range o.Questions[i].Choices { // the values are what respond takes
			l.text(&o.Questions[i].Choices[j].Label, q.Questions[i].Choices[j].Label)
			l.text(&o.Questions[i].Choices[j].Description, q.Questions[i].Choices[j].Description)
		}
	}
	if d := q.Details; d != nil {
		o.Details = &detailsObject{Tool: d.Tool}
		l.text(&o.Details.CWD, d.CWD)
		l.text(&o.Details.Path, d.Path)
		l.text(&o.Details.Command, d.Command)
		l.text(&o.Details.Reason, d.Reason)
		l.text(&o.Details.Diff, d.Diff)
		l.raw(&o.Details.Input, d.Input)
	}
	o.shrink = l.slots
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
