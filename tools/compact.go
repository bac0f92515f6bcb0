package tools

import (
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// compactObject is the compact form of a resource: ids, status, activity and
// cursor. Replies use it for work that goes on.
type compactObject struct {
	Object          string       `json:"object,omitempty"`
	TurnID          string       `json:"turn_id,omitempty"`
	RequestID       string       `json:"request_id,omitempty"`
	ProcessID       string       `json:"process_id,omitempty"`
	SessionID       string       `json:"session_id,omitempty"`
	Status          string       `json:"status"`
	Activity        string       `json:"activity,omitempty"`
	QuietMS         *int64       `json:"quiet_ms,omitempty"`
	ElapsedMS       *int64       `json:"elapsed_ms,omitempty"`
	PendingRequests []requestRef `json:"pending_requests,omitempty"`
	Cursor          uint64       `json:"cursor,omitempty"`
	Unmatched       bool         `json:"unmatched,omitempty"` // no line matched the pattern of the call

	pattern string
	ids     bool // the ids are never dropped
}

// requestRef names a request without its contents.
type requestRef struct {
	RequestID string           `json:"request_id"`
	Kind      core.RequestKind `json:"kind"`
}

// compact makes the compact form of a resource.
func (c *call) compact(r core.Resource) *compactObject {
	var o *compactObject
	switch r.Kind {
	case core.KindTurn:
		o = c.compactTurn(*r.Turn, r.Pending())
	case core.KindSession:
		o = c.compactSession(*r.Session)
	case core.KindRequest:
		q := r.Request
		o = &compactObject{Object: "request", RequestID: q.ID, SessionID: q.SessionID, TurnID: q.TurnID, Status: string(q.Status)}
	case core.KindProcess:
		p := c.process(*r.Process)
		o = &compactObject{Object: "process", ProcessID: p.ProcessID, Status: string(p.Status), ElapsedMS: &p.ElapsedMS, Cursor: p.Cursor}
		if c.tool == "await" && r.Matched == nil {
			o.pattern = c.given.word("pattern")
			o.Unmatched = o.pattern != ""
		}
	}
	return o
}

func (c *call) compactTurn(t core.Turn, pending []core.Request) *compactObject {
	var full turnObject
	c.setTimes(&full, t)
	o := &compactObject{
		Object: "turn", TurnID: t.ID, SessionID: t.SessionID, Status: string(t.Status), Activity: full.Activity,
		QuietMS: full.QuietMS, ElapsedMS: &full.ElapsedMS, Cursor: t.LastSeq,
	}
	o.addPending(pending)
	if t.Status == core.TurnIsAwaitingInput && len(pending) > 0 {
		o.Activity = oneLine("asks: "+requestSubject(pending[0]), maxActivity)
	}
	return o
}

// requestSubject returns what a request is about: its command or path, else its
// first question, else its prompt.
func requestSubject(q core.Request) string {
	var about string
	if d := q.Details; d != nil {
		about = firstNonEmpty(d.Command, d.Path)
	}
	if about == "" && len(q.Questions) > 0 {
		about = q.Questions[0].Prompt
	}
	return firstNonEmpty(about, q.Prompt)
}

func (c *call) compactSession(v core.SessionView) *compactObject {
	o := &compactObject{Object: "session", SessionID: v.Session.ID, Status: string(v.Session.Status), Cursor: v.Session.LastSeq}
	if v.Current != nil {
		t := c.compactTurn(*v.Current, nil)
		o.TurnID, o.Activity, o.QuietMS, o.ElapsedMS = t.TurnID, t.Activity, t.QuietMS, t.ElapsedMS
	}
	pending := pendingOnly(v.Requests)
	o.addPending(pending)
	if o.TurnID != "" && v.Session.Status == core.StatusAwaitingInput && len(pending) > 0 {
		o.Activity = oneLine("asks: "+requestSubject(pending[0]), maxActivity)
	}
	return o
}

func (o *compactObject) addPending(pending []core.Request) {
	for _, q := range pending[:min(len(pending), maxNamed)] {
		o.PendingRequests = append(o.PendingRequests, requestRef{RequestID: q.ID, Kind: q.Kind})
	}
}

// shorten keeps a compact object in a reply about n ids within timeoutBytes,
// together with its share of what surrounds the objects. It drops in this
// order: the activity beyond minActivity bytes, the session id and object of a
// turn, the rest of the activity, and all requests but one.
func (o *compactObject) shorten(n int) *compactObject {
	const perID, around = 40, 110 // in waiting_on and next; outcome and the rest
	room := timeoutBytes - perID - around/n
	for over := len(encode(o)) - room; over > 0; over = len(encode(o)) - room {
		switch {
		case len(o.Activity) > minActivity:
			o.Activity = clip(o.Activity, max(minActivity, len(o.Activity)-over))
		case o.Object == "turn" && !o.ids && o.SessionID != "":
			o.SessionID = ""
		case o.Object == "turn" && !o.ids:
			o.Object = ""
		case o.Activity != "":
			o.Activity = ""
		case len(o.PendingRequests) > 1:
			o.PendingRequests = o.PendingRequests[:len(o.PendingRequests)-1]
		default:
			return o
		}
	}
	return o
}

// minimal returns a copy with nothing but id, status and cursor.
func (o *compactObject) minimal() *compactObject {
	b := &compactObject{TurnID: o.TurnID, RequestID: o.RequestID, ProcessID: o.ProcessID, Status: o.Status, Cursor: o.Cursor}
	switch {
	case o.RequestID != "":
		b.TurnID = ""
	case o.Object == "session":
		b.TurnID, b.SessionID = "", o.SessionID
	}
	return b
}

// String returns the object in prose.
func (o *compactObject) String() string {
	id := firstNonEmpty(o.RequestID, o.TurnID, o.ProcessID, o.SessionID)
	if o.Object == "session" {
		id = o.SessionID
	}
	s := fmt.Sprintf("%s %s", id, o.Status)
	if o.ElapsedMS != nil {
		s += proseElapsed(*o.ElapsedMS, o.QuietMS == nil)
	}
	if o.QuietMS != nil && *o.QuietMS >= minQuietShown {
		s += ", quiet for " + proseDuration(*o.QuietMS)
	}
	if o.Activity != "" {
		s += "; " + o.Activity
	}
	if o.Unmatched {
		s += "; " + proseUnmatched(o.pattern)
	}
	for _, q := range o.PendingRequests {
		s += fmt.Sprintf("; waits for %s (%s)", q.RequestID, strings.ReplaceAll(string(q.Kind), "_", " "))
	}
	if o.SessionID != "" && o.SessionID != id {
		s += "; session " + o.SessionID
	}
	return fmt.Sprintf("%s, cursor %d", s, o.Cursor)
}
