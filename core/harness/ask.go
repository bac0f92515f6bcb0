package harness

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// AskUser notes that a person is asked to answer a request. A person is asked once:
// only the first call with AskedNow succeeds. While AskedNow holds, an Await can
// leave the request aside by its HoldRequest; after For it becomes AskedNoAnswer by
// itself. An answer goes to Respond, with Caller.User, at any time until the request
// has ended.
//
// Errors: CodeInvalidArgument, CodeNotFound, CodeRequestNotPending,
// CodeCommandInProgress when a person has been asked before, CodeOtherInstance.
func (h *Harness) AskUser(ctx context.Context, c core.Caller, r core.AskRequest) (core.Request, error) {
	switch r.Said {
	case core.AskedNow, core.AskedDeclined, core.AskedCancelled, core.AskedNoAnswer:
	default:
		return core.Request{}, core.Errorf(core.CodeInvalidArgument, "a person cannot have said %q", r.Said)
	}
	if r.Said == core.AskedNow && r.For <= 0 {
		return core.Request{}, core.Errorf(core.CodeInvalidArgument, "somebody must wait for a person's answer")
	}
	res, err := h.Get(ctx, c.Owner, r.RequestID)
	if err != nil {
		return core.Request{}, err
	}
	if res.Kind != core.KindRequest {
		return core.Request{}, core.Errorf(core.CodeInvalidArgument, "%s is a %s, not a request", r.RequestID, res.Kind)
	}
	if res.Request.Status.Ended() {
		return core.Request{}, machine.NotPending(r.RequestID, res.Request.Status)
	}
	return ask[core.Request](ctx, h, c.Owner, res.Request.SessionID, func(t machine.Token) machine.Input {
		return machine.Ask{Token: t, RequestID: r.RequestID, Said: r.Said, For: r.For}
	})
}
