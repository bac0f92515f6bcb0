package claude

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// Name is the provider's name in list_providers and start_session.
const Name = "claude"

// transport is the only transport of this provider.
const transport = "stream-json"

const install = "npm install -g @anthropic-ai/claude-code"

// command is in PATH: the npm package and the installer both put the native
// program itself there.
const command = "claude"

// login is what a person runs to sign in.
const login = "claude auth login"

// Options are how the agent is found and started.
type Options = link.Options

type provider struct {
	Options
	grace time.Duration // for the interrupt of a stalled turn
}

// New returns the provider. It does no I/O.
func New(o Options) core.Provider { return &provider{o, stallGrace} }

// Spec describes what Claude Code can do by this adapter.
func (p *provider) Spec() core.Spec {
	return core.Spec{
		Name: Name, Title: "Claude Code", Install: install, Login: login, Options: optionSpecs,
		Transports: []core.TransportSpec{{
			Name: transport, Default: true,
			Capabilities: core.Capabilities{
				TokenStreaming: core.Native, Questions: core.Native, Approvals: core.Native, Interrupt: core.Native,
				Steer:  core.Experimental, // only while a tool is in use
				Resume: core.Native, Fork: core.Native,
				Configure:     core.Native, // model and approval_mode
				PerSessionMCP: core.Native,
				Skills:        core.Emulated, // as a plugin made for the session
				Attachments:   core.Emulated, // named in the prompt; the agent reads them
				// Of a session; a turn cannot have one of its own.
				StructuredOutput: core.Native,
			},
			Approval: []core.ApprovalMode{core.ApprovalDefault, core.ApprovalPrompt, core.ApprovalAutoEdit, core.ApprovalAuto},
			Sandbox:  []core.SandboxMode{core.SandboxDefault, core.SandboxReadOnly, core.SandboxWorkspaceWrite, core.SandboxUnrestricted},
			Efforts:  []string{"low", "medium", "high", "xhigh", "max"},
		}},
	}
}

// Open starts the CLI and a conversation in it.
func (p *provider) Open(ctx context.Context, cfg core.SessionConfig) (core.Conn, error) {
	if err := link.CheckTransport(Name, transport, cfg); err != nil {
		return nil, err
	}
	l, bad := newLaunch(cfg, uuid.NewString)
	if bad != nil {
		return nil, bad
	}
	exe, err := p.Find(command, "Install it: "+install)
	if err != nil {
		return nil, err
	}
	dir, bad := link.NewWorkdir("hmc-") // short, since the CLI puts a socket below it
	if bad != nil {
		return nil, bad
	}
	c, err := p.start(ctx, exe, l, cfg, dir)
	if err != nil {
		dir.Remove()
		return nil, err
	}
	if err := c.open(ctx, l, cfg); err != nil {
		link.Abandon(c)
		return nil, err
	}
	return c, nil
}

// start writes the session's files and starts the CLI. The caller removes dir
// when it fails.
func (p *provider) start(ctx context.Context, exe link.Executable, l launch, cfg core.SessionConfig, dir link.Workdir) (*conn, error) {
	tmp := filepath.Join(dir.Path, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, core.Errorf(core.CodeStartFailed, "no directory for the session's files: %w", err)
	}
	env := environ(os.Environ(), cfg, l.opts, tmp)
	if err := checkRoot(l.mode, env); err != nil {
		return nil, err
	}
	if l.opts.Auth == authSubscription {
		if err := p.checkSubscription(ctx, exe, cfg, l.opts, env); err != nil {
			return nil, err
		}
	}
	args, bad := files(l, cfg, dir)
	if bad != nil {
		return nil, bad
	}
	lock, bad := lockConversation(env, l.session)
	if bad != nil {
		return nil, bad
	}
	child, err := link.Start(ctx, p.Runner, process.Spec{
		Path: exe.Path, Args: args, Dir: cfg.CWD, Resource: cfg.SessionID, Env: env,
	}, Name, "Install it: "+install+".", link.Secrets(cfg)...)
	if err != nil {
		lock.release()
		return nil, err
	}
	t := newTranslator(settings{
		schema: cfg.OutputSchema, effort: cfg.ReasoningEffort, newID: uuid.NewString, exists: existsBelow(cfg.CWD),
		stall: stallTimes{l.opts.Stall, p.grace},
	})
	clean := func() { lock.release(); dir.Remove() }
	return newConn(child, t, p.Log(Name).With("session", cfg.SessionID), clean), nil
}

// files writes what the command line must not show, and returns all arguments.
func files(l launch, cfg core.SessionConfig, dir link.Workdir) ([]string, *core.Error) {
	args := append(append([]string{}, fixed...), l.flags...)
	mcp, err := dir.File("mcp.json", l.mcp)
	if err != nil {
		return nil, err
	}
	if l.opts.StrictMCP || len(cfg.MCPServers) > 0 {
		args = append(args, "--mcp-config", mcp)
	}
	if l.opts.StrictMCP {
		args = append(args, "--strict-mcp-config")
	}
	if l.settings != nil {
		path, err := dir.File("settings.json", l.settings)
		if err != nil {
			return nil, err
		}
		args = append(args, "--settings", path)
	}
	plugins, err := skillPlugins(cfg.Skills, dir)
	if err != nil {
		return nil, err
	}
	for _, path := range plugins {
		args = append(args, "--plugin-dir", path)
	}
	return args, nil
}

// existsBelow reports whether a mention names a file, as seen from cwd.
func existsBelow(cwd string) func(string) bool {
	return func(path string) bool {
		if rest, ok := strings.CutPrefix(path, "~"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return false
			}
			path = home + rest
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		_, err := os.Lstat(path)
		return err == nil
	}
}
