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

// sendTurn is admitTurn with telemetry.
func (h *Harness) sendTurn(ctx context.Context, c core.Caller, r core.SendRequest, queue bool) (core.Turn, error) {
	end := h.telemetry.Begin(core.Operation{Name: core.OpStartTurn})
	t, err := h.admitTurn(ctx, c, r, queue)
	end(core.EndedBy(err))
	return t, err
}

// admitTurn hands a turn to its session. A chosen turn id is held while it is
// admitted, and answers for the same turn when the call is repeated.
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
		return ask[core.Turn](ctx, h, c.Owner, id, func(t machine.Token) machine.Input {
			return machine.Prompt{Token: t, TurnID: turn, Hash: hash, Input: r.Input, Queue: queue, Key: k}
		})
	})
}

// deref returns the turn, or the zero Turn for nil.
func deref(t *core.Turn) core.Turn {
	if t == nil {
		return core.Turn{}
	}
	return *t
}

// checkInput checks what does not depend on the session, and returns the hash of
// the input: a turn_id that is used again is a repetition if the hash is the same.
func (h *Harness) checkInput(in core.TurnInput) (string, error) {
	if strings.TrimSpace(in.Prompt) == "" && len(in.Content) == 0 && len(in.Attachments) == 0 {
		return "", core.Errorf(core.CodeInvalidArgument, "prompt is empty").WithHint("Say what the agent is to do.").WithDetail("field", "prompt")
	}
	if n := in.Size(); n > core.MaxPrompt {
		return "", core.Errorf(core.CodeTooLarge, "the prompt has %d bytes; at most %d are taken", n, core.MaxPrompt).
			WithHint("Put the material into a file in cwd and name the file in the prompt.").WithDetail("bytes", n).WithDetail("limit", core.MaxPrompt)
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

// checkSchema refuses an output_schema that is not a valid schema.
func (h *Harness) checkSchema(schema json.RawMessage) error {
	if len(schema) == 0 || h.schemas == nil {
		return nil
	}
	if err := h.schemas(schema, nil); err != nil {
		return core.Errorf(core.CodeInvalidArgument, "output_schema is not a JSON schema: %w", err).WithDetail("field", "output_schema")
	}
	return nil
}

// claimTurn looks a chosen turn id up and holds it while it is admitted. The
// same prompt under the same id in the same session is the same turn.
func (h *Harness) claimTurn(ctx context.Context, k key, session, hash string) (have *core.Turn, free func(), err error) {
	if err := core.CheckChosenID("turn_id", k.id); err != nil {
		return nil, nil, err
	}
	free, ok := h.reserveTurnID(k)
	if !ok {
		return nil, nil, core.Errorf(core.CodeTurnUsed, "turn_id %s is being used by another call", k.id).WithHint("Try again in a moment.").Retry()
	}
	have, err = h.turnUnder(ctx, k, session, hash)
	if have != nil || err != nil {
		free()
		return have, nil, err
	}
	return nil, free, nil
}

// turnUnder returns the turn that has an id, nil when the id is free.
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
		return nil, machine.TurnUsed(k.id)
	}
	return res.Turn, nil
}

// orElse returns the failure of a look-up, or else the refusal that follows from
// its success.
func orElse(failure error, refusal *core.Error) error {
	if failure != nil {
		return failure
	}
	return refusal
}

// ask hands a command to a session's actor and waits for its reply. command returns
// the input with the token of the reply. When ctx ends, the command goes on and its
// reply is dropped.
func ask[T any](ctx context.Context, h *Harness, owner, id string, command func(machine.Token) machine.Input) (T, error) {
	var zero T
	token := h.token()
	in := command(token)
	for {
		a, err := h.hosted(ctx, owner, id)
		if err != nil {
			return zero, err
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

// hosted returns the actor of a session. A session that is not live gets one, so
// that the machine alone decides what a command does to it.
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

// revive hosts a session that is not live. Another server's live session is refused.
// The caller holds the session's lock in h.reviving; a caller that is to open the
// provider again holds the row too.
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
		t, err := ask[core.Turn](ctx, h, c.Owner, id, func(t machine.Token) machine.Input {
			return machine.Steer{Token: t, TurnID: r.TurnID, Input: r.Input, Key: k}
		})
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
		by := core.ByCaller
		if c.User {
			by = core.ByUser
		}
		if err := machine.RefuseAnswer(*res.Request, by, h.limits.AnswerByUser); err != nil {
			return core.Request{}, err
		}
		got, err := ask[core.Request](ctx, h, c.Owner, res.Request.SessionID, func(t machine.Token) machine.Input {
			return machine.Respond{Token: t, RequestID: r.RequestID, Response: r.Response, By: by, OnlyUser: h.limits.AnswerByUser, Client: c.Client, Key: k}
		})
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
		return ask[core.InterruptResult](ctx, h, c.Owner, id, func(t machine.Token) machine.Input {
			return machine.Interrupt{Token: t, TurnID: r.TurnID, ClearQueue: r.ClearQueue, Key: k}
		})
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
		v, err := h.sessionView(ctx, c.Owner, id)
		if err == nil {
			err = h.checkChanges(v, r.Changes)
		}
		if err != nil {
			return core.SessionView{}, err
		}
		return ask[core.SessionView](ctx, h, c.Owner, id, func(t machine.Token) machine.Input { return machine.Configure{Token: t, Changes: r.Changes, Key: k} })
	})
}

// checkChanges refuses settings that the session's provider does not have, as a
// start does. One that cannot be configured at all is the machine's to refuse.
func (h *Harness) checkChanges(v core.SessionView, c core.Changes) error {
	if !v.Capabilities.Configure.OK() {
		return nil
	}
	t, _ := h.providers[v.Session.Provider].Spec().Transport(v.Session.Transport)
	cfg := core.SessionConfig{Provider: v.Session.Provider, ApprovalMode: c.ApprovalMode, SandboxMode: c.SandboxMode, ReasoningEffort: c.ReasoningEffort}
	cfg.SetDefaults()
	return checkModes(cfg, t)
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
		v, err := h.closeSession(ctx, c.Owner, id, r.Force, k)
		return core.Resource{Kind: core.KindSession, ID: id, Session: &v}, err
	})
}

// closeSession ends a session. With force its agent is killed from outside the
// session's goroutine as soon as the command is in the inbox, so that a store
// that is slow never delays it.
func (h *Harness) closeSession(ctx context.Context, owner, id string, force bool, k *core.KeyRecord) (core.SessionView, error) {
	command := func(t machine.Token) machine.Input { return machine.Close{Token: t, Force: force, Key: k} }
	if a := h.liveActor(owner, id); a != nil && force {
		token := h.token()
		v, err := a.doThen(ctx, token, command(token), func() { h.wg.Go(a.killNow) })
		if err == nil {
			return v.(core.SessionView), nil
		}
		if !errors.Is(err, errRetired) {
			return core.SessionView{}, err
		}
	}
	return ask[core.SessionView](ctx, h, owner, id, command)
}
