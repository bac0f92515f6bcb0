package harness

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// SendMessage starts a turn in an idle session and returns its handle before
// any provider I/O.
//
// Errors: CodeInvalidArgument, CodeTooLarge, CodeCapability, CodeNotFound,
// CodeTurnInProgress with the turn in Details, CodeTurnUsed,
// CodeSessionUnavailable, CodeSessionClosed, CodeOtherInstance,
// CodeIdempotency, CodeStoreFailed, CodeShuttingDown.
func (h *Harness) SendMessage(ctx context.Context, c core.Caller, r core.SendRequest) (core.Turn, error) {
	return h.sendTurn(ctx, c, r, false)
}

// FollowUp queues a turn, or starts it when the session is idle. Errors as
// SendMessage, CodeQueueFull instead of CodeTurnInProgress.
func (h *Harness) FollowUp(ctx context.Context, c core.Caller, r core.SendRequest) (core.Turn, error) {
	return h.sendTurn(ctx, c, r, true)
}

func (h *Harness) sendTurn(ctx context.Context, c core.Caller, r core.SendRequest, queue bool) (core.Turn, error) {
	end := h.telemetry.Begin(core.Operation{Name: core.OpStartTurn})
	t, err := h.admitTurn(ctx, c, r, queue)
	end(endedBy(err))
	return t, err
}

func (h *Harness) admitTurn(ctx context.Context, c core.Caller, r core.SendRequest, queue bool) (core.Turn, error) {
	return once(ctx, h, c, r.Once, h.keyedTurn, func(ctx context.Context, k *core.KeyRecord) (core.Turn, error) {
		hash, err := h.checkInput(r.Input)
		if err != nil {
			return core.Turn{}, err
		}
		id, err := h.sessionOf(ctx, c.Owner, r.SessionID)
		if err != nil {
			return core.Turn{}, err
		}
		turn := r.TurnID
		if turn == "" {
			turn = core.NewID(core.PrefixTurn)
		} else {
			have, free, err := h.claimTurn(ctx, key{c.Owner, turn}, id, hash)
			if have != nil || err != nil {
				return deref(have), err
			}
			defer free()
		}
		token := h.token()
		in := machine.Prompt{Token: token, TurnID: turn, Hash: hash, Input: r.Input, Queue: queue, Key: k}
		t, err := ask[core.Turn](ctx, h, c.Owner, id, token, in, h.checkInputFor(r.Input))
		if err == nil {
			h.turnHosts.put(c.Owner, turn, id)
		}
		return t, err
	})
}

func deref(t *core.Turn) core.Turn {
	if t == nil {
		return core.Turn{}
	}
	return *t
}

// checkInput checks what does not depend on the session, and hashes the input
// so that a repeated turn_id is told from a reused one.
func (h *Harness) checkInput(in core.TurnInput) (string, error) {
	if strings.TrimSpace(in.Prompt) == "" && len(in.Content) == 0 && len(in.Attachments) == 0 {
		return "", core.Errorf(core.CodeInvalidArgument, "prompt is empty").WithHint("Say what the agent is to do.").WithDetail("field", "prompt")
	}
	if n := in.Size(); n > machine.MaxPrompt {
		return "", core.Errorf(core.CodeTooLarge, "the prompt has %d bytes; at most %d are taken", n, machine.MaxPrompt).
			WithHint("Put the material into a file in cwd and name the file in the prompt.").WithDetail("bytes", n).WithDetail("limit", machine.MaxPrompt)
	}
	if err := h.checkSchema(in.OutputSchema); err != nil {
		return "", err
	}
	for _, b := range in.Content {
		if b.Type != "text" && b.Type != "image" {
			return "", core.Errorf(core.CodeInvalidArgument, "content blocks are text or image, not %q", b.Type).WithDetail("field", "content")
		}
	}
	for _, path := range in.Attachments {
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() || !filepath.IsAbs(path) {
			return "", core.Errorf(core.CodeInvalidArgument, "attachment %q is not a file here", path).WithHint("Give absolute paths of regular files.").WithDetail("field", "attachments")
		}
	}
	return h.hash(core.EncodeData(in)), nil
}

// checkSchema refuses an output_schema that is no schema.
func (h *Harness) checkSchema(schema json.RawMessage) error {
	if len(schema) == 0 || h.schemas == nil {
		return nil
	}
	if err := h.schemas(schema, nil); err != nil {
		return core.Errorf(core.CodeInvalidArgument, "output_schema is not a JSON schema: %w", err).WithDetail("field", "output_schema")
	}
	return nil
}

// checkInputFor refuses what the session's provider cannot take.
func (h *Harness) checkInputFor(in core.TurnInput) func(core.SessionView) error {
	return func(v core.SessionView) error {
		c := v.Capabilities
		images := len(in.Attachments) > 0
		for _, b := range in.Content {
			images = images || b.Type == "image"
		}
		switch {
		case images && !c.Attachments.OK():
			return core.Errorf(core.CodeCapability, "provider %s takes no images or attachments", v.Session.Provider).WithHint("Name the file in the prompt instead.")
		case len(in.OutputSchema) > 0 && !c.StructuredOutput.OK():
			return core.Errorf(core.CodeCapability, "provider %s cannot follow an output_schema", v.Session.Provider).WithHint("Ask for JSON in the prompt instead.")
		}
		return nil
	}
}

func turnUsed(id string) *core.Error {
	return core.Errorf(core.CodeTurnUsed, "turn_id %s was used before, for another prompt or session", id).
		WithHint("Choose another turn_id, or leave it out.").WithDetail("turn_id", id)
}

// claimTurn looks a chosen turn id up and holds it while it is admitted. The
// same prompt under the same id in the same session is the same turn.
func (h *Harness) claimTurn(ctx context.Context, k key, session, hash string) (have *core.Turn, free func(), err error) {
	if err := core.CheckChosenID("turn_id", k.id); err != nil {
		return nil, nil, err
	}
	h.mu.Lock()
	if h.turnIDs[k] > 0 {
		h.mu.Unlock()
		return nil, nil, core.Errorf(core.CodeTurnUsed, "turn_id %s is being used by another call", k.id).WithHint("Try again in a moment.").Retry()
	}
	h.turnIDs[k]++
	h.mu.Unlock()
	free = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.turnIDs, k)
	}
	have, err = h.turnUnder(ctx, k, session, hash)
	if have != nil || err != nil {
		free()
		return have, nil, err
	}
	return nil, free, nil
}

// turnUnder gives the turn that has an id already, nil for a free id.
func (h *Harness) turnUnder(ctx context.Context, k key, session, hash string) (*core.Turn, error) {
	res, err := h.getTurn(ctx, k.owner, k.id)
	switch {
	case core.CodeOf(err) == core.CodeNotFound:
		// One id, one thing: a session of this name would hide the turn.
		if _, err := h.sessionView(ctx, k.owner, k.id); core.CodeOf(err) != core.CodeNotFound {
			return nil, orElse(err, core.Errorf(core.CodeInvalidArgument, "turn_id %s is the session_id of a session", k.id).WithHint("Choose another turn_id."))
		}
		return nil, nil
	case err != nil:
		return nil, err
	case res.Turn.PromptHash != hash || res.Turn.SessionID != session:
		return nil, turnUsed(k.id)
	}
	return res.Turn, nil
}

// orElse is the failure of a look-up, or what follows from its success.
func orElse(failure error, refusal *core.Error) error {
	if failure != nil {
		return failure
	}
	return refusal
}

// ask hands a command to a session's actor and waits for its reply. A session
// at rest is hosted for it, so that the machine alone decides what it does.
func ask[T any](ctx context.Context, h *Harness, owner, id string, token machine.Token, in machine.Input, check func(core.SessionView) error) (T, error) {
	var zero T
	for {
		a, err := h.hosted(ctx, owner, id)
		if err != nil {
			return zero, err
		}
		if check != nil {
			if err := check(a.seen()); err != nil {
				return zero, err
			}
		}
		v, err := a.do(ctx, token, in)
		if errors.Is(err, errRetired) {
			continue
		}
		if err != nil {
			return zero, err
		}
		return v.(T), nil
	}
}

// hosted gives the actor of a session, reviving one at rest.
func (h *Harness) hosted(ctx context.Context, owner, id string) (*actor, error) {
	if err := h.refuseIfDown(); err != nil {
		return nil, err
	}
	if a := h.liveActor(owner, id); a != nil {
		return a, nil
	}
	unlock, err := h.reviving.lock(ctx, key{owner, id})
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := h.sessionView(ctx, owner, id); err != nil { // puts to rest what a dead server left
		return nil, err
	}
	sctx, cancel := h.short(ctx)
	defer cancel()
	rec, err := h.store.Session(sctx, owner, id)
	if err != nil {
		return nil, core.StoreError(err)
	}
	if who := core.InstanceOf(rec.Instance); who != rec.Instance && who != h.store.Instance() && h.store.Alive(who) {
		return nil, beingOpened(id)
	}
	return h.revive(ctx, rec, rec.Launch)
}

// revive hosts a session that is at rest. Another server's live session is
// refused. The caller holds the session's lock in h.reviving; who wants to open
// the provider again holds the row too.
func (h *Harness) revive(ctx context.Context, rec core.SessionRecord, cfg core.SessionConfig) (*actor, error) {
	s := rec.Session
	if a := h.liveActor(s.Owner, s.ID); a != nil {
		return a, nil
	}
	if s.Status.Live() {
		return nil, core.Errorf(core.CodeOtherInstance, "session %s is run by another server on this machine", s.ID).
			WithHint("Reading works here (await, inspect, replay); send commands to the server that started it.").WithDetail("instance", core.InstanceOf(rec.Instance))
	}
	p, ok := h.providers[s.Provider]
	if !ok {
		return nil, core.Errorf(core.CodeProviderUnknown, "session %s is of provider %q, which this server does not have", s.ID, s.Provider).
			WithHint("It can be read with replay and inspect.")
	}
	t, _ := p.Spec().Transport(s.Transport)
	ctx, cancel := h.short(ctx)
	defer cancel()
	seq, err := h.store.LastSeq(ctx, s.Owner, s.ID)
	if err != nil {
		return nil, core.StoreError(err)
	}
	var last *core.Turn
	if s.LastTurn != "" {
		if tr, err := h.store.Turn(ctx, s.Owner, s.LastTurn); err == nil {
			last = &tr.Turn
		}
	}
	a := newActor(h, p, machine.Restore(rec, t.Capabilities, nil, nil, last), seq)
	a.stored = rec.Session
	if err := h.host(a, cfg); err != nil {
		if other := h.liveActor(s.Owner, s.ID); other != nil { // a start that takes the id over was faster
			return other, nil
		}
		return nil, err
	}
	return a, nil
}

// Steer adds to the running turn and returns when the provider took it.
//
// Errors: CodeNoActiveTurn, CodeTurnNotActive, CodeCapability,
// CodeResponseUncertain, and those of SendMessage.
func (h *Harness) Steer(ctx context.Context, c core.Caller, r core.SteerRequest) (core.Turn, error) {
	return once(ctx, h, c, r.Once, h.keyedTurn, func(ctx context.Context, k *core.KeyRecord) (core.Turn, error) {
		if _, err := h.checkInput(r.Input); err != nil {
			return core.Turn{}, err
		}
		id, err := h.sessionOf(ctx, c.Owner, r.SessionID)
		if err != nil {
			return core.Turn{}, err
		}
		if err := h.claimKey(ctx, k); err != nil {
			return core.Turn{}, err
		}
		token := h.token()
		t, err := ask[core.Turn](ctx, h, c.Owner, id, token, machine.Steer{Token: token, TurnID: r.TurnID, Input: r.Input, Key: k}, h.checkInputFor(r.Input))
		h.freeKey(k, err)
		return t, err
	})
}

// Respond answers a request and returns when the provider took the answer.
//
// Errors: CodeNotFound, CodeRequestNotPending with details.state, CodeAction,
// CodeScope, CodeMissingAnswer, CodeInvalidArgument, CodeResponseRejected,
// CodeResponseUncertain, CodeNotSupportedByClient, CodeOtherInstance.
func (h *Harness) Respond(ctx context.Context, c core.Caller, r core.RespondRequest) (core.Request, error) {
	return once(ctx, h, c, r.Once, h.keyedRequest, func(ctx context.Context, k *core.KeyRecord) (core.Request, error) {
		res, err := h.Get(ctx, c.Owner, r.RequestID)
		if err != nil {
			return core.Request{}, err
		}
		if res.Kind != core.KindRequest {
			return core.Request{}, core.Errorf(core.CodeInvalidArgument, "%s is a %s, not a request", r.RequestID, res.Kind).
				WithHint("pending_requests in await and inspect have the request_id.")
		}
		if h.limits.AnswerByUser && !c.User {
			return core.Request{}, core.Errorf(core.CodeNotSupportedByClient, "on this server only a person may answer requests").
				WithHint("The request waits for a client that can ask a person, or for: harness-mcp respond %s ACTION.", r.RequestID)
		}
		if res.Request.Status.Ended() {
			return core.Request{}, machine.NotPending(r.RequestID, res.Request.Status)
		}
		by := core.ByCaller
		if c.User {
			by = core.ByUser
		}
		token := h.token()
		got, err := ask[core.Request](ctx, h, c.Owner, res.Request.SessionID, token, machine.Respond{Token: token, RequestID: r.RequestID,
			Response: r.Response, By: by, Client: c.Client, Key: k}, nil)
		if core.CodeOf(err) == core.CodeRequestNotPending { // it ended since we looked: how, the store knows
			if now, gerr := h.getRequest(ctx, c.Owner, r.RequestID); gerr == nil && now.Request.Status.Ended() {
				return got, machine.NotPending(r.RequestID, now.Request.Status)
			}
		}
		return got, err
	})
}

// Interrupt asks for the end of the running turn, or removes a queued one.
//
// Errors: CodeNotFound, CodeNoActiveTurn, CodeTurnNotActive, CodeCapability,
// CodeOtherInstance.
func (h *Harness) Interrupt(ctx context.Context, c core.Caller, r core.InterruptRequest) (core.InterruptResult, error) {
	return once(ctx, h, c, r.Once, h.keyedInterrupt, func(ctx context.Context, k *core.KeyRecord) (core.InterruptResult, error) {
		id, err := h.sessionOf(ctx, c.Owner, r.SessionID)
		if err != nil {
			return core.InterruptResult{}, err
		}
		token := h.token()
		return ask[core.InterruptResult](ctx, h, c.Owner, id, token, machine.Interrupt{Token: token, TurnID: r.TurnID, ClearQueue: r.ClearQueue, Key: k}, nil)
	})
}

// Configure changes a live session from its next turn on.
//
// Errors: CodeOption, CodeCapability, CodeCommandInProgress,
// CodeResponseUncertain, and those of Interrupt.
func (h *Harness) Configure(ctx context.Context, c core.Caller, r core.ConfigureRequest) (core.SessionView, error) {
	return once(ctx, h, c, r.Once, h.keyedSession, func(ctx context.Context, k *core.KeyRecord) (core.SessionView, error) {
		if r.Changes == (core.Changes{}) {
			return core.SessionView{}, core.Errorf(core.CodeInvalidArgument, "nothing to change").WithHint("Give model, reasoning_effort, approval_mode or sandbox_mode.")
		}
		id, err := h.sessionOf(ctx, c.Owner, r.SessionID)
		if err != nil {
			return core.SessionView{}, err
		}
		check := func(v core.SessionView) error {
			t, _ := h.providers[v.Session.Provider].Spec().Transport(v.Session.Transport)
			if !v.Capabilities.Configure.OK() {
				return nil // the machine says so
			}
			cfg := core.SessionConfig{Provider: v.Session.Provider, ApprovalMode: r.Changes.ApprovalMode, SandboxMode: r.Changes.SandboxMode, ReasoningEffort: r.Changes.ReasoningEffort}
			fillModes(&cfg, false)
			return checkModes(cfg, t)
		}
		token := h.token()
		return ask[core.SessionView](ctx, h, c.Owner, id, token, machine.Configure{Token: token, Changes: r.Changes, Key: k}, check)
	})
}

// Close ends a session or process and returns it in its terminal state. An
// ended one is returned as it is. With Force its whole process tree ends now.
//
// Errors: CodeNotFound, CodeOtherInstance, CodeInvalidArgument.
func (h *Harness) Close(ctx context.Context, c core.Caller, r core.CloseRequest) (core.Resource, error) {
	return once(ctx, h, c, r.Once, h.keyedResource, func(ctx context.Context, k *core.KeyRecord) (core.Resource, error) {
		res, err := h.Get(ctx, c.Owner, r.ID)
		if err != nil {
			return core.Resource{}, err
		}
		switch res.Kind {
		case core.KindRequest:
			return core.Resource{}, core.Errorf(core.CodeInvalidArgument, "%s is a %s and cannot be closed", r.ID, res.Kind).WithHint("Give a session_id or a process_id.")
		case core.KindProcess:
			return h.closeProcess(ctx, c, r, k)
		}
		id := res.Session.Session.ID
		if a := h.liveActor(c.Owner, id); a != nil && r.Force {
			return h.closeNow(ctx, c, a, id, k)
		}
		token := h.token()
		v, err := ask[core.SessionView](ctx, h, c.Owner, id, token, machine.Close{Token: token, Force: r.Force, Key: k}, nil)
		return core.Resource{Kind: core.KindSession, ID: id, Session: &v}, err
	})
}

// closeNow kills from outside the loop as soon as the command lies in the
// inbox, so that a stalled disk never delays it.
func (h *Harness) closeNow(ctx context.Context, c core.Caller, a *actor, id string, k *core.KeyRecord) (core.Resource, error) {
	token := h.token()
	v, err := a.doThen(ctx, token, machine.Close{Token: token, Force: true, Key: k}, func() { h.wg.Go(a.killNow) })
	if errors.Is(err, errRetired) {
		sv, err := ask[core.SessionView](ctx, h, c.Owner, id, token, machine.Close{Token: token, Force: true, Key: k}, nil)
		return core.Resource{Kind: core.KindSession, ID: id, Session: &sv}, err
	}
	if err != nil {
		return core.Resource{}, err
	}
	sv := v.(core.SessionView)
	return core.Resource{Kind: core.KindSession, ID: id, Session: &sv}, nil
}
