package tools

import (
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// rowObject is a resource in short: where it stands and nothing else. It is
// what a reply shows of work that goes on.
type rowObject struct {
	Object          string       `json:"object,omitempty"`
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
	Unmatched       bool         `json:"unmatched,omitempty"` // no line matched the pattern of the call

	pattern string
	ids     bool // the ids stay, however little room there is
}

// requestRow names a request that the caller knows or can inspect.
type requestRow struct {
	RequestID string           `json:"request_id"`
	Kind      core.RequestKind `json:"kind"`
}

// row makes the short row of a resource.
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
		if c.tool == "await" && r.Matched == nil {
			o.pattern = c.given.word("pattern")
			o.Unmatched = o.pattern != ""
		}
	}
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
	if t.Status == core.TurnIsAwaitingInput && len(pending) > 0 {
		o.Activity = oneLine("asks: "+asked(pending[0]), maxActivity)
	}
	return o
}

// asked is what a request is about: the deed or the question, before the words
// around it.
func asked(q core.Request) string {
	var about string
	if d := q.Details; d != nil {
		about = first(d.Command, d.Path)
	}
	if about == "" && len(q.Questions) > 0 {
		about = q.Questions[0].Prompt
	}
	return first(about, q.Prompt)
}

func (c *call) sessionRow(v core.SessionView) *rowObject {
	o := &rowObject{Object: "session", SessionID: v.Session.ID, Status: string(v.Session.Status), Cursor: v.Session.LastSeq}
	if v.Current != nil {
		t := c.turnRow(*v.Current, nil)
		o.TurnID, o.Activity, o.QuietMS, o.ElapsedMS = t.TurnID, t.Activity, t.QuietMS, t.ElapsedMS
	}
	pending := pendingOnly(v.Requests)
	o.addPending(pending)
	if o.TurnID != "" && v.Session.Status == core.StatusAwaitingInput && len(pending) > 0 {
		o.Activity = oneLine("asks: "+asked(pending[0]), maxActivity)
	}
	return o
}

func (o *rowObject) addPending(pending []core.Request) {
	for _, q := range pending[:min(len(pending), maxNamed)] {
		o.PendingRequests = append(o.PendingRequests, requestRow{RequestID: q.ID, Kind: q.Kind})
	}
}

// leastActivity is the shortest beginning of an activity that is of use, in
// bytes.
const leastActivity = 40

// shorten keeps a row of a reply about n ids within timeoutRow, together with
// its share of what stands around the rows. First the activity gives way, down to
// what can be understood, then what the caller of the turn knows, then the rest
// of the activity and the last of the requests.
func (o *rowObject) shorten(n int) *rowObject {
	const perID, around = 40, 110 // in waiting_on and next; outcome and the rest
	room := timeoutRow - perID - around/n
	for over := len(encode(o)) - room; over > 0; over = len(encode(o)) - room {
		switch {
		case len(o.Activity) > leastActivity:
			o.Activity = clip(o.Activity, max(leastActivity, len(o.Activity)-over))
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

// bare leaves of a row what its id, status and cursor say.
func (o *rowObject) bare() *rowObject {
	b := &rowObject{TurnID: o.TurnID, RequestID: o.RequestID, ProcessID: o.ProcessID, Status: o.Status, Cursor: o.Cursor}
	switch {
	case o.RequestID != "":
		b.TurnID = ""
	case o.Object == "session":
		b.TurnID, b.SessionID = "", o.SessionID
	}
	return b
}

// String is the row in prose.
func (o *rowObject) String() string {
	id := first(o.RequestID, o.TurnID, o.ProcessID, o.SessionID)
	if o.Object == "session" {
		id = o.SessionID
	}
	s := fmt.Sprintf("%s %s", id, o.Status)
	if o.ElapsedMS != nil {
		s += sayElapsed(*o.ElapsedMS, o.QuietMS == nil)
	}
	if o.QuietMS != nil && *o.QuietMS >= quietWorthSaying {
		s += ", quiet for " + sayDuration(*o.QuietMS)
	}
	if o.Activity != "" {
		s += "; " + o.Activity
	}
	if o.Unmatched {
		s += "; " + sayUnmatched(o.pattern)
	}
	for _, q := range o.PendingRequests {
		s += fmt.Sprintf("; waits for %s (%s)", q.RequestID, strings.ReplaceAll(string(q.Kind), "_", " "))
	}
	if o.SessionID != "" && o.SessionID != id {
		s += "; session " + o.SessionID
	}
	return fmt.Sprintf("%s, cursor %d", s, o.Cursor)
}
