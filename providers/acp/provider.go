package acp

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// transport is the only transport of this provider.
const transport = "acp"

// Options are how the agent is found and started.
type Options = link.Options

type provider struct {
	Options
	agent Agent
}

// New returns the provider of one agent. It does no I/O.
func New(a Agent, o Options) core.Provider { return &provider{o, a} }

func or(s, otherwise core.Support) core.Support {
	if s == "" {
		return otherwise
	}
	return s
}

// Spec describes what the agent can do by this adapter. What it declares itself
// is known only when it runs, and is checked then.
func (p *provider) Spec() core.Spec {
	a := p.agent
	auto := core.Emulated
	if a.Can.Model.OK() || len(a.Modes) > 0 {
		auto = core.Native
	}
	return core.Spec{
		Name: a.Name, Title: a.Title, Install: a.Install, Login: a.Login,
		Transports: []core.TransportSpec{{
			Name: transport, Default: true,
			Capabilities: core.Capabilities{
				TokenStreaming: core.Native,
				Questions:      core.Unsupported,
				Approvals:      core.Native,
				Interrupt:      core.Native,
				Steer:          core.Unsupported,
				Resume:         or(a.Can.Resume, core.Experimental),
				Fork:           or(a.Can.Fork, core.Unsupported),
				Configure:      auto,
				PerSessionMCP:  or(a.Can.MCP, core.Experimental),
				Skills:         core.Unsupported,
				Attachments:    or(a.Can.Images, core.Experimental),

				StructuredOutput: core.Unsupported,
			},
			Approval: []core.ApprovalMode{core.ApprovalDefault, core.ApprovalPrompt, core.ApprovalAutoEdit, core.ApprovalAuto},
			Sandbox:  []core.SandboxMode{core.SandboxDefault},
			Efforts:  a.Efforts,
		}},
	}
}

// Open starts the agent and a session in it.
func (p *provider) Open(ctx context.Context, cfg core.SessionConfig) (core.Conn, error) {
	if err := check(p.agent, cfg); err != nil {
		return nil, err
	}
	exe, err := p.find()
	if err != nil {
		return nil, err
	}
	env := process.Environ(os.Environ(), p.environment(cfg), cfg.UnsetEnv, cfg.EnvMode == core.EnvReplace)
	child, err := link.Start(ctx, p.Runner, process.Spec{
		Path: exe.Path, Args: exe.Args, Dir: cfg.CWD, Resource: cfg.SessionID, Env: env,
	}, p.agent.Command[0], p.installHint(), link.Secrets(cfg)...)
	if err != nil {
		return nil, err
	}
	c := newConn(child, p, cfg, env)
	if err := c.open(ctx, cfg); err != nil {
		link.Abandon(c)
		return nil, err
	}
	return c, nil
}

// environment is what overrides the inherited one: the agent's own
// variables, and over them the session's.
func (p *provider) environment(cfg core.SessionConfig) map[string]string {
	all := maps.Clone(p.agent.Env)
	if all == nil {
		all = map[string]string{}
	}
	for _, name := range cfg.UnsetEnv {
		delete(all, name)
	}
	maps.Copy(all, cfg.Env)
	return all
}

// check refuses settings that ACP has nothing for.
func check(a Agent, cfg core.SessionConfig) *core.Error {
	none := func(what, hint string) *core.Error {
		return core.Errorf(core.CodeOption, "%s has no %s over ACP", a.Name, what).WithHint("%s", hint)
	}
	switch {
	case cfg.Transport != "" && cfg.Transport != transport:
		return core.Errorf(core.CodeOption, "%s has no transport %q", a.Name, cfg.Transport).WithHint("Use %s.", transport)
	case cfg.SandboxMode != "" && cfg.SandboxMode != core.SandboxDefault:
		return none("sandbox modes", "Leave sandbox_mode out; approval_mode says what the agent may do unasked.")
	case cfg.SystemPrompt != "":
		return none("system prompt", "Put it into the first prompt, or into the agent's own instruction file.")
	case len(cfg.AllowedTools) > 0 || len(cfg.DisallowedTools) > 0:
		return none("lists of allowed or disallowed tools", "Use approval_mode to limit it.")
	case len(cfg.Skills) > 0:
		return core.Errorf(core.CodeCapability, "%s takes no skills per session", a.Name)
	case len(cfg.OutputSchema) > 0:
		return core.Errorf(core.CodeCapability, "%s has no structured output over ACP", a.Name)
	case len(cfg.ProviderOptions) > 0:
		return core.Errorf(core.CodeOption, "%s has no provider options", a.Name)
	}
	return nil
}

func newSettings(a Agent, cfg core.SessionConfig, g pathGuard) settings {
	mode := cfg.ApprovalMode
	if mode == "" {
		mode = core.ApprovalDefault
	}
	s := settings{agent: a, approval: mode, effort: cfg.ReasoningEffort, inside: g.inside}
	if cfg.Epoch > 1 {
		s.prefix = fmt.Sprintf("%d.", cfg.Epoch)
	}
	return s
}

// directories are those that the agent's client works in.
func directories(cfg core.SessionConfig) []string {
	dirs := append([]string{cfg.CWD}, cfg.AddDirs...)
	return slices.DeleteFunc(dirs, func(d string) bool { return !filepath.IsAbs(d) })
}
