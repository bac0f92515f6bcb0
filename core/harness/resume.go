package harness

import (
	"context"
	"errors"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// resumeSession opens an ended or unavailable session again, under the same id
// and journal. If that fails, nothing has changed.
func (h *Harness) resumeSession(ctx context.Context, c core.Caller, r core.StartRequest, k *core.KeyRecord) (core.SessionView, error) {
	id, err := h.sessionOf(ctx, c.Owner, r.Resume)
	if err != nil {
		return core.SessionView{}, err
	}
	for {
		v, err := h.sessionView(ctx, c.Owner, id)
		if err != nil {
			return core.SessionView{}, err
		}
		if v.Session.Status == core.StatusClosing {
			if v, err = h.awaitClosed(ctx, c.Owner, id); err != nil {
				return core.SessionView{}, err
			}
		}
		if v.Session.Status.Live() {
			return core.SessionView{}, h.inUse(v).WithDetail("session", v)
		}
		v, err = h.reopen(ctx, c, r, id, k)
		if errors.Is(err, errRetired) {
			continue
		}
		return v, err
	}
}

// reopen resumes a session that is not live. It holds the session's lock in
// h.reviving, so that no other call of this server hosts it meanwhile, and the row
// in the store, so that no other server opens the same conversation. A failure
// frees both.
func (h *Harness) reopen(ctx context.Context, c core.Caller, r core.StartRequest, id string, k *core.KeyRecord) (core.SessionView, error) {
	unlock, err := h.reviving.lock(ctx, key{c.Owner, id})
	if err != nil {
		return core.SessionView{}, err
	}
	defer unlock()
	sctx, cancel := h.short(ctx)
	rec, err := h.store.Session(sctx, c.Owner, id)
	cancel()
	if err != nil {
		return core.SessionView{}, core.StoreError(err)
	}
	cfg, err := core.ResumeConfig(rec, r.Config)
	if err != nil {
		return core.SessionView{}, err
	}
	if _, _, err := h.checkConfig(c, &cfg); err != nil {
		return core.SessionView{}, err
	}
	if rec.Session.TurnsBegun > 0 {
		cfg.ProviderSesID = rec.Session.ProviderSessionID
		if t, _ := h.providers[cfg.Provider].Spec().Transport(cfg.Transport); !t.Capabilities.Resume.OK() {
			return core.SessionView{}, core.Errorf(core.CodeCapability, "provider %s cannot resume a conversation", cfg.Provider).WithHint("Start a new session.")
		}
	}
	h.clean(&cfg)
	cfg.Fingerprint = h.fingerprint(cfg)
	// A session that is hosted here while its store fails is not live either.
	rec, release, err := h.reserve(ctx, rec)
	if err != nil {
		return core.SessionView{}, err
	}
	a, err := h.revive(ctx, rec, cfg)
	if err != nil {
		release()
		return core.SessionView{}, err
	}
	admitted, err := h.admit(a, h.limits)
	if err != nil {
		release()
		return core.SessionView{}, err
	}
	defer admitted()
	token := h.token()
	v, err := a.do(context.WithoutCancel(ctx), token, machine.Resume{Token: token, Config: cfg, Key: k, Warnings: append(h.sharedCheckout(ctx, cfg), r.Warnings...)})
	if err != nil {
		release()
	}
	if errors.Is(err, errRetired) { // the host of another command ended before it took this one
		return core.SessionView{}, err
	}
	return opened(v, err)
}

// AfterTask returns a session whose one task has ended. It is closing then, and is
// waited for only while more sessions are closing here than MaxSessions, so that
// closes do not pile up.
//
// Errors: CodeNotFound, CodeStoreFailed; ctx's.
func (h *Harness) AfterTask(ctx context.Context, c core.Caller, id string) (core.SessionView, error) {
	if h.closingCount() > h.limits.MaxSessions {
		return h.awaitClosed(ctx, c.Owner, id)
	}
	return h.sessionView(ctx, c.Owner, id)
}

// awaitClosed waits until a session that is closing has ended, and returns it. It
// returns the session as it is when ctx ends, or after closeWait.
func (h *Harness) awaitClosed(ctx context.Context, owner, id string) (core.SessionView, error) {
	limit, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	changed := make(chan struct{}, 1)
	defer h.changes.Watch(changed)()
	for {
		v, err := h.sessionView(ctx, owner, id)
		if err != nil || v.Session.Status != core.StatusClosing {
			return v, err
		}
		select {
		case <-changed:
		case <-time.After(pollOthers): // another server may be closing it
		case <-limit.Done():
			return v, ctx.Err()
		}
	}
}
