package codex

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/workspace"
)

// Name is the provider's name in list_providers and start_session.
const Name = "codex"

// transport is the only transport of this provider.
const transport = "app-server"

const install = "npm install -g @openai/codex"

// login is what a person runs to sign in.
const login = "codex login"

// Options are how the agent is found and started.
type Options = link.Options

type provider struct{ Options }

// New returns the provider. It does no I/O.
func New(o Options) core.Provider { return &provider{o} }

// Spec describes what Codex can do by this adapter.
func (p *provider) Spec() core.Spec {
	return core.Spec{
		Name: Name, Title: "OpenAI Codex", Install: install, Login: login, Options: options,
		Transports: []core.TransportSpec{{
			Name: transport, Default: true,
			Capabilities: core.Capabilities{
				TokenStreaming: core.Native,
				Questions:      core.Experimental, // outside plan mode Codex has them behind a feature switch
				Approvals:      core.Native, Interrupt: core.Native, Steer: core.Native,
				Resume: core.Native, Fork: core.Native, Configure: core.Native, PerSessionMCP: core.Native,
				Skills: core.Native, Attachments: core.Native, StructuredOutput: core.Native,
			},
			Approval: []core.ApprovalMode{core.ApprovalDefault, core.ApprovalPrompt, core.ApprovalAutoEdit, core.ApprovalAuto},
			Sandbox:  []core.SandboxMode{core.SandboxDefault, core.SandboxReadOnly, core.SandboxWorkspaceWrite, core.SandboxUnrestricted},
			Efforts:  []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"},
		}},
	}
}

// Open starts `codex app-server` and a thread in it.
func (p *provider) Open(ctx context.Context, cfg core.SessionConfig) (core.Conn, error) {
	if err := link.CheckTransport(Name, transport, cfg); err != nil {
		return nil, err
	}
	o, bad := newOpening(cfg)
	if bad != nil {
		return nil, bad
	}
	env := process.Environ(os.Environ(), cfg.Env, cfg.UnsetEnv, cfg.EnvMode == core.EnvReplace)
	if o.subscription {
		if env, bad = subscriptionEnv(env); bad != nil {
			return nil, bad
		}
	}
	exe, err := p.find()
	if err != nil {
		return nil, err
	}
	child, err := link.Start(ctx, p.Runner, process.Spec{
		Path: exe.Path, Args: arguments, Dir: cfg.CWD, Resource: cfg.SessionID, Env: quiet(env),
	}, Name, "Install it: "+install, link.Secrets(cfg)...)
	if err != nil {
		return nil, err
	}
	c := newConn(child, newTranslator(newSettings(cfg)), p.Log(Name).With("session", cfg.SessionID))
	if exe.shim {
		c.Opened.Warnings = append(c.Opened.Warnings, "Codex's native program was not found beside its Node launcher; the launcher is used.")
	}
	if err := c.open(ctx, o); err != nil {
		link.Abandon(c)
		return nil, err
	}
	return c, nil
}

// arguments start the server on stdin and stdout. Questions outside plan mode
// are a feature that Codex calls unstable, and warns of, unless it is set not
// to.
var arguments = []string{
	"app-server",
	"-c", "features.default_mode_request_user_input=true",
	"-c", "suppress_unstable_features_warning=true",
}

// quiet limits Codex's log on stderr to errors, unless the caller wants more.
func quiet(env []string) []string {
	if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "RUST_LOG=") }) {
		return env
	}
	return append(env, "RUST_LOG=error")
}

// guarded are the names in a workspace that Codex's sandbox keeps read-only: an
// edit there is always asked about.
var guarded = []string{".git", ".codex", ".agents"}

func newSettings(cfg core.SessionConfig) settings {
	dirs := append([]string{cfg.CWD}, cfg.AddDirs...)
	return settings{
		modes:   modes{cfg.ApprovalMode, cfg.SandboxMode}.normal(),
		effort:  cfg.ReasoningEffort,
		addDirs: cfg.AddDirs,
		schema:  cfg.OutputSchema,
		inside:  func(path string) bool { return workspace.Inside(path, dirs, guarded) },
	}
}
