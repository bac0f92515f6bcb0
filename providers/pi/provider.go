package pi

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/workspace"
)

// Name is the provider's name in list_providers and start_session.
const Name = "pi"

// transport is the only transport of this provider.
const transport = "rpc"

const install = "npm install -g @earendil-works/pi-coding-agent"

// login is what a person runs to sign in.
const login = "pi auth login PROVIDER"

// Options are how the agent is found and started.
type Options = link.Options

type provider struct{ Options }

// New returns the provider. It does no I/O.
func New(o Options) core.Provider { return &provider{o} }

// Spec describes what Pi can do by this adapter.
func (p *provider) Spec() core.Spec {
	return core.Spec{
		Name: Name, Title: "Pi", Install: install, Login: login, Options: options,
		Transports: []core.TransportSpec{{
			Name: transport, Default: true,
			Capabilities: core.Capabilities{
				TokenStreaming: core.Native,
				Questions:      core.Native,   // of extensions; Pi itself asks nothing
				Approvals:      core.Emulated, // by an extension of ours; Pi itself never asks
				Interrupt:      core.Native, Steer: core.Native, Resume: core.Native, Fork: core.Native,
				Configure:     core.Native, // model, reasoning_effort and approval_mode
				PerSessionMCP: core.Unsupported,
				Skills:        core.Native,
				Attachments:   core.Emulated, // named in the prompt; images in content are native
				// Pi has nothing for it.
				StructuredOutput: core.Unsupported,
			},
			Approval: []core.ApprovalMode{core.ApprovalDefault, core.ApprovalPrompt, core.ApprovalAutoEdit, core.ApprovalAuto},
			Sandbox:  []core.SandboxMode{core.SandboxDefault, core.SandboxUnrestricted},
			Efforts:  efforts,
		}},
	}
}

// Open starts `pi --mode rpc` and waits until it can take a prompt.
func (p *provider) Open(ctx context.Context, cfg core.SessionConfig) (core.Conn, error) {
	if err := link.CheckTransport(Name, transport, cfg); err != nil {
		return nil, err
	}
	args, bad := flags(cfg)
	if bad != nil {
		return nil, bad
	}
	exe, err := p.find()
	if err != nil {
		return nil, err
	}
	dir, bad := link.NewWorkdir("harness-mcp-pi-")
	if bad != nil {
		return nil, bad
	}
	c, err := p.start(ctx, exe, args, cfg, dir)
	if err != nil {
		dir.Remove()
		return nil, err
	}
	if err := c.open(ctx, cfg); err != nil {
		link.Abandon(c)
		return nil, err
	}
	return c, nil
}

// start writes the session's files and starts Pi. The caller removes dir when
// it fails.
func (p *provider) start(ctx context.Context, exe link.Executable, args []string, cfg core.SessionConfig, dir link.Workdir) (*conn, error) {
	// No other extension can know it, so no other's dialog is taken for the gate's.
	channel := "harness-mcp-gate-" + uuid.NewString()
	fileArgs, bad := files(dir, cfg, channel)
	if bad != nil {
		return nil, bad
	}
	child, err := link.Start(ctx, p.Runner, process.Spec{
		Path: exe.Path, Args: slices.Concat(exe.Args, args, fileArgs), Dir: cfg.CWD, Resource: cfg.SessionID,
		Env: quiet(process.Environ(os.Environ(), cfg.Env, cfg.UnsetEnv, cfg.EnvMode == core.EnvReplace)),
	}, Name, "Install it: "+install+".", link.Secrets(cfg)...)
	if err != nil {
		return nil, err
	}
	dirs := append([]string{cfg.CWD}, cfg.AddDirs...)
	t := newTranslator(settings{mode: cfg.ApprovalMode, effort: cfg.ReasoningEffort, channel: channel,
		inside: func(path string) bool { return workspace.Inside(path, dirs, guarded) }})
	return newConn(child, t, p.Log(Name).With("session", cfg.SessionID), dir.Remove), nil
}

// guarded are directories of a workspace whose files are executed, or read as
// instructions, later: an edit there is always asked about.
var guarded = []string{".git", ".pi", ".agents", ".claude", ".codex"}

// quiet keeps Pi from looking for its own updates and from reporting this
// installation to its makers, unless the caller wants it to.
func quiet(env []string) []string {
	for _, kv := range []string{"PI_SKIP_VERSION_CHECK=1", "PI_TELEMETRY=0"} {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(have string) bool { return strings.HasPrefix(have, name+"=") }) {
			env = append(env, kv)
		}
	}
	return env
}
