package pi

import (
	"context"
	"log/slog"
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

// transport is the one way in which Pi is spoken to.
const transport = "rpc"

const install = "npm install -g @earendil-works/pi-coding-agent"

// login is what a person runs to sign in.
const login = "pi auth login PROVIDER"

// Options say how Pi is found and started.
type Options struct {
	Runner   process.Runner // where it runs; required
	Exec     string         // the executable, instead of a search for "pi"
	PathDirs []string       // directories to search after PATH
	Logger   *slog.Logger   // nil: the default one
}

type provider struct {
	opts Options
	log  *slog.Logger
}

// New makes the provider. It does no I/O.
func New(opts Options) core.Provider {
	p := &provider{opts: opts, log: opts.Logger}
	if p.log == nil {
		p.log = slog.Default()
	}
	p.log = p.log.With("provider", Name)
	return p
}

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
				// Pi has no word for it.
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
	if cfg.Transport != "" && cfg.Transport != transport {
		return nil, core.Errorf(core.CodeOption, "pi has no transport %q", cfg.Transport).WithHint("Use %s.", transport)
	}
	args, bad := flags(cfg)
	if bad != nil {
		return nil, bad
	}
	exe, err := p.find()
	if err != nil {
		return nil, err
	}
	dir, bad := newWorkdir()
	if bad != nil {
		return nil, bad
	}
	c, err := p.start(ctx, exe, args, cfg, dir)
	if err != nil {
		dir.remove()
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
func (p *provider) start(ctx context.Context, exe executable, args []string, cfg core.SessionConfig, dir workdir) (*conn, error) {
	// Nobody else can know it, so nobody else's dialog is taken for the gate's.
	channel := "harness-mcp-gate-" + uuid.NewString()
	files, bad := dir.files(cfg, channel)
	if bad != nil {
		return nil, bad
	}
	child, err := link.Start(ctx, p.opts.Runner, process.Spec{
		Path: exe.path, Args: slices.Concat(exe.args, args, files), Dir: cfg.CWD, Resource: cfg.SessionID,
		Env: quiet(process.Environ(os.Environ(), cfg.Env, cfg.UnsetEnv, cfg.EnvMode == core.EnvReplace)),
	}, Name, "Install it: "+install+".", link.Secrets(cfg)...)
	if err != nil {
		return nil, err
	}
	dirs := append([]string{cfg.CWD}, cfg.AddDirs...)
	t := newTranslator(settings{mode: cfg.ApprovalMode, effort: cfg.ReasoningEffort, channel: channel,
		inside: func(path string) bool { return workspace.Inside(path, dirs, guarded) }})
	return newConn(child, t, p.log.With("session", cfg.SessionID), dir.remove), nil
}

// guarded are directories of a workspace whose files run or are obeyed later:
// an edit there is always asked about.
var guarded = []string{".git", ".pi", ".agents", ".claude", ".codex"}

// quiet keeps Pi from looking for its own updates and from telling its makers
// about this installation, unless the caller wants it to.
func quiet(env []string) []string {
	for _, kv := range []string{"PI_SKIP_VERSION_CHECK=1", "PI_TELEMETRY=0"} {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(have string) bool { return strings.HasPrefix(have, name+"=") }) {
			env = append(env, kv)
		}
	}
	return env
}
