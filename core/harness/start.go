package harness

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// StartSession opens a session and returns when it is ready, or resumes one.
//
// Errors: CodeInvalidArgument, CodeProviderUnknown, CodeProviderNotReady,
// CodeCapability, CodeOption, CodeForbiddenPath, CodeConfigMissing,
// CodeSessionInUse and CodeSessionUsed with the Session in Details,
// CodeCapacity, CodeStartFailed, CodeStartTimeout, CodeOtherInstance,
// CodeIdempotency, CodeStoreFailed, CodeShuttingDown.
func (h *Harness) StartSession(ctx context.Context, c core.Caller, r core.StartRequest) (core.SessionView, error) {
	end := h.telemetry.Begin(core.Operation{Name: core.OpStartSession, Provider: h.knownProvider(r.Config.Provider)})
	v, err := h.startSession(ctx, c, r)
	end(core.EndedBy(err))
	return v, err
}

// knownProvider returns the name of a provider that this server has, and "" for any
// other name.
func (h *Harness) knownProvider(name string) string {
	if h.providers[name] == nil {
		return ""
	}
	return name
}

// startSession is StartSession without telemetry.
func (h *Harness) startSession(ctx context.Context, c core.Caller, r core.StartRequest) (core.SessionView, error) {
	return once(ctx, h, c, r.Once, h.keyedSession, func(ctx context.Context, k *core.KeyRecord) (core.SessionView, error) {
		if err := h.refuseIfDown(); err != nil {
			return core.SessionView{}, err
		}
		if r.Resume != "" && !r.Fork {
			return h.resumeSession(ctx, c, r, k)
		}
		return h.newSession(ctx, c, r, k)
	})
}

// newSession opens a session under a new id, or under a chosen one. Its order: the
// configuration is checked, then the id is claimed, then the actor gets its first
// input before it is hosted, so that no other command comes before the start.
func (h *Harness) newSession(ctx context.Context, c core.Caller, r core.StartRequest, k *core.KeyRecord) (core.SessionView, error) {
	cfg := r.Config
	cfg.Owner, cfg.CloseAtRest = c.Owner, r.CloseAtRest
	if r.Fork {
		if err := h.forkFrom(ctx, c, r, &cfg); err != nil {
			return core.SessionView{}, err
		}
	}
	lost := worksNowhere(c, cfg.CWD)
	p, caps, err := h.checkConfig(c, &cfg)
	if err != nil {
		return core.SessionView{}, err
	}
	if err := h.checkTask(r.Task, cfg.Provider, caps); err != nil {
		return core.SessionView{}, err
	}
	chosen := cfg.SessionID != ""
	if chosen {
		if err := core.CheckChosenID("session_id", cfg.SessionID); err != nil {
			return core.SessionView{}, err
		}
	}
	replace, release, err := h.claimID(ctx, c, &cfg, r.Reuse)
	if err != nil {
		return core.SessionView{}, err
	}
	h.clean(&cfg)
	cfg.Fingerprint = h.fingerprint(cfg)
	a := newActor(h, p, machine.NewState(cfg, caps, core.DurabilityOf(h.store), time.Now()), 0)
	a.fresh, a.replace = true, replace
	a.unreserve = release
	token := h.token()
	warnings := append(h.sharedCheckout(ctx, cfg), r.Warnings...)
	if lost {
		warnings = append(warnings, "no cwd was given: the agent works in the server's own directory, "+cfg.CWD)
	}
	start := a.putFirst(token, machine.Start{Token: token, Key: k, Warnings: warnings})
	if err := h.add(a, cfg, h.limits); err != nil {
		release()
		return core.SessionView{}, err
	}
	v, err := opened(a.reply(ctx, start))
	// With an id or a key the start outlives its caller, who finds it by that.
	if !chosen && k == nil && ctx.Err() != nil && core.IsContext(err) {
		h.undo(a)
	}
	return v, err
}

// checkTask refuses the input of a turn that is to follow a start.
func (h *Harness) checkTask(in *core.TurnInput, provider string, caps core.Capabilities) error {
	if in == nil {
		return nil
	}
	if _, err := h.checkInput(*in); err != nil {
		return err
	}
	if err := machine.CannotTake(*in, provider, caps); err != nil {
		return err
	}
	return nil
}

// clean takes secrets out of what a caller stores with a session.
func (h *Harness) clean(cfg *core.SessionConfig) {
	red := h.redactor(*cfg)
	cfg.Title, cfg.Metadata = red.String(cfg.Title), red.Metadata(cfg.Metadata)
}

// opened returns the outcome of a start or resume as a call returns it.
func opened(v any, err error) (core.SessionView, error) {
	if errors.Is(err, errRetired) {
		err = core.Errorf(core.CodeStartFailed, "the session ended while it opened").WithHint("Start it again.").Retry()
	}
	if err != nil {
		return core.SessionView{}, err
	}
	return v.(core.SessionView), nil
}

// undo ends a start whose caller has left, in a goroutine that abandonTimeout
// limits. The start leaves nothing behind.
func (h *Harness) undo(a *actor) {
	h.wg.Go(func() {
		ctx, cancel := context.WithTimeout(h.ctx, abandonTimeout)
		defer cancel()
		token := h.token()
		_, _ = a.do(ctx, token, machine.Close{Token: token, Force: true})
	})
}

// inUse is SessionInUse for callers of this server: about a session that another
// server runs it does not send them to this one.
func (h *Harness) inUse(v core.SessionView) *core.Error {
	e := machine.SessionInUse(v.Session.ID)
	if h.liveActor(v.Session.Owner, v.Session.ID) == nil {
		e.Message = "session " + v.Session.ID + " exists and is live, on another server on this machine"
		return e.WithHint("Use it through that server, or choose another session_id.")
	}
	return e
}

// claimID checks a chosen id against what is live and stored, and makes one
// when none was chosen. replace says that a stored session goes when the new
// one is ready; it is held until then, and given back if that never comes.
func (h *Harness) claimID(ctx context.Context, c core.Caller, cfg *core.SessionConfig, reuse core.Reuse) (replace bool, release func(), err error) {
	none := func() {}
	if cfg.SessionID == "" {
		cfg.SessionID = core.NewID(core.PrefixSession)
		return false, none, nil
	}
	id := cfg.SessionID
	v, err := h.sessionView(ctx, c.Owner, id)
	if core.CodeOf(err) == core.CodeNotFound {
		// One id, one thing: a turn of this name would hide behind the session.
		if _, err := h.getTurn(ctx, c.Owner, id); core.CodeOf(err) != core.CodeNotFound {
			return false, none, orElse(err, core.Errorf(core.CodeInvalidArgument, "session_id %s is the turn_id of a turn", id).WithHint("Choose another session_id."))
		}
		return false, none, nil
	}
	if err != nil {
		return false, none, err
	}
	st := v.Session.Status
	switch {
	case st.Live():
		return false, none, h.inUse(v).WithDetail("session", v)
	case reuse == core.ReuseReplace, reuse == core.ReuseClosed && st == core.StatusClosed:
		sctx, cancel := h.short(ctx)
		defer cancel()
		rec, err := h.store.Session(sctx, c.Owner, id)
		if err != nil {
			return false, none, core.StoreError(err)
		}
		_, release, err := h.reserve(ctx, rec)
		return true, release, err
	}
	return false, none, core.Errorf(core.CodeSessionUsed, "session %s was used before and is %s", id, st).
		WithHint("Continue it with resume: %q, or take the id over with reuse: \"replace\".", id).WithDetail("session", v)
}

// forkFrom makes a configuration one that forks the conversation of a session.
func (h *Harness) forkFrom(ctx context.Context, c core.Caller, r core.StartRequest, cfg *core.SessionConfig) error {
	if r.Resume == "" {
		if cfg.ProviderSesID == "" {
			return core.Errorf(core.CodeInvalidArgument, "fork needs resume or provider_session_id").WithHint("Say which conversation to branch off.")
		}
		cfg.Fork = true
		return nil
	}
	id, err := h.sessionOf(ctx, c.Owner, r.Resume)
	if err != nil {
		return err
	}
	v, err := h.sessionView(ctx, c.Owner, id)
	if err != nil {
		return err
	}
	if v.Session.ProviderSessionID == "" || v.Session.TurnsBegun == 0 {
		return core.Errorf(core.CodeInvalidArgument, "session %s has no turn yet, so there is nothing to branch off", id).WithHint("Start a new session instead.")
	}
	cfg.Provider = cmp.Or(cfg.Provider, v.Session.Provider)
	cfg.CWD = cmp.Or(cfg.CWD, v.Session.CWD)
	cfg.Model = cmp.Or(cfg.Model, v.Session.Model)
	if cfg.Provider != v.Session.Provider {
		return core.Errorf(core.CodeInvalidArgument, "session %s is of provider %s", id, v.Session.Provider).WithHint("Leave provider out.")
	}
	cfg.ProviderSesID, cfg.Fork, cfg.ForkedFrom = v.Session.ProviderSessionID, true, id
	return nil
}
