package machine

import (
	"encoding/json"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// requestRaised steps a question of the agent, by the turn that it is about.
//
//	starting                       the provider has accepted the turn; then as running
//	running, awaiting_input        the request is open, until TimerRequest at most
//	being stopped                  answered with cancel
//	ended, or unknown              answered with deny, or cancel where that is not offered
//
// A turn has at most maxOpenRequests open; further ones are answered as those of an
// ended turn.
func (m *machine) requestRaised(n core.RequestRaised, id string) {
	t := m.named(n.Turn)
	switch {
	case t == nil:
		m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "request_declined"}, lateFor(n.Turn), raw(n.Raw))
		m.dismiss(n.Ref, refusal(n.Spec), "no turn waits for this")
		return
	case t.Intent != IntentNone:
		m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "request_declined"}, ofTurn(t.Rec.ID), raw(n.Raw))
		m.dismiss(n.Ref, core.ActionCancel, "the turn is being stopped")
		m.accepted(t, nil)
		return
	}
	if len(t.Requests) >= maxOpenRequests {
		m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "request_declined"}, ofTurn(t.Rec.ID), raw(n.Raw))
		m.dismiss(n.Ref, refusal(n.Spec), "too many requests are open")
		return
	}
	t = m.edit(m.accepted(t, nil))
	r := core.Request{
		ID: id, SessionID: t.Rec.SessionID, TurnID: t.Rec.ID, Owner: t.Rec.Owner, Ref: n.Ref,
		Status: core.RequestPending, RequestSpec: n.Spec, CreatedAt: m.now,
	}
	if d := m.timeouts().Request; d > 0 {
		r.ExpiresAt = m.now.Add(d)
	}
	t.Requests = append(t.Requests[:len(t.Requests):len(t.Requests)], OpenRequest{Rec: r})
	t.Rec.LastEventAt = m.now
	t.Rec.Activity = core.Truncate("waiting for an answer: "+n.Spec.Prompt, activityBytes)
	shown := r
	shown.Owner, shown.Ref = "", ""
	m.append(core.RequestCreated, RequestData{Request: shown}, ofRequest(r), raw(n.Raw))
	m.do(PutRequest{Request: r})
	m.do(PutTurn{Turn: t.Snapshot()})
	m.arm(TimerID{Kind: TimerRequest, ID: id}, m.timeouts().Request)
	m.rearmIdle(t)
}

// refusal returns the mildest way to refuse that a request offers.
func refusal(s core.RequestSpec) core.Action {
	if slices.Contains(s.Actions, core.ActionDeny) {
		return core.ActionDeny
	}
	return core.ActionCancel
}

// dismiss answers a request for nobody. Its outcome is followed only while few
// such answers wait, so that many requests make no long list of them.
func (m *machine) dismiss(ref string, a core.Action, reason string) {
	p := PendingOp{ID: m.newOp(), Kind: OpDismiss}
	m.do(Send{Op: core.Respond{ID: p.ID, Ref: ref, Response: core.Response{Action: a, Reason: reason}}})
	if len(m.s.Ops) < maxOpenRequests { // behind a flood of requests nobody follows up the answers
		m.pend(p)
	}
}

// respond claims a request for the first valid answer. The reply comes when the
// provider took the answer.
//
//	awaiting_input                 claimed and sent; the request still counts as open
//	awaiting_input or cancelling,
//	with an answer on its way      request_not_pending, claimed
//	any other                      request_not_pending, expired
//
// An answer that does not fit the request (CheckResponse, or its schema) is refused
// and claims nothing.
func (m *machine) respond(in Respond) *core.Error {
	t, i := m.s.request(in.RequestID)
	if t == nil {
		return NotPending(in.RequestID, core.RequestDoneExpired)
	}
	q := t.Requests[i]
	if err := RefuseAnswer(q.Rec, in.By, in.OnlyUser); err != nil {
		return err
	}
	if q.Claim != nil {
		return NotPending(in.RequestID, core.RequestClaimed)
	}
	resp, err := core.CheckResponse(q.Rec.RequestSpec, in.Response)
	if err == nil {
		err = m.fits(q.Rec.Schema, resp.Content)
	}
	if err != nil {
		return err.WithDetail("request_id", in.RequestID)
	}
	q.Claim = &Claim{Op: m.newOp(), Token: in.Token, Response: resp, By: in.By, Client: in.Client, Key: in.Key}
	m.putRequest(t, i, q)
	m.do(Send{Op: core.Respond{ID: q.Claim.Op, Ref: q.Rec.Ref, Response: resp}})
	m.arm(TimerID{Kind: TimerCommand, Op: q.Claim.Op}, m.timeouts().ProviderCommand)
	return nil
}

// RefuseAnswer returns the reason why a request takes no answer from by, nil if
// it may take one. onlyUser is set where nobody but a person may answer. The
// host asks it of a request that the journal shows as ended too: the session of
// that may be another server's, or gone.
func RefuseAnswer(q core.Request, by string, onlyUser bool) *core.Error {
	switch {
	case onlyUser && by != core.ByUser:
		return core.Errorf(core.CodeNotSupportedByClient, "on this server only a person may answer requests").
			WithHint("The request waits for a client that can ask a person, or for: harness-mcp respond %s ACTION.", q.ID)
	case q.Status.Ended():
		return NotPending(q.ID, q.Status)
	}
	return nil
}

// fits checks the content of an answer against the schema of its request. A schema
// that is not valid refuses nothing, since nobody could answer.
func (m *machine) fits(schema, content json.RawMessage) *core.Error {
	check := m.s.Base.CheckSchema
	if check == nil || len(schema) == 0 || len(content) == 0 || check(schema, nil) != nil {
		return nil
	}
	if why := check(schema, content); why != nil {
		return core.Errorf(core.CodeInvalidArgument, "content does not fit the request's schema: %w", why).
			WithHint("Change it, or use action deny.")
	}
	return nil
}

// NotPending is the refusal of an answer to a request that is claimed or has ended.
func NotPending(id string, st core.RequestStatus) *core.Error {
	e := core.Errorf(core.CodeRequestNotPending, "request %s is %s", id, st).WithDetail("state", st).WithDetail("request_id", id)
	if st == core.RequestClaimed {
		return e.WithHint("Another answer is being delivered; inspect {id: %q} shows how it ends.", id)
	}
	return e.WithHint("The first answer counts. inspect {id: %q} shows how it ended.", id)
}

// putRequest changes an open request and stores it.
func (m *machine) putRequest(t *ActiveTurn, i int, q OpenRequest) {
	m.setRequest(t, i, q)
	m.do(PutRequest{Request: q.snapshot()})
}

// setRequest changes the i-th open request of t.
func (m *machine) setRequest(t *ActiveTurn, i int, q OpenRequest) {
	t = m.edit(t)
	t.Requests = slices.Clone(t.Requests)
	t.Requests[i] = q
}

// dropRequest takes an ended request off its turn. Once none is open the turn's
// idle timer runs again.
func (m *machine) dropRequest(t *ActiveTurn, id string) *ActiveTurn {
	t = m.edit(t)
	t.Requests = slices.DeleteFunc(slices.Clone(t.Requests), func(q OpenRequest) bool { return q.Rec.ID == id })
	if len(t.Requests) == 0 {
		t.Requests = nil
		m.rearmIdle(t)
	}
	m.disarm(TimerID{Kind: TimerRequest, ID: id})
	m.disarm(TimerID{Kind: TimerAsk, ID: id})
	return t
}

// respondDone steps the provider's outcome of an answer. One that it refused makes
// the request pending again, unless its time is over or the turn is being stopped.
func (m *machine) respondDone(turn string, q OpenRequest, n core.OpDone) {
	t := m.s.turn(turn)
	m.disarm(TimerID{Kind: TimerCommand, Op: q.Claim.Op})
	if n.Err == nil {
		m.resolve(t, q, n.Raw)
		return
	}
	m.refuse(q.Claim.Token, core.Errorf(core.CodeResponseRejected, "the provider refused the answer: %s", n.Err.Message).
		WithHint("The request %s is pending again: inspect it and answer differently.", q.Rec.ID).WithDetail("request_id", q.Rec.ID))
	q.Claim = nil
	i := slices.IndexFunc(t.Requests, func(o OpenRequest) bool { return o.Rec.ID == q.Rec.ID })
	m.putRequest(t, i, q)
	t = m.s.turn(turn)
	switch {
	case t.Intent != IntentNone:
		m.expire(t, q, core.ReasonInterrupted)
	case !q.Rec.ExpiresAt.IsZero() && !m.now.Before(q.Rec.ExpiresAt):
		m.noAnswer(t, q)
	}
}

// resolve ends a request with the claimed answer, the only one that counts.
func (m *machine) resolve(t *ActiveTurn, q OpenRequest, frame []byte) {
	c := q.Claim
	r := q.Rec
	r.Status = core.RequestDoneResolved
	r.Resolution = &core.Resolution{Action: c.Response.Action, Scope: c.Response.Scope, By: c.By, Client: c.Client, Reason: c.Response.Reason, At: m.now}
	m.append(core.RequestResolved, dataResolved{Action: c.Response.Action, Scope: c.Response.Scope, By: c.By, Client: c.Client, Reason: c.Response.Reason}, ofRequest(r), raw(frame))
	m.do(PutRequest{Request: r})
	t = m.dropRequest(t, r.ID)
	t.Rec.Activity, t.Rec.LastEventAt = "", m.now
	m.do(PutTurn{Turn: t.Snapshot()})
	m.keep(c.Key, r.TurnID, r.ID)
	m.reply(c.Token, r)
}

// requestWithdrawn steps a notice that the provider no longer waits for an answer.
// For a claimed request it proves that the answer was taken; any other request
// expires.
func (m *machine) requestWithdrawn(n core.RequestWithdrawn) {
	t, i := m.s.openRequest(func(q OpenRequest) bool { return q.Rec.Ref == n.Ref })
	if t == nil {
		m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "request_withdrawn"}, raw(n.Raw))
		return
	}
	q := t.Requests[i]
	if q.Claim != nil {
		m.disarm(TimerID{Kind: TimerCommand, Op: q.Claim.Op})
		m.resolve(t, q, n.Raw)
		return
	}
	t = m.expire(t, q, core.ReasonProviderResolved)
	m.do(PutTurn{Turn: t.Snapshot()})
}

// expire ends a request without an answer. A caller whose answer was on its way
// gets an error.
func (m *machine) expire(t *ActiveTurn, q OpenRequest, reason core.Reason) *ActiveTurn {
	r := q.Rec
	r.Status = core.RequestDoneExpired
	r.Resolution = &core.Resolution{By: expiredBy(reason), Reason: string(reason), At: m.now}
	m.append(core.RequestExpired, ExpiredData{Reason: reason}, ofRequest(r))
	m.do(PutRequest{Request: r})
	if q.Claim != nil {
		m.disarm(TimerID{Kind: TimerCommand, Op: q.Claim.Op})
		m.refuse(q.Claim.Token, expiredWhileClaimed(r.ID, reason))
	}
	return m.dropRequest(t, r.ID)
}

// expiredWhileClaimed is what a caller gets whose answer was on its way when the
// request ended.
func expiredWhileClaimed(id string, reason core.Reason) *core.Error {
	switch reason {
	case core.ReasonResponseUncertain:
		return core.Errorf(core.CodeResponseUncertain, "it is unknown whether the provider took the answer to %s", id).
			WithHint("The session was stopped for safety. inspect {id: %q}, then resume it if the work should go on.", id).WithDetail("request_id", id)
	case core.ReasonTransportLost, core.ReasonServerRestarted:
		return core.Errorf(core.CodeSessionUnavailable, "the provider went away while it was told the answer to %s", id).
			WithHint("Resume the session with start_session {resume: ...}.").WithDetail("request_id", id)
	}
	return NotPending(id, core.RequestDoneExpired)
}

// expiredBy returns Resolution.By for a request that expired.
func expiredBy(r core.Reason) string {
	switch r {
	case core.ReasonNoAnswer:
		return core.ByTimeout
	case core.ReasonProviderResolved, core.ReasonTurnEnded, core.ReasonTransportLost:
		return core.ByProvider
	}
	return core.ByClose
}

// expireAll ends every open request of a turn. Where the server is gone, an answer
// that was on its way may have arrived: response_uncertain.
func (m *machine) expireAll(t *ActiveTurn, reason core.Reason) *ActiveTurn {
	for _, q := range t.Requests {
		r := reason
		if q.Claim != nil && (reason == core.ReasonServerRestarted || reason == core.ReasonDurabilityLost) {
			r = core.ReasonResponseUncertain
		}
		t = m.expire(t, q, r)
	}
	return t
}

// noAnswer ends a request that nobody answered in time, in the way that its
// protocol offers: deny, else cancel, else the turn is interrupted.
func (m *machine) noAnswer(t *ActiveTurn, q OpenRequest) {
	t = m.expire(t, q, core.ReasonNoAnswer)
	m.do(PutTurn{Turn: t.Snapshot()})
	switch {
	case slices.Contains(q.Rec.Actions, core.ActionDeny):
		m.dismiss(q.Rec.Ref, core.ActionDeny, string(core.ReasonNoAnswer))
	case slices.Contains(q.Rec.Actions, core.ActionCancel):
		m.dismiss(q.Rec.Ref, core.ActionCancel, string(core.ReasonNoAnswer))
	default:
		m.stopTurn(t, "", q.Rec.Ref)
	}
}
