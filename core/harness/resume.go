package harness

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

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
	cfg, err := resumeConfig(rec, r.Config)
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
	// A session that waits here for its store is at rest, and hosted.
	rec, release, err := h.reserve(ctx, rec)
	if err != nil {
		return core.SessionView{}, err
	}
	a, err := h.revive(ctx, rec, cfg)
	if err != nil {
		release()
		return core.SessionView{}, err
	}
	token := h.token()
	v, err := opened(a.do(context.WithoutCancel(ctx), token, machine.Resume{Token: token, Config: cfg, Key: k, Warnings: append(h.sharedCheckout(ctx, cfg), r.Warnings...)}))
	if err != nil {
		release()
	}
	return v, err
}

// resumeConfig joins the stored settings with what the caller gives anew. What
// is never stored must be given again, so that a resumed session is not more
// or less than it was without its caller saying so.
func resumeConfig(rec core.SessionRecord, given core.SessionConfig) (core.SessionConfig, error) {
	cfg := rec.Launch
	cfg.CloseAtRest = false // whoever resumes it has more to say
	var missing []string
	need := func(had []string, now []string) {
		for _, n := range had {
			if !slices.Contains(now, n) {
				missing = append(missing, n)
			}
		}
	}
	need(cfg.EnvNames, slices.Sorted(maps.Keys(given.Env)))
	need(cfg.MCPNames, slices.Sorted(maps.Keys(given.MCPServers)))
	need(cfg.SkillNames, given.Skills)
	need(cfg.OptionNames, slices.Sorted(maps.Keys(given.ProviderOptions)))
	if len(missing) > 0 {
		return cfg, core.Errorf(core.CodeConfigMissing, "session %s was started with settings that are not stored: %s", rec.Session.ID, strings.Join(missing, ", ")).
			WithHint("Give them again: env values, mcp_servers, skills and provider_options are never kept.").WithDetail("missing", missing)
	}
	cfg.Env, cfg.MCPServers, cfg.Skills, cfg.ProviderOptions = given.Env, given.MCPServers, given.Skills, given.ProviderOptions
	if given.Provider != "" && given.Provider != cfg.Provider {
		return cfg, core.Errorf(core.CodeInvalidArgument, "session %s is of provider %s", rec.Session.ID, cfg.Provider).WithHint("Leave provider out of a resume.")
	}
	over := func(dst *string, v string) {
		if v != "" {
			*dst = v
		}
	}
	over(&cfg.CWD, given.CWD)
	over(&cfg.Title, given.Title)
	over(&cfg.Transport, given.Transport)
	over(&cfg.SystemPrompt, given.SystemPrompt)
	s := rec.Session // configure may have changed these since the start
	cfg.Model, cfg.ReasoningEffort, cfg.ApprovalMode, cfg.SandboxMode = rec.Launch.Model, s.ReasoningEffort, s.ApprovalMode, s.SandboxMode
	over(&cfg.Model, given.Model)
	over(&cfg.ReasoningEffort, given.ReasoningEffort)
	over((*string)(&cfg.ApprovalMode), string(given.ApprovalMode))
	over((*string)(&cfg.SandboxMode), string(given.SandboxMode))
	over((*string)(&cfg.AnswerBy), string(given.AnswerBy))
	if given.AllowedTools != nil {
		cfg.AllowedTools = given.AllowedTools
	}
	if given.DisallowedTools != nil {
		cfg.DisallowedTools = given.DisallowedTools
	}
	if given.AddDirs != nil {
		cfg.AddDirs = given.AddDirs
	}
	if given.OutputSchema != nil {
		cfg.OutputSchema = given.OutputSchema
	}
	if given.Metadata != nil {
		cfg.Metadata = given.Metadata
	}
	cfg.Timeouts = cfg.Timeouts.With(given.Timeouts)
	return cfg, nil
}
