package tools

import (
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// rowObject is a resource in short: where it stands and nothing else. It is
// what a reply shows of work that goes on.
type rowObject struct {
	Object          string       `json:"object"`
	TurnID          string       `json:"turn_id,omitempty"`
	RequestID       string       `json:"request_id,omitempty"`
	ProcessID       string       `json:"process_id,omitempty"`
	SessionID       string       `json:"session_id,omitempty"`
	Status          string       `json:"status"`
	Activity        string       `json:"activity,omitempty"`
	QuietMS         *int64       `json:"quiet_ms,omitempty"`
	ElapsedMS       *int64       `json:"elapsed_ms,omitempty"`
	PendingRequests []requestRow `json:"pending_requests,omitempty"`
	Cursor          uint64       `json:"cursor,omitempty"`
}

// requestRow names a request that the caller knows or can inspect.
type requestRow struct {
	RequestID string           `json:"request_id"`
	Kind      core.RequestKind `json:"kind"`
}

// row makes the short row of a resource, of at most timeoutRow bytes where its
// ids allow that.
func (c *call) row(r core.Resource) *rowObject {
	var o *rowObject
	switch r.Kind {
	case core.KindTurn:
		o = c.turnRow(*r.Turn, r.Pending())
	case core.KindSession:
		o = c.sessionRow(*r.Session)
	case core.KindRequest:
		q := r.Request
		o = &rowObject{Object: "request", RequestID: q.ID, SessionID: q.SessionID, TurnID: q.TurnID, Status: string(q.Status)}
	case core.KindProcess:
		p := c.process(*r.Process)
		o = &rowObject{Object: "process", ProcessID: p.ProcessID, Status: string(p.Status), ElapsedMS: &p.ElapsedMS, Cursor: p.Cursor}
	}
	o.shorten()
	return o
}

func (c *call) turnRow(t core.Turn, pending []core.Request) *rowObject {
	var full turnObject
	c.clock(&full, t)
	o := &rowObject{
		Object: "turn", TurnID: t.ID, SessionID: t.SessionID, Status: string(t.Status), Activity: full.Activity,
		QuietMS: full.QuietMS, ElapsedMS: &full.ElapsedMS, Cursor: t.LastSeq,
	}
	o.addPending(pending)
	return o
}

func (c *call) sessionRow(v core.SessionView) *rowObject {
	o := &rowObject{Object: "session", SessionID: v.Session.ID, Status: string(v.Session.Status), Cursor: v.Session.LastSeq}
	if v.Current != nil {
		t := c.turnRow(*v.Current, nil)
		o.TurnID, o.Activity, o.QuietMS, o.ElapsedMS = t.TurnID, t.Activity, t.QuietMS, t.ElapsedMS
	}
	var pending []core.Request
	for _, q := range v.Requests {
		if q.Status == core.RequestPending {
			pending = append(pending, q)
		}
	}
	o.addPending(pending)
	return o
}

func (o *rowObject) addPending(pending []core.Request) {
	for _, q := range pending {
		o.PendingRequests = append(o.PendingRequests, requestRow{RequestID: q.ID, Kind: q.Kind})
	}
}

// shorten keeps a row within its budget: first the activity gives way, then the
// last of the requests.
func (o *rowObject) shorten() {
	const shownRequests = 2
	o.PendingRequests = o.PendingRequests[:min(len(o.PendingRequests), shownRequests)]
	const rowRoom = timeoutRow - 150 // for what stands around the rows of a reply
	if over := len(encode(o)) - rowRoom; over > 0 {
		o.Activity = clip(o.Activity, max(0, len(o.Activity)-over))
	}
}

// String is the row in prose.
func (o *rowObject) String() string {
	id := first(o.RequestID, o.TurnID, o.ProcessID, o.SessionID)
	if o.Object == "session" {
		id = o.SessionID
	}
	s := fmt.Sprintf("%s %s", id, o.Status)
	if o.ElapsedMS != nil {
		s += " for " + sayDuration(*o.ElapsedMS)
	}
	if o.QuietMS != nil && *o.QuietMS >= quietWorthSaying {
		s += ", quiet for " + sayDuration(*o.QuietMS)
	}
	if o.Activity != "" {
		s += "; " + o.Activity
	}
	for _, q := range o.PendingRequests {
		s += fmt.Sprintf("; waits for %s (%s)", q.RequestID, strings.ReplaceAll(string(q.Kind), "_", " "))
	}
	if o.SessionID != "" && o.SessionID != id {
		s += "; session " + o.SessionID
	}
	return fmt.Sprintf("%s, cursor %d", s, o.Cursor)
}
