package tools

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

type listArgs struct {
	Kind      string   `arg:"kind,required" enum:"sessions|turns|requests|processes"`
	SessionID string   `arg:"session_id"`
	Provider  string   `arg:"provider"`
	Status    []string `arg:"status" max:"16"`
	Live      *bool    `arg:"live"`
	Limit     *int64   `arg:"limit" min:"1" max:"1000" doc:"default 50"`
	Page      string   `arg:"page" doc:"next_page of the reply before"`
}

var listTool = tool[listArgs, *listObject]{
	name:  "list",
	title: "List resources",
	description: "Find ids: sessions, turns, requests or processes, newest first, one short row each. Use it to find " +
		"what is running, what waits for an answer (kind requests), or what an earlier conversation started. " +
		"Then inspect or await one of them.",
	hints:  reads,
	output: listOutput,
	run: func(ctx context.Context, c *call, in listArgs) (*listObject, error) {
		req := core.ListRequest{
			Kind: listKinds[in.Kind], SessionID: in.SessionID, Provider: in.Provider,
			Status: in.Status, Live: in.Live, Limit: int(intOr(in.Limit, defaultListLimit)), Page: in.Page,
		}
		res, err := c.h.List(ctx, c.caller.Owner, req)
		if err != nil {
			return nil, err
		}
		o := c.listed(res)
		if n := o.countFitting(c.budget - listRoom); n < len(o.Items) {
			// The cursor belongs to a page: ask for the page that fits.
			req.Limit = n
			if res, err = c.h.List(ctx, c.caller.Owner, req); err != nil {
				return nil, err
			}
			o = c.listed(res)
		}
		c.afterList(o, in)
		return o, nil
	},
}

// listKinds maps the values of kind to kinds of resources.
var listKinds = map[string]core.ResourceKind{
	"sessions": core.KindSession, "turns": core.KindTurn, "requests": core.KindRequest, "processes": core.KindProcess,
}

// listObject is a page of rows, newest first.
type listObject struct {
	untruncated
	nexts
	Items    []*listRow `json:"items"`
	NextPage string     `json:"next_page,omitempty"`
}

// listRow is a resource in a list.
type listRow struct {
	SessionID string     `json:"session_id,omitempty"`
	TurnID    string     `json:"turn_id,omitempty"`
	RequestID string     `json:"request_id,omitempty"`
	ProcessID string     `json:"process_id,omitempty"`
	Status    string     `json:"status"`
	Kind      string     `json:"kind,omitempty"`
	Provider  string     `json:"provider,omitempty"`
	At        *time.Time `json:"at,omitempty"` // began, or for a session was last changed
	Title     string     `json:"title,omitempty"`
	Prompt    string     `json:"prompt,omitempty"`
	Command   string     `json:"command,omitempty"`

	id string
}

func (c *call) listed(res core.ListResult) *listObject {
	o := &listObject{Items: []*listRow{}, NextPage: res.NextPage}
	for _, r := range res.Items {
		o.Items = append(o.Items, newListRow(r))
	}
	return o
}

func newListRow(r core.Resource) *listRow {
	l := &listRow{}
	var about *string
	switch r.Kind {
	case core.KindSession:
		s := r.Session.Session
		l.id, l.SessionID, l.Status, l.Provider = s.ID, s.ID, string(s.Status), s.Provider
		l.At, l.Title, about = seconds(s.UpdatedAt), s.Title, &l.Title
	case core.KindTurn:
		t := r.Turn
		l.id, l.TurnID, l.SessionID, l.Status = t.ID, t.ID, t.SessionID, string(t.Status)
		l.At, l.Prompt, about = seconds(t.AcceptedAt), t.PromptPreview, &l.Prompt
	case core.KindRequest:
		q := r.Request
		l.id, l.RequestID, l.TurnID, l.Status, l.Kind = q.ID, q.ID, q.TurnID, string(q.Status), string(q.Kind)
		l.At, l.Prompt, about = seconds(q.CreatedAt), q.Prompt, &l.Prompt
	default:
		p := r.Process
		l.id, l.ProcessID, l.Status, l.Title = p.ID, p.ID, string(p.Status), clip(p.Title, maxPreview/2)
		l.At, about = seconds(p.CreatedAt), &l.Command
		l.Command = strings.Join(append([]string{p.Executable}, p.Argv...), " ")
	}
	*about = oneLine(*about, maxPreview)
	if over := len(encode(l)) - maxRow; over > 0 {
		*about = clip(*about, max(0, len(*about)-over))
	}
	if len(encode(l)) > maxRow { // ids that a caller chose can be long
		l.At = nil
	}
	return l
}

func seconds(t time.Time) *time.Time { return utcTruncated(t, time.Second) }

// countFitting returns how many of the rows fit into room, at least one.
func (o *listObject) countFitting(room int) int {
	for i, l := range o.Items {
		if room -= len(encode(l)) + 1; room < 0 {
			return max(1, i)
		}
	}
	return len(o.Items)
}

func (c *call) afterList(o *listObject, in listArgs) {
	if len(o.Items) > 0 {
		o.suggest("inspect", "the newest of them", args{"id": o.Items[0].id})
	}
	if o.NextPage == "" {
		return
	}
	a := args(maps.Clone(c.given))
	a["page"] = o.NextPage
	o.suggest("list", "the next page", a)
}

func (o *listObject) prose() prose {
	line := proseCount(len(o.Items), "row") + ", newest first."
	switch {
	case len(o.Items) == 0:
		line = "Nothing found."
	case o.NextPage != "":
		line = proseCount(len(o.Items), "row") + ", newest first; there are more."
	}
	rows := make([]string, len(o.Items))
	for i, l := range o.Items {
		rows[i] = l.line()
	}
	return prose{lines: []string{line}, content: strings.Join(rows, "\n")}
}

func (l *listRow) line() string {
	parts := []string{l.id, l.Status}
	for _, p := range []string{l.Kind, l.Provider} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if l.SessionID != "" && l.SessionID != l.id {
		parts = append(parts, "in "+l.SessionID)
	}
	if l.RequestID != "" {
		parts = append(parts, "of "+l.TurnID)
	}
	if l.At != nil {
		parts = append(parts, l.At.Format(time.RFC3339))
	}
	if about := firstNonEmpty(l.Title, l.Prompt, l.Command); about != "" {
		parts = append(parts, "| "+about)
	}
	return strings.Join(parts, " ")
}
