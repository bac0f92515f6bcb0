package core

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// SendMessage starts a turn in an idle session and returns its handle before
// any provider I/O.
//
// Errors: CodeInvalidArgument, CodeTooLarge, CodeCapability, CodeNotFound,
// CodeTurnInProgress with the turn in Details, CodeTurnUsed,
// CodeSessionUnavailable, CodeSessionClosed, CodeOtherInstance,
// CodeIdempotency, CodeStoreFailed, CodeShuttingDown.
func (h *Harness) SendMessage(ctx context.Context, c Caller, r SendRequest) (Turn, error) {
	return h.sendTurn(ctx, c, r, false)
}

// FollowUp queues a turn, or starts it when the session is idle. Errors as
// SendMessage, CodeQueueFull instead of CodeTurnInProgress.
func (h *Harness) FollowUp(ctx context.Context, c Caller, r SendRequest) (Turn, error) {
	return h.sendTurn(ctx, c, r, true)
}

func (h *Harness) sendTurn(ctx context.Context, c Caller, r SendRequest, queue bool) (Turn, error) {
	end := h.telemetry.Begin(Operation{Name: OpStartTurn})
	t, err := h.admitTurn(ctx, c, r, queue)
	end(endedBy(err))
	return t, err
}

func (h *Harness) admitTurn(ctx context.Context, c Caller, r SendRequest, queue bool) (Turn, error) {
	return once(ctx, h, c, r.Once, h.keyedTurn, func(ctx context.Context, k *KeyRecord) (Turn, error) {
		hash, err := h.checkInput(r.Input)
		if err != nil {
			return Turn{}, err
		}
		id, err := h.sessionOf(ctx, c.Owner, r.SessionID)
		if err != nil {
			return Turn{}, err
		}
		turn := r.TurnID
		if turn == "" {
			turn = NewID(PrefixTurn)
		} else {
			have, free, err := h.claimTurn(ctx, key{c.Owner, turn}, id, hash)
			if have != nil || err != nil {
				return deref(have), err
			}
			defer free()
		}
		token := h.token()
		in := inSend{Token: token, TurnID: turn, Hash: hash, Input: r.Input, Queue: queue, Key: k}
		t, err := ask[Turn](ctx, h, c.Owner, id, token, in, h.checkInputFor(r.Input))
		if err == nil {
			h.turnHosts.put(c.Owner, turn, id)
		}
		return t, err
	})
}

func deref(t *Turn) Turn {
	if t == nil {
		return Turn{}
	}
	return *t
}

// checkInput checks what does not depend on the session, and hashes the input
// so that a repeated turn_id is told from a reused one.
func (h *Harness) checkInput(in TurnInput) (string, error) {
	if strings.TrimSpace(in.Prompt) == "" && len(in.Content) == 0 && len(in.Attachments) == 0 {
		return "", Errorf(CodeInvalidArgument, "prompt is empty").WithHint("Say what the agent is to do.").WithDetail("field", "prompt")
	}
	if n := in.Size(); n > MaxPrompt {
		return "", Errorf(CodeTooLarge, "the prompt has %d bytes; at most %d are taken", n, MaxPrompt).
			WithHint("Put the material into a file in cwd and name the file in the prompt.").WithDetail("bytes", n).WithDetail("limit", MaxPrompt)
	}
	if err := h.checkSchema(in.OutputSchema); err != nil {
		return "", err
	}
	for _, b := range in.Content {
		if b.Type != "text" && b.Type != "image" {
			return "", Errorf(CodeInvalidArgument, "content blocks are text or image, not %q", b.Type).WithDetail("field", "content")
		}
	}
	for _, path := range in.Attachments {
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() || !filepath.IsAbs(path) {
			return "", Errorf(CodeInvalidArgument, "attachment %q is not a file here", path).WithHint("Give absolute paths of regular files.").WithDetail("field", "attachments")
		}
	}
	return h.hash(marshal(in)), nil
}

// checkSchema refuses an output_schema that is no schema.
func (h *Harness) checkSchema(schema json.RawMessage) error {
	if len(schema) == 0 || h.schemas == nil {
		return nil
	}
	if err := h.schemas(schema, nil); err != nil {
		return Errorf(CodeInvalidArgument, "output_schema is not a JSON schema: %w", err).WithDetail("field", "output_schema")
	}
	return nil
}

// checkInputFor refuses what the session's provider cannot take.
func (h *Harness) checkInputFor(in TurnInput) func(SessionView) error {
	return func(v SessionView) error {
		c := v.Capabilities
		images := len(in.Attachments) > 0
		for _, b := range in.Content {
			images = images || b.Type == "image"
		}
		switch {
		case images && !c.Attachments.OK():
			return Errorf(CodeCapability, "provider %s takes no images or attachments", v.Session.Provider).WithHint("Name the file in the prompt instead.")
		case len(in.OutputSchema) > 0 && !c.StructuredOutput.OK():
			return Errorf(CodeCapability, "provider %s cannot follow an output_schema", v.Session.Provider).WithHint("Ask for JSON in the prompt instead.")
		}
		return nil
	}
}

func turnUsed(id string) *Error {
	return Errorf(CodeTurnUsed, "turn_id %s was used before, for another prompt or session", id).
		WithHint("Choose another turn_id, or leave it out.").WithDetail("turn_id", id)
}

// claimTurn looks a chosen turn id up and holds it while it is admitted. The
// same prompt under the same id in the same session is the same turn.
func (h *Harness) claimTurn(ctx context.Context, k key, session, hash string) (have *Turn, free func(), err error) {
	if err := CheckChosenID("turn_id", k.id); err != nil {
		return nil, nil, err
	}
	h.mu.Lock()
	if h.turnIDs[k] > 0 {
		h.mu.Unlock()
		return nil, nil, Errorf(CodeTurnUsed, "turn_id %s is being used by another call", k.id).WithHint("Try again in a moment.").Retry()
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
func (h *Harness) turnUnder(ctx context.Context, k key, session, hash string) (*Turn, error) {
	res, err := h.getTurn(ctx, k.owner, k.id)
	switch {
	case CodeOf(err) == CodeNotFound:
		// One id, one thing: a session of this name would hide the turn.
		if _, err := h.sessionView(ctx, k.owner, k.id); CodeOf(err) != CodeNotFound {
			return nil, orElse(err, Errorf(CodeInvalidArgument, "turn_id %s is the session_id of a session", k.id).WithHint("Choose another turn_id."))
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
func orElse(failure error, refusal *Error) error {
	if failure != nil {
		return failure
	}
	return refusal
}

// ask hands a command to a session's actor and waits for its reply. A session
// at rest is hosted for it, so that the machine alone decides what it does.
func ask[T any](ctx context.Context, h *Harness, owner, id string, token Token, in Input, check func(SessionView) error) (T, error) {
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
		return nil, storeError(err)
	}
	if who := holder(rec.Instance); who != rec.Instance && who != h.store.Instance() && h.store.Alive(who) {
		return nil, beingOpened(id)
	}
	return h.revive(ctx, rec, rec.Launch)
}

// revive hosts a session that is at rest. Another server's live session is
// refused. The caller holds the session's lock in h.reviving; who wants to open
// the provider again holds the row too.
func (h *Harness) revive(ctx context.Context, rec SessionRecord, cfg SessionConfig) (*actor, error) {
	s := rec.Session
	if a := h.liveActor(s.Owner, s.ID); a != nil {
		return a, nil
	}
	if s.Status.Live() {
		return nil, Errorf(CodeOtherInstance, "session %s is run by another server on this machine", s.ID).
			WithHint("Reading works here (await, inspect, replay); send commands to the server that started it.").WithDetail("instance", holder(rec.Instance))
	}
	p, ok := h.providers[s.Provider]
	if !ok {
		return nil, Errorf(CodeProviderUnknown, "session %s is of provider %q, which this server does not have", s.ID, s.Provider).
			WithHint("It can be read with replay and inspect.")
	}
	t, _ := p.Spec().Transport(s.Transport)
	ctx, cancel := h.short(ctx)
	defer cancel()
	seq, err := h.store.LastSeq(ctx, s.Owner, s.ID)
	if err != nil {
		return nil, storeError(err)
	}
	var last *Turn
	if s.LastTurn != "" {
		if tr, err := h.store.Turn(ctx, s.Owner, s.LastTurn); err == nil {
			last = &tr.Turn
		}
	}
	a := newActor(h, p, restore(rec, t.Capabilities, nil, nil, last), seq)
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
func (h *Harness) Steer(ctx context.Context, c Caller, r SteerRequest) (Turn, error) {
	return once(ctx, h, c, r.Once, h.keyedTurn, func(ctx context.Context, k *KeyRecord) (Turn, error) {
		if _, err := h.checkInput(r.Input); err != nil {
			return Turn{}, err
		}
		id, err := h.sessionOf(ctx, c.Owner, r.SessionID)
		if err != nil {
			return Turn{}, err
		}
		if err := h.claimKey(ctx, k); err != nil {
			return Turn{}, err
		}
		token := h.token()
		t, err := ask[Turn](ctx, h, c.Owner, id, token, inSteer{Token: token, TurnID: r.TurnID, Input: r.Input, Key: k}, h.checkInputFor(r.Input))
		h.freeKey(k, err)
		return t, err
	})
}

// Respond answers a request and returns when the provider took the answer.
//
// Errors: CodeNotFound, CodeRequestNotPending with details.state, CodeAction,
// CodeScope, CodeMissingAnswer, CodeInvalidArgument, CodeResponseRejected,
// CodeResponseUncertain, CodeNotSupportedByClient, CodeOtherInstance.
func (h *Harness) Respond(ctx context.Context, c Caller, r RespondRequest) (Request, error) {
	return once(ctx, h, c, r.Once, h.keyedRequest, func(ctx context.Context, k *KeyRecord) (Request, error) {
		res, err := h.Get(ctx, c.Owner, r.RequestID)
		if err != nil {
			return Request{}, err
		}
		if res.Kind != KindRequest {
			return Request{}, Errorf(CodeInvalidArgument, "%s is a %s, not a request", r.RequestID, res.Kind).
				WithHint("pending_requests in await and inspect have the request_id.")
		}
		if h.limits.AnswerByUser && !c.User {
			return Request{}, Errorf(CodeNotSupportedByClient, "on this server only a person may answer requests").
				WithHint("The request waits for a client that can ask a person, or for: harness-mcp respond %s ACTION.", r.RequestID)
		}
		if res.Request.Status.Ended() {
			return Request{}, notPending(r.RequestID, res.Request.Status)
		}
		by := ByCaller
		if c.User {
			by = ByUser
		}
		token := h.token()
		got, err := ask[Request](ctx, h, c.Owner, res.Request.SessionID, token, inRespond{Token: token, RequestID: r.RequestID,
			Response: r.Response, By: by, Client: c.Client, Key: k}, nil)
		if CodeOf(err) == CodeRequestNotPending { // it ended since we looked: how, the store knows
			if now, gerr := h.getRequest(ctx, c.Owner, r.RequestID); gerr == nil && now.Request.Status.Ended() {
				return got, notPending(r.RequestID, now.Request.Status)
			}
		}
		return got, err
	})
}

// Interrupt asks for the end of the running turn, or removes a queued one.
//
// Errors: CodeNotFound, CodeNoActiveTurn, CodeTurnNotActive, CodeCapability,
// CodeOtherInstance.
func (h *Harness) Interrupt(ctx context.Context, c Caller, r InterruptRequest) (InterruptResult, error) {
	return once(ctx, h, c, r.Once, h.keyedInterrupt, func(ctx context.Context, k *KeyRecord) (InterruptResult, error) {
		id, err := h.sessionOf(ctx, c.Owner, r.SessionID)
		if err != nil {
			return InterruptResult{}, err
		}
		token := h.token()
		return ask[InterruptResult](ctx, h, c.Owner, id, token, inInterrupt{Token: token, TurnID: r.TurnID, ClearQueue: r.ClearQueue, Key: k}, nil)
	})
}

// Configure changes a live session from its next turn on.
//
// Errors: CodeOption, CodeCapability, CodeCommandInProgress,
// CodeResponseUncertain, and those of Interrupt.
func (h *Harness) Configure(ctx context.Context, c Caller, r ConfigureRequest) (SessionView, error) {
	return once(ctx, h, c, r.Once, h.keyedSession, func(ctx context.Context, k *KeyRecord) (SessionView, error) {
		if r.Changes == (Changes{}) {
			return SessionView{}, Errorf(CodeInvalidArgument, "nothing to change").WithHint("Give model, reasoning_effort, approval_mode or sandbox_mode.")
		}
		id, err := h.sessionOf(ctx, c.Owner, r.SessionID)
		if err != nil {
			return SessionView{}, err
		}
		check := func(v SessionView) error {
			t, _ := h.providers[v.Session.Provider].Spec().Transport(v.Session.Transport)
			if !v.Capabilities.Configure.OK() {
				return nil // the machine says so
			}
			cfg := SessionConfig{Provider: v.Session.Provider, ApprovalMode: r.Changes.ApprovalMode, SandboxMode: r.Changes.SandboxMode, ReasoningEffort: r.Changes.ReasoningEffort}
			fillModes(&cfg, false)
			return checkModes(cfg, t)
		}
		token := h.token()
		return ask[SessionView](ctx, h, c.Owner, id, token, inConfigure{Token: token, Changes: r.Changes, Key: k}, check)
	})
}

// Close ends a session or process and returns it in its terminal state. An
// ended one is returned as it is. With Force its whole process tree ends now.
//
// Errors: CodeNotFound, CodeOtherInstance, CodeInvalidArgument.
func (h *Harness) Close(ctx context.Context, c Caller, r CloseRequest) (Resource, error) {
	return once(ctx, h, c, r.Once, h.keyedResource, func(ctx context.Context, k *KeyRecord) (Resource, error) {
		res, err := h.Get(ctx, c.Owner, r.ID)
		if err != nil {
			return Resource{}, err
		}
		switch res.Kind {
		case KindRequest:
			return Resource{}, Errorf(CodeInvalidArgument, "%s is a %s and cannot be closed", r.ID, res.Kind).WithHint("Give a session_id or a process_id.")
		case KindProcess:
			return h.closeProcess(ctx, c, r, k)
		}
		id := res.Session.Session.ID
		if a := h.liveActor(c.Owner, id); a != nil && r.Force {
			return h.closeNow(ctx, c, a, id, k)
		}
		token := h.token()
		v, err := ask[SessionView](ctx, h, c.Owner, id, token, inClose{Token: token, Force: r.Force, Key: k}, nil)
		return Resource{Kind: KindSession, ID: id, Session: &v}, err
	})
}

// closeNow kills from outside the loop as soon as the command lies in the
// inbox, so that a stalled disk never delays it.
func (h *Harness) closeNow(ctx context.Context, c Caller, a *actor, id string, k *KeyRecord) (Resource, error) {
	token := h.token()
	v, err := a.doThen(ctx, token, inClose{Token: token, Force: true, Key: k}, func() { h.wg.Go(a.killNow) })
	if errors.Is(err, errRetired) {
		sv, err := ask[SessionView](ctx, h, c.Owner, id, token, inClose{Token: token, Force: true, Key: k}, nil)
		return Resource{Kind: KindSession, ID: id, Session: &sv}, err
	}
	if err != nil {
		return Resource{}, err
	}
	sv := v.(SessionView)
	return Resource{Kind: KindSession, ID: id, Session: &sv}, nil
}
