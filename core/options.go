package core

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// option is one part of a SessionConfig. The table below has one row for each:
// what a resume, the stored settings, the fingerprint and the arguments of
// start_session need to know of a part follows from its row.
type option struct {
	// name is the argument of start_session, "" for a part without one.
	name string
	// of returns a pointer to the part.
	of func(*SessionConfig) any
	// resume is which value a resumed session has.
	resume resumeRule
	// names returns where the names of a part with the rule resumeAgain are stored.
	names func(*SessionConfig) *[]string
	// needs returns the capability that the part needs, nil for none; does is
	// what a provider without it cannot do.
	needs func(Capabilities) Support
	does  string
}

// resumeRule is which value a part has in a resumed session.
type resumeRule uint8

const (
	// resumeStored is the stored value of the start.
	resumeStored resumeRule = iota
	// resumeGiven is the value of the resume or, without one, the stored value.
	resumeGiven
	// resumeAgain is the value of the resume. The part may hold secrets and is
	// not stored, so what the session had must be given again.
	resumeAgain
	// resumeFresh is the zero value: the part belongs to one opening.
	resumeFresh
)

// options has every part of a SessionConfig once, but for the lists of names,
// which belong to the rows of what they name.
var options = []option{
	{name: "session_id", of: func(c *SessionConfig) any { return &c.SessionID }},
	{of: func(c *SessionConfig) any { return &c.Owner }},
	{name: "provider", of: func(c *SessionConfig) any { return &c.Provider }},
	{name: "transport", of: func(c *SessionConfig) any { return &c.Transport }, resume: resumeGiven},
	{name: "cwd", of: func(c *SessionConfig) any { return &c.CWD }, resume: resumeGiven},
	{name: "title", of: func(c *SessionConfig) any { return &c.Title }, resume: resumeGiven},
	{name: "model", of: func(c *SessionConfig) any { return &c.Model }, resume: resumeGiven},
	{name: "system_prompt", of: func(c *SessionConfig) any { return &c.SystemPrompt }, resume: resumeGiven},
	{name: "approval_mode", of: func(c *SessionConfig) any { return &c.ApprovalMode }, resume: resumeGiven},
	{name: "sandbox_mode", of: func(c *SessionConfig) any { return &c.SandboxMode }, resume: resumeGiven},
	{name: "reasoning_effort", of: func(c *SessionConfig) any { return &c.ReasoningEffort }, resume: resumeGiven},
	{name: "allowed_tools", of: func(c *SessionConfig) any { return &c.AllowedTools }, resume: resumeGiven},
	{name: "disallowed_tools", of: func(c *SessionConfig) any { return &c.DisallowedTools }, resume: resumeGiven},
	{name: "add_dirs", of: func(c *SessionConfig) any { return &c.AddDirs }, resume: resumeGiven},
	{name: "unset_env", of: func(c *SessionConfig) any { return &c.UnsetEnv }},
	{name: "env_mode", of: func(c *SessionConfig) any { return &c.EnvMode }},
	{name: "metadata", of: func(c *SessionConfig) any { return &c.Metadata }, resume: resumeGiven},
	{name: "answer_by", of: func(c *SessionConfig) any { return &c.AnswerBy }, resume: resumeGiven},

	{name: "startup_timeout_ms", of: func(c *SessionConfig) any { return &c.Timeouts.Startup }, resume: resumeGiven},
	{of: func(c *SessionConfig) any { return &c.Timeouts.TurnStart }, resume: resumeGiven},
	{of: func(c *SessionConfig) any { return &c.Timeouts.ProviderCommand }, resume: resumeGiven},
	{of: func(c *SessionConfig) any { return &c.Timeouts.Interrupt }, resume: resumeGiven},
	{of: func(c *SessionConfig) any { return &c.Timeouts.ProviderStop }, resume: resumeGiven},
	{name: "turn_runtime_timeout_ms", of: func(c *SessionConfig) any { return &c.Timeouts.TurnRuntime }, resume: resumeGiven},
	{name: "turn_idle_timeout_ms", of: func(c *SessionConfig) any { return &c.Timeouts.TurnIdle }, resume: resumeGiven},
	{name: "session_idle_timeout_ms", of: func(c *SessionConfig) any { return &c.Timeouts.SessionIdle }, resume: resumeGiven},
	{name: "request_timeout_ms", of: func(c *SessionConfig) any { return &c.Timeouts.Request }, resume: resumeGiven},

	{name: "env", of: func(c *SessionConfig) any { return &c.Env }, resume: resumeAgain,
		names: func(c *SessionConfig) *[]string { return &c.EnvNames }},
	{name: "mcp_servers", of: func(c *SessionConfig) any { return &c.MCPServers }, resume: resumeAgain,
		names: func(c *SessionConfig) *[]string { return &c.MCPNames },
		needs: func(c Capabilities) Support { return c.PerSessionMCP }, does: "take mcp_servers"},
	{name: "skills", of: func(c *SessionConfig) any { return &c.Skills }, resume: resumeAgain,
		names: func(c *SessionConfig) *[]string { return &c.SkillNames },
		needs: func(c Capabilities) Support { return c.Skills }, does: "take skills"},
	{name: "provider_options", of: func(c *SessionConfig) any { return &c.ProviderOptions }, resume: resumeAgain,
		names: func(c *SessionConfig) *[]string { return &c.OptionNames }},
	{name: "output_schema", of: func(c *SessionConfig) any { return &c.OutputSchema }, resume: resumeGiven,
		needs: func(c Capabilities) Support { return c.StructuredOutput }, does: "follow an output_schema"},

	{of: func(c *SessionConfig) any { return &c.Fingerprint }},
	{of: func(c *SessionConfig) any { return &c.ForkedFrom }},
	{of: func(c *SessionConfig) any { return &c.CloseAtRest }, resume: resumeFresh},
	{name: "provider_session_id", of: func(c *SessionConfig) any { return &c.ProviderSesID }, resume: resumeFresh},
	{name: "fork", of: func(c *SessionConfig) any { return &c.Fork }, resume: resumeFresh},
	{of: func(c *SessionConfig) any { return &c.Epoch }, resume: resumeFresh},
}

// in returns the part of c that the row is about.
func (o option) in(c *SessionConfig) reflect.Value { return reflect.ValueOf(o.of(c)).Elem() }

// isSet reports whether c has a value for the part: an empty list is none.
func (o option) isSet(c *SessionConfig) bool {
	v := o.in(c)
	if k := v.Kind(); k == reflect.Map || k == reflect.Slice {
		return v.Len() > 0
	}
	return !v.IsZero()
}

// SetArgument sets the part of c that the argument name of start_session is
// about, and does nothing when there is none. A *int64 is a timeout in
// milliseconds: nil leaves the default, 0 means no limit.
func (c *SessionConfig) SetArgument(name string, value any) {
	i := slices.IndexFunc(options, func(o option) bool { return o.name == name })
	if i < 0 || name == "" {
		return
	}
	part := options[i].in(c)
	switch ms, timeout := value.(*int64); {
	case !timeout:
		part.Set(reflect.ValueOf(value).Convert(part.Type()))
	case ms == nil:
	case *ms == 0:
		part.SetInt(-1)
	default:
		part.SetInt(*ms * int64(time.Millisecond))
	}
}

// SetDefaults sets what c leaves open. A negative timeout is none.
func (c *SessionConfig) SetDefaults() {
	defaults := SessionConfig{
		ApprovalMode: ApprovalDefault, SandboxMode: SandboxDefault, EnvMode: EnvOverlay, AnswerBy: AnswerByCaller,
		Timeouts: DefaultTimeouts,
	}
	for _, o := range options {
		if part := o.in(c); part.IsZero() {
			part.Set(o.in(&defaults))
		}
	}
}

// NameUnstored stores the names of what is not stored itself, so that a resume
// can name what is missing.
func (c *SessionConfig) NameUnstored() {
	for _, o := range options {
		if o.names != nil {
			*o.names(c) = namesIn(o.in(c))
		}
	}
}

// Unstored returns the parts that are not stored, by their arguments' names.
func (c *SessionConfig) Unstored() map[string]any {
	parts := map[string]any{}
	for _, o := range options {
		if o.resume == resumeAgain {
			parts[o.name] = o.of(c)
		}
	}
	return parts
}

// namesIn returns the items of a list, or the sorted keys of a map.
func namesIn(v reflect.Value) []string {
	if list, ok := v.Interface().([]string); ok {
		return list
	}
	var names []string
	for _, k := range v.MapKeys() {
		names = append(names, k.String())
	}
	slices.Sort(names)
	return names
}

// ResumeConfig returns the settings of a resumed session: the stored ones,
// joined with those of the resume by the rule of each part. A resumed session is
// never more or less restricted than it was without its caller saying so.
//
// Errors: CodeConfigMissing, with the missing names in the detail "missing", and
// CodeInvalidArgument for another provider.
func ResumeConfig(rec SessionRecord, with SessionConfig) (SessionConfig, error) {
	cfg := rec.Launch
	// configure may have changed these since the start.
	cfg.ReasoningEffort, cfg.ApprovalMode, cfg.SandboxMode = rec.Session.ReasoningEffort, rec.Session.ApprovalMode, rec.Session.SandboxMode
	var missing []string
	for _, o := range options {
		part, now := o.in(&cfg), o.in(&with)
		switch o.resume {
		case resumeGiven:
			if !now.IsZero() {
				part.Set(now)
			}
		case resumeAgain:
			have := namesIn(now)
			for _, name := range *o.names(&cfg) {
				if !slices.Contains(have, name) {
					missing = append(missing, name)
				}
			}
			part.Set(now)
		case resumeFresh:
			part.SetZero()
		}
	}
	if len(missing) > 0 {
		return cfg, Errorf(CodeConfigMissing, "session %s was started with settings that are not stored: %s", rec.Session.ID, strings.Join(missing, ", ")).
			WithHint("Give them again: env values, mcp_servers, skills and provider_options are never kept.").WithDetail("missing", missing)
	}
	if with.Provider != "" && with.Provider != cfg.Provider {
		return cfg, Errorf(CodeInvalidArgument, "session %s is of provider %s", rec.Session.ID, cfg.Provider).WithHint("Leave provider out of a resume.")
	}
	return cfg, nil
}

// CheckCapabilities refuses parts of a configuration that a provider does not
// support: CodeCapability.
func CheckCapabilities(cfg SessionConfig, c Capabilities) error {
	refuse := func(what string) error {
		return Errorf(CodeCapability, "provider %s cannot %s", cfg.Provider, what).
			WithHint("list_providers {provider: %q} shows what it can do.", cfg.Provider)
	}
	for _, o := range options {
		if o.needs != nil && o.isSet(&cfg) && !o.needs(c).OK() {
			return refuse(o.does)
		}
	}
	switch {
	case cfg.Fork && !c.Fork.OK():
		return refuse("fork a conversation")
	case cfg.ProviderSesID != "" && !cfg.Fork && !c.Resume.OK():
		return refuse("resume a conversation")
	}
	return nil
}
