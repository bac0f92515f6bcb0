package tools

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// settleTurn waits until a turn that a call has begun or moved ends or asks
// something, for at most wait, and makes its object. Whatever happens to the
// wait, the turn was begun: so this never fails, it shows what is known.
func (c *call) settleTurn(ctx context.Context, t core.Turn, wait time.Duration) *turnObject {
	asItIs := core.Resource{Kind: core.KindTurn, ID: t.ID, Turn: &t}
	if wait <= 0 {
		// A repeated call can meet a turn that asks something by now.
		if t.Status == core.TurnIsAwaitingInput {
			if r, err := c.h.Get(ctx, c.caller.Owner, t.ID); err == nil && r.Turn != nil {
				asItIs = r
			}
		}
		return c.turnReply(asItIs, false)
	}
	res, err := c.await(ctx, core.AwaitRequest{
		IDs: []string{t.ID}, Wait: wait, WakeOnRequest: true, Progress: c.sayResources,
	})
	if err != nil || len(res.Results) != 1 || res.Results[0].Turn == nil {
		if err != nil && !core.IsContext(err) {
			c.opts.Logger.Warn("waiting for a turn failed", slog.String("turn", t.ID), slog.Any("error", err))
		}
		return c.turnReply(asItIs, false)
	}
	c.now = time.Now()
	return c.turnReply(res.Results[0], res.Outcome == core.OutcomeTimeout)
}

// turnReply makes a turn's object with the calls that it suggests. One whose
// wait ran out says only where it stands.
func (c *call) turnReply(r core.Resource, timedOut bool) *turnObject {
	t := *r.Turn
	o := c.turn(t, r.Pending())
	if r.Session != nil {
		c.inSession(o, r.Session.Session)
	} else if o.needsSignIn() {
		if s, err := c.h.Get(c.ctx, c.caller.Owner, t.SessionID); err == nil && s.Session != nil {
			c.inSession(o, s.Session.Session)
		}
	}
	c.afterTurn(o)
	if !timedOut || t.Status.Ended() {
		return o
	}
	row := c.turnRow(t, r.Pending())
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

// afterTurn suggests what follows a turn, as it stands now.
func (c *call) afterTurn(o *turnObject) {
	turn, session := o.TurnID, o.SessionID
	if len(o.PendingRequests) > 0 {
		if q, ok := o.PendingRequests[0].(*requestObject); ok {
			c.suggestAnswers(&o.nexts, q)
			return
		}
	}
	switch {
	case !o.Status.Ended():
		o.suggest("await", "waits for it", args{"ids": []string{turn}})
		if o.Status == core.TurnIsQueued {
			o.suggest("interrupt", "takes it out of the queue", args{"session_id": session, "turn_id": turn})
		}
	case o.Status == core.TurnDoneCompleted:
		o.suggestRest(o)
		o.suggest("replay", "the steps it took", args{"id": turn, "view": "summary"})
		if o.sessionEnds {
			o.suggest("start_session", "continues the conversation", args{"resume": session})
		} else {
			o.suggest("close", "ends the session when you are done", args{"id": session})
		}
	default:
		o.suggestRest(o)
		o.suggest("replay", "what led to it", args{"id": turn, "view": "summary"})
		o.suggest("inspect", "what the session can still do", args{"id": session})
	}
}

// afterSession suggests what follows a session's state.
func (c *call) afterSession(o *sessionObject) {
	id := o.SessionID
	switch {
	case len(o.PendingRequests) > 0:
		if q, ok := o.PendingRequests[0].(*requestObject); ok {
			c.suggestAnswers(&o.nexts, q)
		}
	case !o.Live:
		o.suggest("replay", "what happened", args{"id": id, "view": "summary"})
		o.suggest("start_session", "continues the conversation", args{"resume": id})
	case o.CurrentTurn != nil:
		o.suggest("await", "waits for its turn", args{"ids": []string{o.CurrentTurn.TurnID}})
		o.suggest("replay", "what it has done so far", args{"id": id, "view": "summary"})
	case o.Status == core.StatusIdle:
		o.suggest("send_message", "with your own prompt", args{"session_id": id, "prompt": "<your prompt>"})
		o.suggest("close", "ends it when you are done", args{"id": id})
	case o.Status == core.StatusClosing:
		o.suggest("await", "waits for its end", args{"ids": []string{id}})
	default:
		o.suggest("await", "waits until it is ready", args{"ids": []string{id}})
	}
}

// sayResources makes a progress message of where awaited resources stand.
func (c *call) sayResources(rs []core.Resource) {
	c.now = time.Now()
	done := 0
	var busy []string
	for _, r := range rs {
		if r.Done() {
			done++
			continue
		}
		busy = append(busy, c.row(r).String())
	}
	message := strings.Join(busy, " | ")
	if len(rs) > 1 {
		message = fmt.Sprintf("%d of %d done; %s", done, len(rs), message)
	}
	c.progress.say(message)
}

// object makes the object of any resource, with its suggestions.
func (c *call) object(r core.Resource) body {
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

func (c *call) afterRequest(o *requestObject) {
	c.suggestAnswers(&o.nexts, o)
	if o.Status != core.RequestPending {
		o.suggest("await", "what the turn does next", args{"ids": []string{o.TurnID}})
	}
}
