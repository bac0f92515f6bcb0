package core

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// StartSession opens a session and returns when it is ready, or resumes one.
//
// Errors: CodeInvalidArgument, CodeProviderUnknown, CodeProviderNotReady,
// CodeCapability, CodeOption, CodeForbiddenPath, CodeConfigMissing,
// CodeSessionInUse and CodeSessionUsed with the Session in Details,
// CodeCapacity, CodeStartFailed, CodeStartTimeout, CodeOtherInstance,
// CodeIdempotency, CodeStoreFailed, CodeShuttingDown.
func (h *Harness) StartSession(ctx context.Context, c Caller, r StartRequest) (SessionView, error) {
	end := h.telemetry.Begin(Operation{Name: OpStartSession, Provider: h.knownProvider(r.Config.Provider)})
	v, err := h.startSession(ctx, c, r)
	end(endedBy(err))
	return v, err
}

// knownProvider gives the name of a provider there is, and "" for any other
// word.
func (h *Harness) knownProvider(name string) string {
	if h.providers[name] == nil {
		return ""
	}
	return name
}

func (h *Harness) startSession(ctx context.Context, c Caller, r StartRequest) (SessionView, error) {
	return once(ctx, h, c, r.Once, h.keyedSession, func(ctx context.Context, k *KeyRecord) (SessionView, error) {
		if err := h.refuseIfDown(); err != nil {
			return SessionView{}, err
		}
		if r.Resume != "" && !r.Fork {
			return h.resumeSession(ctx, c, r, k)
		}
		return h.newSession(ctx, c, r, k)
	})
}

func (h *Harness) newSession(ctx context.Context, c Caller, r StartRequest, k *KeyRecord) (SessionView, error) {
	cfg := r.Config
	cfg.Owner, cfg.CloseAtRest = c.Owner, r.CloseAtRest
	if r.Fork {
		if err := h.forkFrom(ctx, c, r, &cfg); err != nil {
			return SessionView{}, err
		}
	}
	p, caps, err := h.checkConfig(&cfg)
	if err != nil {
		return SessionView{}, err
	}
	chosen := cfg.SessionID != ""
	if chosen {
		if err := CheckChosenID("session_id", cfg.SessionID); err != nil {
			return SessionView{}, err
		}
	}
	replace, giveBack, err := h.claimID(ctx, c, &cfg, r.Reuse)
	if err != nil {
		return SessionView{}, err
	}
	cfg.Fingerprint = h.fingerprint(cfg)
	a := newActor(h, p, NewState(cfg, caps, h.durability(), time.Now()), 0)
	a.fresh, a.replace = true, replace
	a.giveBack = giveBack
	if err := h.host(a, cfg); err != nil {
		giveBack()
		return SessionView{}, err
	}
	token := h.token()
	in := inStart{Token: token, Key: k, Warnings: append(h.sharedCheckout(ctx, cfg), r.Warnings...)}
	v, err := h.await(ctx, a, token, in)
	// With an id or a key the start outlives its caller, who finds it by that.
	if !chosen && k == nil && ctx.Err() != nil && IsContext(err) {
		h.undo(a)
	}
	return v, err
}

// await hands a start or resume to its actor and waits for the session.
func (h *Harness) await(ctx context.Context, a *actor, token Token, in Input) (SessionView, error) {
	v, err := a.do(ctx, token, in)
	if errors.Is(err, errRetired) {
		err = Errorf(CodeStartFailed, "the session ended while it opened").WithHint("Start it again.").Retry()
	}
	if err != nil {
		return SessionView{}, err
	}
	return v.(SessionView), nil
}

// undo ends a start that its caller has left. It leaves nothing behind.
func (h *Harness) undo(a *actor) {
	h.wg.Go(func() {
		ctx, cancel := context.WithTimeout(h.ctx, abandonTimeout)
		defer cancel()
		token := h.token()
		_, _ = a.do(ctx, token, inClose{Token: token, Force: true})
	})
}

func (h *Harness) durability() Durability {
	return durabilityOf(h.store)
}

// durabilityOf is what a store promises.
func durabilityOf(s Store) Durability {
	if d, ok := s.(interface{ Durability() Durability }); ok {
		return d.Durability()
	}
	return Durable
}

// host gives an actor its place and starts it.
func (h *Harness) host(a *actor, cfg SessionConfig) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := key{a.owner, a.id}
	switch {
	case h.down:
		return Errorf(CodeShuttingDown, "the server is shutting down").WithHint("Connect again and retry.").Retry()
	case h.actors[k] != nil:
		return sessionInUse(a.id)
	case h.limits.MaxSessionsPerOwner > 0 && h.liveCount(a.owner) >= h.limits.MaxSessionsPerOwner:
		return Errorf(CodeCapacity, "you have %d live sessions here, as many as one caller may (max_sessions_per_owner)", h.limits.MaxSessionsPerOwner).
			WithHint("Close one (list {kind: \"sessions\", live: true}).").WithDetail("limit", "max_sessions_per_owner").Retry()
	case h.liveCount(AllOwners) >= h.limits.MaxSessions:
		return Errorf(CodeCapacity, "this server runs its %d sessions (max_sessions)", h.limits.MaxSessions).
			WithHint("Close one (list {kind: \"sessions\", live: true}), or raise --max-sessions.").WithDetail("limit", "max_sessions").Retry()
	}
	if conv := conversation(cfg); conv != "" && !cfg.Fork {
		if other, ok := h.convs[conv]; ok && other != k {
			return Errorf(CodeSessionInUse, "the provider conversation %s is open in another session", cfg.ProviderSesID).
				WithHint("Close that session first, or use fork: true.")
		}
		h.convs[conv] = k
	}
	h.actors[k] = a
	h.run(a)
	return nil
}

func conversation(cfg SessionConfig) string {
	if cfg.ProviderSesID == "" {
		return ""
	}
	return cfg.Provider + "\x00" + cfg.ProviderSesID
}

// liveCount counts what holds a place: an owner's sessions, or all, that are
// not at rest.
func (h *Harness) liveCount(owner string) int {
	n := 0
	for k, a := range h.actors {
		if owner != AllOwners && k.owner != owner {
			continue
		}
		if a.view.Load().state.Status().Live() {
			n++
		}
	}
	return n
}

func sessionInUse(id string) *Error {
	return Errorf(CodeSessionInUse, "session %s exists and is live", id).
		WithHint("Use it with send_message, or choose another session_id.")
}

// claimID checks a chosen id against what is live and stored, and makes one
// when none was chosen. replace says that a stored session goes when the new
// one is ready; it is held until then, and given back if that never comes.
func (h *Harness) claimID(ctx context.Context, c Caller, cfg *SessionConfig, reuse Reuse) (replace bool, giveBack func(), err error) {
	none := func() {}
	if cfg.SessionID == "" {
		cfg.SessionID = NewID(PrefixSession)
		return false, none, nil
	}
	id := cfg.SessionID
	v, err := h.sessionView(ctx, c.Owner, id)
	if CodeOf(err) == CodeNotFound {
		return false, none, nil
	}
	if err != nil {
		return false, none, err
	}
	st := v.Session.Status
	switch {
	case st.Live():
		return false, none, sessionInUse(id).WithDetail("session", v)
	case reuse == ReuseReplace, reuse == ReuseClosed && st == StatusClosed:
		sctx, cancel := h.short(ctx)
		defer cancel()
		rec, err := h.store.Session(sctx, c.Owner, id)
		if err != nil {
			return false, none, storeError(err)
		}
		_, giveBack, err := h.hold(ctx, rec)
		return true, giveBack, err
	}
	return false, none, Errorf(CodeSessionUsed, "session %s was used before and is %s", id, st).
		WithHint("Continue it with resume: %q, or take the id over with reuse: \"replace\".", id).WithDetail("session", v)
}

// forkFrom lets a new session branch off one of ours.
func (h *Harness) forkFrom(ctx context.Context, c Caller, r StartRequest, cfg *SessionConfig) error {
	if r.Resume == "" {
		if cfg.ProviderSesID == "" {
			return Errorf(CodeInvalidArgument, "fork needs resume or provider_session_id").WithHint("Say which conversation to branch off.")
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
		return Errorf(CodeInvalidArgument, "session %s has no turn yet, so there is nothing to branch off", id).WithHint("Start a new session instead.")
	}
	cfg.Provider = firstOf(cfg.Provider, v.Session.Provider)
	cfg.CWD = firstOf(cfg.CWD, v.Session.CWD)
	cfg.Model = firstOf(cfg.Model, v.Session.Model)
	if cfg.Provider != v.Session.Provider {
		return Errorf(CodeInvalidArgument, "session %s is of provider %s", id, v.Session.Provider).WithHint("Leave provider out.")
	}
	cfg.ProviderSesID, cfg.Fork, cfg.ForkedFrom = v.Session.ProviderSessionID, true, id
	return nil
}

// resumeSession opens an ended or unavailable session again, under the same id
// and journal. If that fails, nothing has changed.
func (h *Harness) resumeSession(ctx context.Context, c Caller, r StartRequest, k *KeyRecord) (SessionView, error) {
	id, err := h.sessionOf(ctx, c.Owner, r.Resume)
	if err != nil {
		return SessionView{}, err
	}
	for {
		v, err := h.sessionView(ctx, c.Owner, id)
		if err != nil {
			return SessionView{}, err
		}
		if v.Session.Status.Live() {
			return SessionView{}, sessionInUse(id).WithDetail("session", v)
		}
		v, err = h.reopen(ctx, c, r, id, k)
		if errors.Is(err, errRetired) {
			continue
		}
		return v, err
	}
}

func (h *Harness) reopen(ctx context.Context, c Caller, r StartRequest, id string, k *KeyRecord) (SessionView, error) {
	unlock, err := h.reviving.lock(ctx, key{c.Owner, id})
	if err != nil {
		return SessionView{}, err
	}
	defer unlock()
	sctx, cancel := h.short(ctx)
	rec, err := h.store.Session(sctx, c.Owner, id)
	cancel()
	if err != nil {
		return SessionView{}, storeError(err)
	}
	cfg, err := resumeConfig(rec, r.Config)
	if err != nil {
		return SessionView{}, err
	}
	if _, _, err := h.checkConfig(&cfg); err != nil {
		return SessionView{}, err
	}
	if rec.Session.TurnsBegun > 0 {
		cfg.ProviderSesID = rec.Session.ProviderSessionID
		if t, _ := h.providers[cfg.Provider].Spec().Transport(cfg.Transport); !t.Capabilities.Resume.OK() {
			return SessionView{}, Errorf(CodeCapability, "provider %s cannot resume a conversation", cfg.Provider).WithHint("Start a new session.")
		}
	}
	cfg.Fingerprint = h.fingerprint(cfg)
	// A session that waits here for its store is at rest, and hosted.
	rec, giveBack, err := h.hold(ctx, rec)
	if err != nil {
		return SessionView{}, err
	}
	a, err := h.revive(ctx, rec, cfg)
	if err != nil {
		giveBack()
		return SessionView{}, err
	}
	token := h.token()
	v, err := h.await(context.WithoutCancel(ctx), a, token, inResume{Token: token, Config: cfg, Key: k, Warnings: append(h.sharedCheckout(ctx, cfg), r.Warnings...)})
	if err != nil {
		giveBack()
	}
	return v, err
}

// resumeConfig joins the stored settings with what the caller gives anew. What
// is never stored must be given again, so that a resumed session is not more
// or less than it was without its caller saying so.
func resumeConfig(rec SessionRecord, given SessionConfig) (SessionConfig, error) {
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
		return cfg, Errorf(CodeConfigMissing, "session %s was started with settings that are not stored: %s", rec.Session.ID, strings.Join(missing, ", ")).
			WithHint("Give them again: env values, mcp_servers, skills and provider_options are never kept.").WithDetail("missing", missing)
	}
	cfg.Env, cfg.MCPServers, cfg.Skills, cfg.ProviderOptions = given.Env, given.MCPServers, given.Skills, given.ProviderOptions
	if given.Provider != "" && given.Provider != cfg.Provider {
		return cfg, Errorf(CodeInvalidArgument, "session %s is of provider %s", rec.Session.ID, cfg.Provider).WithHint("Leave provider out of a resume.")
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
	cfg.Timeouts = cfg.Timeouts.over(given.Timeouts)
	return cfg, nil
}

// over gives t with the fields that o sets.
func (t Timeouts) over(o Timeouts) Timeouts {
	set := func(d *time.Duration, v time.Duration) {
		if v != 0 {
			*d = v
		}
	}
	set(&t.Startup, o.Startup)
	set(&t.TurnStart, o.TurnStart)
	set(&t.ProviderCommand, o.ProviderCommand)
	set(&t.Interrupt, o.Interrupt)
	set(&t.ProviderStop, o.ProviderStop)
	set(&t.TurnRuntime, o.TurnRuntime)
	set(&t.TurnIdle, o.TurnIdle)
	set(&t.SessionIdle, o.SessionIdle)
	set(&t.Request, o.Request)
	return t
}

// checkConfig completes a configuration and refuses what cannot be had, before
// anything is opened.
func (h *Harness) checkConfig(cfg *SessionConfig) (Provider, Capabilities, error) {
	var none Capabilities
	p, ok := h.providers[cfg.Provider]
	if !ok {
		return nil, none, Errorf(CodeProviderUnknown, "there is no provider %q", cfg.Provider).
			WithHint("Providers: %s. list_providers shows which are ready.", strings.Join(h.names, ", ")).WithDetail("providers", h.names)
	}
	t, ok := p.Spec().Transport(cfg.Transport)
	if !ok {
		return nil, none, Errorf(CodeOption, "provider %s has no transport %q", cfg.Provider, cfg.Transport).
			WithHint("list_providers {provider: %q} shows them.", cfg.Provider)
	}
	cfg.Transport = t.Name
	fillModes(cfg, h.limits.AnswerByUser)
	if err := checkModes(*cfg, t); err != nil {
		return nil, none, err
	}
	if err := checkCapabilities(*cfg, t.Capabilities); err != nil {
		return nil, none, err
	}
	if err := checkOptions(*cfg, p.Spec()); err != nil {
		return nil, none, err
	}
	if err := h.checkSchema(cfg.OutputSchema); err != nil {
		return nil, none, err
	}
	if err := h.checkDirs(cfg); err != nil {
		return nil, none, err
	}
	cfg.Timeouts = cfg.Timeouts.fill()
	cfg.EnvNames = slices.Sorted(maps.Keys(cfg.Env))
	cfg.MCPNames = slices.Sorted(maps.Keys(cfg.MCPServers))
	cfg.SkillNames = cfg.Skills
	cfg.OptionNames = slices.Sorted(maps.Keys(cfg.ProviderOptions))
	return p, t.Capabilities, nil
}

func fillModes(cfg *SessionConfig, byUser bool) {
	def := func(dst *string, v string) {
		if *dst == "" {
			*dst = v
		}
	}
	def((*string)(&cfg.ApprovalMode), string(ApprovalDefault))
	def((*string)(&cfg.SandboxMode), string(SandboxDefault))
	def((*string)(&cfg.EnvMode), string(EnvOverlay))
	def((*string)(&cfg.AnswerBy), string(AnswerByCaller))
	if byUser {
		cfg.AnswerBy = AnswerByUser
	}
}

func checkModes(cfg SessionConfig, t TransportSpec) error {
	bad := func(what, got string, have string) error {
		return Errorf(CodeOption, "provider %s cannot do %s %q", cfg.Provider, what, got).WithHint("It can do: %s.", have)
	}
	if cfg.ApprovalMode != ApprovalDefault && !slices.Contains(t.Approval, cfg.ApprovalMode) {
		return bad("approval_mode", string(cfg.ApprovalMode), join(t.Approval))
	}
	if cfg.SandboxMode != SandboxDefault && !slices.Contains(t.Sandbox, cfg.SandboxMode) {
		return bad("sandbox_mode", string(cfg.SandboxMode), join(t.Sandbox))
	}
	if cfg.ReasoningEffort != "" && !slices.Contains(t.Efforts, cfg.ReasoningEffort) {
		return bad("reasoning_effort", cfg.ReasoningEffort, firstOf(join(t.Efforts), "none"))
	}
	if cfg.EnvMode != EnvOverlay && cfg.EnvMode != EnvReplace {
		return Errorf(CodeInvalidArgument, "env_mode is overlay or replace, not %q", cfg.EnvMode)
	}
	if cfg.AnswerBy != AnswerByCaller && cfg.AnswerBy != AnswerByUser {
		return Errorf(CodeInvalidArgument, "answer_by is caller or user, not %q", cfg.AnswerBy)
	}
	return nil
}

func checkCapabilities(cfg SessionConfig, c Capabilities) error {
	for _, w := range []struct {
		wanted  bool
		support Support
		what    string
	}{
		{len(cfg.MCPServers) > 0, c.PerSessionMCP, "take mcp_servers"},
		{len(cfg.Skills) > 0, c.Skills, "take skills"},
		{len(cfg.OutputSchema) > 0, c.StructuredOutput, "follow an output_schema"},
		{cfg.ProviderSesID != "" && !cfg.Fork, c.Resume, "resume a conversation"},
		{cfg.Fork, c.Fork, "fork a conversation"},
	} {
		if w.wanted && !w.support.OK() {
			return Errorf(CodeCapability, "provider %s cannot %s", cfg.Provider, w.what).
				WithHint("list_providers {provider: %q} shows what it can do.", cfg.Provider)
		}
	}
	return nil
}

func checkOptions(cfg SessionConfig, spec Spec) error {
	var unknown, known []string
	for _, o := range spec.Options {
		known = append(known, o.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.ProviderOptions)) {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return Errorf(CodeOption, "provider %s has no provider_options %s", cfg.Provider, strings.Join(unknown, ", ")).
		WithHint("It has: %s.", firstOf(strings.Join(known, ", "), "none"))
}

// checkDirs makes the directories absolute, checks that they exist and keeps
// them inside the allowed ones, symbolic links resolved.
func (h *Harness) checkDirs(cfg *SessionConfig) error {
	cwd, err := h.dir("cwd", cfg.CWD)
	if err != nil {
		return err
	}
	cfg.CWD = cwd
	dirs := make([]string, len(cfg.AddDirs))
	for i, d := range cfg.AddDirs {
		if dirs[i], err = h.dir("add_dirs", d); err != nil {
			return err
		}
	}
	if len(dirs) > 0 {
		cfg.AddDirs = dirs
	}
	return nil
}

func (h *Harness) dir(field, path string) (string, error) {
	abs, err := filepath.Abs(path) // "" is the server's own directory
	if err == nil {
		var st os.FileInfo
		if st, err = os.Stat(abs); err == nil && !st.IsDir() {
			err = errors.New("it is not a directory")
		}
	}
	if err != nil {
		return "", Errorf(CodeInvalidArgument, "%s %q cannot be used: %w", field, path, plainPathError(err)).
			WithHint("Give the absolute path of a directory that exists on the server's machine.").WithDetail("field", field)
	}
	if len(h.limits.AllowDirs) == 0 {
		return abs, nil
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil && slices.ContainsFunc(h.limits.AllowDirs, func(allowed string) bool { return within(allowed, real) }) {
		return abs, nil
	}
	return "", Errorf(CodeForbiddenPath, "%s %q is outside the allowed directories", field, path).
		WithHint("Allowed: %s (--allow-dir).", strings.Join(h.limits.AllowDirs, ", "))
}

// plainPathError keeps the reason of a path error and leaves the call out.
func plainPathError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// within says whether path lies in dir, links resolved.
func within(dir, path string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(real, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
