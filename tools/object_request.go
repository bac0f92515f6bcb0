package tools

import (
	"encoding/json"
	"fmt"
	"strings"
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
	for i := range o.Questions {
		text(&o.Questions[i].Prompt, q.Questions[i].Prompt)
	}
	if d := q.Details; d != nil {
		o.Details = &detailsObject{Tool: d.Tool, CWD: d.CWD, Path: d.Path}
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

func (o *requestObject) prose() prose {
	p := prose{lines: []string{o.state()}}
	if o.Turn != nil {
		p.lines = append(p.lines, o.Turn.state())
		if l := o.Turn.outcome(); l != "" {
			p.lines = append(p.lines, l)
		}
		p.content = o.Turn.content()
		return p
	}
	p.content = o.ask()
	return p
}

func (o *requestObject) state() string {
	s := fmt.Sprintf("%s %s", o.RequestID, o.Status)
	if r := o.Resolution; r != nil {
		if r.Action != "" {
			s += ": " + string(r.Action)
		}
		s += " by the " + r.By
		if r.Scope != "" {
			s += ", scope " + string(r.Scope)
		}
		if r.Reason != "" {
			s += " (" + oneLine(r.Reason, maxWarning) + ")"
		}
	}
	return fmt.Sprintf("%s; turn %s, session %s.", s, o.TurnID, o.SessionID)
}

// ask is the request in prose: what is asked, what decides, what can be said.
func (o *requestObject) ask() string {
	lines := []string{fmt.Sprintf("%s %s: %s", o.RequestID, strings.ReplaceAll(string(o.Kind), "_", " "), o.Prompt)}
	if d := o.Details; d != nil {
		for _, f := range []struct{ name, value string }{
			{"tool", d.Tool}, {"command", d.Command}, {"cwd", d.CWD}, {"path", d.Path}, {"reason", d.Reason},
			{"input", string(d.Input)}, {"diff", d.Diff},
		} {
			if f.value != "" {
				lines = append(lines, f.name+": "+f.value)
			}
		}
	}
	for _, q := range o.Questions {
		lines = append(lines, askQuestion(q)...)
	}
	if len(o.Schema) > 0 {
		lines = append(lines, "content as of: "+string(o.Schema))
	}
	return strings.Join(append(lines, o.answers()), "\n")
}

func askQuestion(q core.Question) []string {
	head := fmt.Sprintf("question %s: %s", q.ID, q.Prompt)
	var how []string
	if q.Multiple {
		how = append(how, "several may be chosen")
	}
	if q.AllowsOther || len(q.Choices) == 0 {
		how = append(how, "free text is allowed")
	}
	if q.Secret {
		how = append(how, "secret")
	}
	if len(how) > 0 {
		head += " (" + strings.Join(how, ", ") + ")"
	}
	lines := []string{head}
	for _, c := range q.Choices {
		l := "- " + c.Value
		if c.Label != "" && c.Label != c.Value {
			l += " = " + c.Label
		}
		if c.Description != "" {
			l += ": " + oneLine(c.Description, maxWarning)
		}
		lines = append(lines, l)
	}
	return lines
}

// answers says what respond takes, and until when.
func (o *requestObject) answers() string {
	var words []string
	for _, a := range o.Actions {
		words = append(words, string(a))
	}
	s := "actions: " + strings.Join(words, ", ")
	if len(o.Scopes) > 0 {
		var scopes []string
		for _, x := range o.Scopes {
			scopes = append(scopes, string(x))
		}
		s += "; scopes: " + strings.Join(scopes, ", ")
	}
	if o.ExpiresAt != nil && !o.Status.Ended() {
		s += "; expires " + o.ExpiresAt.Format(time.TimeOnly) + " UTC"
	}
	if o.AskedUser != "" {
		s += "; the user was asked: " + o.AskedUser
	}
	return s + "."
}

// suggestAnswers adds calls that answer a request.
func (n *nexts) suggestAnswers(q *requestObject) {
	if q.Status != core.RequestPending {
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
			respond("allows it; read it first", args{"action": a})
		case core.ActionDeny:
			respond("refuses this step, the turn goes on", args{"action": a})
		case core.ActionCancel:
			respond("refuses and stops the turn", args{"action": a})
		}
	}
}

// suggestAnswer adds the choices of a single question, or the form in which
// several are answered.
func (q *requestObject) suggestAnswer(respond func(string, args)) {
	const shownChoices = 2
	switch {
	case len(q.Questions) == 1:
		for i, ch := range q.Questions[0].Choices {
			if i < shownChoices {
				respond("answers: "+oneLine(first(ch.Label, ch.Value), maxPreview), args{"action": "answer", "answer": ch.Value})
			}
		}
	case len(q.Questions) > 1:
		answers := map[string][]string{}
		for _, x := range q.Questions {
			if len(x.Choices) == 0 {
				return
			}
			answers[x.ID] = []string{x.Choices[0].Value}
		}
		respond("answers all, here with the first choices", args{"action": "answer", "answers": answers})
	}
}
