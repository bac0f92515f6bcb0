package tools

import (
	"context"
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
)

type respondArgs struct {
	RequestID string    `arg:"request_id,required"`
	Action    string    `arg:"action,required" enum:"answer|approve|deny|cancel"`
	Answer    string    `arg:"answer" doc:"for a single question: a choice or free text"`
	Answers   answerMap `arg:"answers" doc:"question id to values"`
	Content   rawObject `arg:"content" doc:"for a request with schema"`
	Scope     string    `arg:"scope" enum:"once|session"`
	Reason    string    `arg:"reason" doc:"told to the agent"`
	waiting
	keyed
}

var respondTool = tool[respondArgs, *requestObject]{
	name:  "respond",
	title: "Answer a request",
	description: "Answer a pending request. approve or deny an approval (deny lets the agent go on without it); " +
		"answer a question; cancel refuses and stops the turn. scope session only if the request offers it. " +
		"wait_ms also waits for what the turn does next. The first answer counts. Read the command before you approve it.",
	hints:  decides,
	output: requestOutput,
	run: func(ctx context.Context, c *call, in respondArgs) (*requestObject, error) {
		q, err := c.respond(ctx, in)
		if err != nil {
			return nil, err
		}
		o := c.request(withoutQuestion(q))
		o.Turn = c.turnAfterRespond(ctx, q, in)
		if o.Turn == nil {
			c.afterRequest(o)
			return o, nil
		}
		// The calls that follow belong to the whole reply.
		o.Next, o.Turn.Next = o.Turn.Next, nil
		return o, nil
	},
}

// withoutQuestion returns an answered request without what its caller read
// before answering. inspect shows it whole.
func withoutQuestion(q core.Request) core.Request {
	if q.Status.Ended() {
		q.Details, q.Scopes, q.Questions, q.Schema = nil, nil, nil, nil
	}
	return q
}

// respond answers the request, unless an earlier round of this call has.
func (c *call) respond(ctx context.Context, in respondArgs) (core.Request, error) {
	if c.round.Turn != "" {
		r, err := c.h.Get(ctx, c.caller.Owner, in.RequestID)
		if err != nil {
			return core.Request{}, err
		}
		return *r.Request, nil
	}
	q, err := c.h.Respond(ctx, c.caller, core.RespondRequest{
		RequestID: in.RequestID, Once: c.once,
		Response: core.Response{
			Action: core.Action(in.Action), Answer: in.Answer, Answers: in.Answers,
			Content: json.RawMessage(in.Content), Scope: core.Scope(in.Scope), Reason: in.Reason,
		},
	})
	c.startedTurn = q.TurnID
	return q, err
}

// turnAfterRespond returns the turn of an answered request, after the wait if
// there is one. It returns nil if the turn cannot be read: the answer was given
// all the same.
func (c *call) turnAfterRespond(ctx context.Context, q core.Request, in respondArgs) *turnObject {
	r, err := c.h.Get(ctx, c.caller.Owner, q.TurnID)
	if err != nil || r.Turn == nil {
		return nil
	}
	if wait := in.duration(0); wait > 0 {
		return c.waitForTurn(ctx, *r.Turn, wait)
	}
	return c.turnReply(r, false)
}
