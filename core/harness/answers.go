package harness

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// A person's answer gets to the server that runs the session through the store:
// "harness-mcp respond" stores it, the server takes it within answerPoll, and its
// outcome is read back the same way.

// LeaveAnswer answers a request of any owner as the file's owner, wherever its
// session runs, and returns when the agent took the answer. It works for what
// only a person may answer. An answer that nobody takes before ctx ends is
// withdrawn.
//
// Errors: those of Respond; CodeSessionUnavailable when no server runs the
// session; CodeResponseUncertain when the answer was taken and nothing more is
// known; ctx's error when it was withdrawn in time.
func (h *Harness) LeaveAnswer(ctx context.Context, requestID string, r core.Response) (core.Request, error) {
	res, err := h.Get(ctx, core.AllOwners, requestID)
	if err != nil {
		return core.Request{}, err
	}
	if res.Kind != core.KindRequest {
		return core.Request{}, core.Errorf(core.CodeInvalidArgument, "%s is a %s, not a request", requestID, res.Kind).
			WithHint("Requests have ids that begin with %s.", core.PrefixRequest)
	}
	q := *res.Request
	if q.Status.Ended() {
		return q, answeredTooLate(q)
	}
	if _, err := core.CheckResponse(q.RequestSpec, r); err != nil {
		return q, err
	}
	a := core.Answer{ID: core.NewID(core.PrefixAnswer), Owner: cmp.Or(q.Owner, res.Session.Session.Owner), SessionID: q.SessionID,
		RequestID: q.ID, Response: &r, At: time.Now().UTC()}
	if err := h.store.PutAnswer(ctx, a); err != nil {
		return q, core.StoreError(err)
	}
	return h.awaitOutcome(ctx, a, q)
}

// answeredTooLate is the refusal of an answer to a request that has ended.
func answeredTooLate(q core.Request) *core.Error {
	if q.Resolution != nil && q.Resolution.Reason == string(core.ReasonServerRestarted) {
		return core.Errorf(core.CodeSessionUnavailable, "the server that asked %s has ended, and the agent with it", q.ID).
			WithHint("Nothing waits for this answer. Continue the session with start_session {resume: %q}.", q.SessionID)
	}
	return machine.NotPending(q.ID, q.Status)
}

// awaitOutcome waits until the answer has an outcome or the request has ended.
func (h *Harness) awaitOutcome(ctx context.Context, a core.Answer, q core.Request) (core.Request, error) {
	for {
		got, err := h.store.Answer(context.WithoutCancel(ctx), a.ID)
		if err != nil {
			return q, core.StoreError(err)
		}
		if o := got.Outcome; o != nil {
			return outcomeOf(o, q)
		}
		select {
		case <-time.After(answerPoll / 2):
		case <-ctx.Done():
			return q, h.withdraw(ctx, a)
		}
		// A server that has died meanwhile is noticed here, and its requests
		// expire.
		res, err := h.Get(ctx, core.AllOwners, a.RequestID)
		if err == nil && res.Request.Status.Ended() && !h.store.Alive(res.Session.Instance) {
			return *res.Request, answeredTooLate(*res.Request)
		}
	}
}

// outcomeOf returns the outcome of an answer as a call returns it.
func outcomeOf(o *core.AnswerOutcome, q core.Request) (core.Request, error) {
	if o.Request != nil {
		q = *o.Request
	}
	if o.Code != "" {
		return q, &core.Error{Code: o.Code, Message: o.Message, Hint: o.Hint}
	}
	return q, nil
}

// withdraw takes an answer back whose caller leaves.
func (h *Harness) withdraw(ctx context.Context, a core.Answer) error {
	sctx, cancel := h.short(context.WithoutCancel(ctx))
	defer cancel()
	first, err := h.store.PutOutcome(sctx, a.ID, core.AnswerOutcome{Code: core.CodeRequestNotPending, Message: "the answer was withdrawn", At: time.Now().UTC()})
	if err != nil {
		return core.StoreError(err)
	}
	if !first {
		return core.Errorf(core.CodeResponseUncertain, "the answer to %s was taken at the last moment", a.RequestID).
			WithHint("inspect {id: %q} shows what became of it.", a.RequestID)
	}
	return ctx.Err()
}

// mail is the goroutine of the harness that takes answers left for sessions of this
// server. It reads the store every answerPoll, and only while an agent of its own
// asks something. It ends with the harness.
func (h *Harness) mail() {
	var taking sync.Map // by answer id, so that one is taken once
	for {
		select {
		case <-h.quit:
			return
		case <-h.asked:
		}
		tick := time.NewTicker(answerPoll)
		for h.asking() {
			select {
			case <-h.quit:
				tick.Stop()
				return
			case <-tick.C:
				h.takeAnswers(&taking)
			}
		}
		tick.Stop()
	}
}

// asking reports whether a session hosted here waits for an answer.
func (h *Harness) asking() bool {
	return slices.ContainsFunc(h.actorsOf(core.AllOwners), func(a *actor) bool { return a.view.Load().state.Asks() })
}

// takeAnswers hands the answers that were left to their sessions, each in a
// goroutine of its own, which ends with the harness. taking has the ids of those
// under way.
func (h *Harness) takeAnswers(taking *sync.Map) {
	ctx, cancel := h.short(h.ctx)
	defer cancel()
	answers, err := h.store.Answers(ctx, h.store.Instance())
	if err != nil {
		h.log.Debug("looking for answers", "err", err)
		return
	}
	for _, a := range answers {
		if _, busy := taking.LoadOrStore(a.ID, true); !busy && a.Response != nil {
			h.wg.Go(func() {
				defer taking.Delete(a.ID)
				h.takeAnswer(a)
			})
		}
	}
}

// takeAnswer delivers an answer to its session as the person that left it, and stores
// the outcome. An answer whose outcome cannot be stored is taken again, and then
// refused, as its request has ended.
func (h *Harness) takeAnswer(a core.Answer) {
	o := core.AnswerOutcome{}
	q, err := h.Respond(h.ctx, core.Caller{Owner: a.Owner, Client: "harness-mcp respond", User: true}, core.RespondRequest{RequestID: a.RequestID, Response: *a.Response})
	if err == nil {
		o.Request = &q
	} else {
		e := core.AsError(err)
		o.Code, o.Message, o.Hint = e.Code, e.Error(), e.Hint
	}
	o.At = time.Now().UTC()
	ctx, cancel := h.short(h.ctx)
	defer cancel()
	if _, err := h.store.PutOutcome(ctx, a.ID, o); err != nil {
		h.log.Warn("saying what became of an answer", "request", a.RequestID, "err", err)
	}
}
