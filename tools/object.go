package tools

import (
	"github.com/harness-mcp/harness-mcp/core"
)

// resourceObject makes the object of any resource, with its suggestions.
func (c *call) resourceObject(r core.Resource) body {
	switch r.Kind {
	case core.KindTurn:
		return c.turnReply(r, false)
	case core.KindSession:
		o := c.session(*r.Session)
		c.afterSession(o)
		return o
	case core.KindRequest:
		o := c.request(*r.Request)
		c.afterRequest(o)
		return o
	default:
		return c.processReply(r)
	}
}

// turnReply makes a turn's object with the calls that it suggests. A turn whose
// wait timed out is shown in compact form.
func (c *call) turnReply(r core.Resource, timedOut bool) *turnObject {
	t := *r.Turn
	o := c.turn(t, r.Pending())
	if r.Session != nil {
		c.applySession(o, r.Session.Session)
	} else if o.needsSignIn() {
		if s, err := c.h.Get(c.ctx, c.caller.Owner, t.SessionID); err == nil && s.Session != nil {
			c.applySession(o, s.Session.Session)
		}
	}
	c.afterTurn(o)
	if !timedOut || t.Status.Ended() {
		return o
	}
	row := c.compactTurn(t, r.Pending())
	row.ids = true
	row.shorten(1)
	short := &turnObject{
		Object: "turn", TurnID: t.ID, SessionID: t.SessionID, Status: t.Status, nexts: o.nexts,
		Activity: row.Activity, QuietMS: row.QuietMS, ElapsedMS: o.ElapsedMS, Cursor: t.LastSeq,
	}
	short.Next = short.Next[:min(1, len(short.Next))]
	for _, q := range row.PendingRequests {
		short.PendingRequests = append(short.PendingRequests, q)
	}
	return short
}
