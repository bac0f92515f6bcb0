package core

import (
	"context"
	"time"
)

// AskRequest says that a person is being shown a request (Said is AskedNow, and
// For how long somebody waits for the answer), or that the person gave none.
type AskRequest struct {
	RequestID string
	Said      string
	For       time.Duration
}

// AskUser takes it down that a person is asked to answer a request. A person is
// asked once: only the first call with AskedNow succeeds. While AskedNow holds,
// an Await can leave the request aside by its HoldRequest; after For it becomes
// AskedNoAnswer by itself. An answer goes to Respond, with Caller.User, at any
// time until the request has ended.
//
// Errors: CodeInvalidArgument, CodeNotFound, CodeRequestNotPending,
// CodeCommandInProgress when a person has been asked before, CodeOtherInstance.
func (h *Harness) AskUser(ctx context.Context, c Caller, r AskRequest) (Request, error) {
	switch r.Said {
	case AskedNow, AskedDeclined, AskedCancelled, AskedNoAnswer:
	default:
		return Request{}, Errorf(CodeInvalidArgument, "a person cannot have said %q", r.Said)
	}
	if r.Said == AskedNow && r.For <= 0 {
		return Request{}, Errorf(CodeInvalidArgument, "somebody must wait for a person's answer")
	}
	res, err := h.Get(ctx, c.Owner, r.RequestID)
	if err != nil {
		return Request{}, err
	}
	if res.Kind != KindRequest {
		return Request{}, Errorf(CodeInvalidArgument, "%s is a %s, not a request", r.RequestID, res.Kind)
	}
	if res.Request.Status.Ended() {
		return Request{}, notPending(r.RequestID, res.Request.Status)
	}
	token := h.token()
	return ask[Request](ctx, h, c.Owner, res.Request.SessionID, token,
		inAsk{Token: token, RequestID: r.RequestID, Said: r.Said, For: r.For}, nil)
}
