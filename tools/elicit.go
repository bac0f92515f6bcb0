package tools

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/core"
)

// clientElicits reports whether the caller's client can show a form to its
// user.
func clientElicits(ctx context.Context) bool {
	s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	if !ok {
		return false
	}
	e := s.GetClientCapabilities().Elicitation
	return e != nil && (e.Form != nil || e.URL == nil) // an empty capability means forms, the only mode of the first revision
}

// usesInputRequired reports whether the client is asked by a round trip
// (2026-07-28) instead of a request of the server.
func usesInputRequired(ctx context.Context) bool {
	return mcp.IsModernProtocol(server.RequestProtocolVersion(ctx))
}

// await waits as core does. Meanwhile it asks the client's user the requests of
// sessions with answer_by user. A request that the user is being asked does not
// end the wait; one that the user has not answered does, as any other.
//
// A client of 2026-07-28 is asked through c.inputRequest, which is then the
// reply: the client makes the call again with the answers.
func (c *call) await(ctx context.Context, r core.AwaitRequest) (core.AwaitResult, error) {
	if !clientElicits(ctx) || r.Wait <= 0 {
		r.HoldRequest = isBeingAsked
		return c.h.Await(ctx, c.caller, r)
	}
	p := &elicitation{call: c, ctx: ctx, until: time.Now().Add(r.Wait), asked: r, notAsked: map[string]bool{}}
	inner := r
	inner.WakeOnRequest, inner.IgnoreRequests, inner.HoldRequest = true, nil, p.withheld
	for {
		inner.Wait = max(0, time.Until(p.until))
		res, err := c.h.Await(ctx, c.caller, inner)
		if err != nil || res.Outcome != core.OutcomeRequest {
			return res, err
		}
		shown, again := p.askNew(res)
		if len(shown) > 0 && usesInputRequired(ctx) {
			c.inputRequest = c.inputRequired(shown)
			return res, nil
		}
		if !again {
			return res, nil
		}
	}
}

func isBeingAsked(q core.Request) bool { return q.AskedUser == core.AskedNow }

// elicitation is one wait during which the client's user is asked.
type elicitation struct {
	*call
	ctx      context.Context
	until    time.Time
	asked    core.AwaitRequest // the wait as its caller wants it
	notAsked map[string]bool   // requests that this wait cannot show
}

// withheld reports whether a request must not end core's wait: the caller does
// not want it, and the user is not to be asked.
func (p *elicitation) withheld(q core.Request) bool {
	switch {
	case isBeingAsked(q):
		return true
	case q.AskedUser == "" && !p.notAsked[q.ID] && len(q.Actions) > 0 && !p.tooManyRounds():
		return false // askNew handles it
	}
	return !p.asked.WakeOnRequest || slices.Contains(p.asked.IgnoreRequests, q.ID)
}

// openForm is a form that the user is shown.
type openForm struct {
	request core.Request
	form    *form
}

// askNew asks the user the requests that were not asked before. again reports
// whether core's wait must go on: what ended it does not concern the caller, or
// no longer does.
func (p *elicitation) askNew(res core.AwaitResult) (shown []openForm, again bool) {
	for _, r := range res.Results {
		if r.Done() || r.Session == nil {
			continue
		}
		for _, q := range r.Pending() {
			if q.AskedUser != "" || p.notAsked[q.ID] {
				continue
			}
			o, ok := p.claim(r.Session.Session, q)
			if !ok {
				again = true // core's wait decides again, with the caller's own conditions
				continue
			}
			shown, again = append(shown, o), true
			if !usesInputRequired(p.ctx) {
				go p.elicit(o)
			}
		}
	}
	return shown, again
}

// claim makes this call the one that has the user answer the request. A request
// that cannot be asked is not asked again during this wait.
func (p *elicitation) claim(s core.Session, q core.Request) (openForm, bool) {
	p.notAsked[q.ID] = true
	if s.AnswerBy != core.AnswerByUser || p.tooManyRounds() {
		return openForm{}, false
	}
	f := newForm(s, q, server.RequestProtocolVersion(p.ctx))
	if f == nil {
		return openForm{}, false
	}
	wait := max(time.Until(p.until), time.Second)
	if usesInputRequired(p.ctx) {
		wait = max(p.asked.Wait, time.Second) // the form's time begins when it is shown
	}
	shown, err := p.h.AskUser(p.ctx, p.caller, core.AskRequest{RequestID: q.ID, Said: core.AskedNow, For: wait})
	if err != nil {
		return openForm{}, false // another call asks it, or it was answered
	}
	return openForm{request: shown, form: f}, true
}

// elicit shows a form by a request to the client, as before 2026-07-28. It runs
// in a goroutine of its own that outlives the call: the form belongs to the
// request, and is withdrawn when the request ends, at the latest after
// maxFormTime.
func (p *elicitation) elicit(o openForm) {
	s, ok := server.ClientSessionFromContext(p.ctx).(server.SessionWithElicitation)
	if !ok {
		return
	}
	limit := maxFormTime
	if !o.request.ExpiresAt.IsZero() {
		limit = time.Until(o.request.ExpiresAt)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), limit)
	defer cancel()
	go func() {
		defer cancel()
		for {
			res, err := p.h.Await(ctx, p.caller, core.AwaitRequest{IDs: []string{o.request.ID}, Wait: limit})
			if err != nil || res.Outcome == core.OutcomeDone {
				return
			}
		}
	}()
	res, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: o.form.params()})
	if err != nil {
		if ctx.Err() == nil {
			p.opts.Logger.Warn("a form could not be shown", slog.String("request", o.request.ID), slog.Any("error", err))
			p.recordUnanswered(context.WithoutCancel(p.ctx), o.request.ID, core.AskedNoAnswer)
		}
		return
	}
	p.applyFormResult(context.WithoutCancel(p.ctx), o, res)
}

// applyFormResult applies the result of a form. The first answer counts: a
// request that was answered otherwise stays as it is.
func (c *call) applyFormResult(ctx context.Context, o openForm, res *mcp.ElicitationResult) {
	id := o.request.ID
	switch res.Action {
	case mcp.ElicitationResponseActionAccept:
	case mcp.ElicitationResponseActionDecline:
		c.recordUnanswered(ctx, id, core.AskedDeclined)
		return
	default:
		c.recordUnanswered(ctx, id, core.AskedCancelled)
		return
	}
	content, _ := res.Content.(map[string]any)
	person := c.caller
	person.User = true
	_, err := c.h.Respond(ctx, person, core.RespondRequest{RequestID: id, Response: o.form.answer(content)})
	if err != nil && core.CodeOf(err) != core.CodeRequestNotPending {
		c.opts.Logger.Warn("the user's answer was refused", slog.String("request", id), slog.Any("error", err))
		c.recordUnanswered(ctx, id, core.AskedNoAnswer)
	}
}

// recordUnanswered stores that the user gave no answer.
func (c *call) recordUnanswered(ctx context.Context, id, word string) {
	_, err := c.h.AskUser(ctx, c.caller, core.AskRequest{RequestID: id, Said: word})
	var e *core.Error
	if err != nil && !(errors.As(err, &e) && (e.Code == core.CodeRequestNotPending || e.Code == core.CodeNotFound)) {
		c.opts.Logger.Warn("the user's answer could not be stored", slog.String("request", id), slog.Any("error", err))
	}
}
