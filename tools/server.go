package tools

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Options configure the MCP surface of a server. The zero value is usable.
type Options struct {
	// Version is the server's version; "" means "devel".
	Version string
	// Wait is how long await and delegate wait when a call sets no time. It should
	// be below one minute, the time-out of many clients. Zero is DefaultWait.
	Wait time.Duration
	// Core limits the server to the tools of delegation, for clients whose
	// models pay for every tool.
	Core bool
	// Owner returns the caller of a call; nil means the owner LocalOwner.
	Owner func(ctx context.Context) core.Caller
	// Telemetry is notified of calls; nil means none.
	Telemetry core.Telemetry
	// Logger receives what callers are not shown; nil discards it.
	Logger *slog.Logger
	// Compat adds the tools of another server for its clients: CompatCodex, or
	// "" for none.
	Compat string
	// AnswerByUser is set when core.Limits.AnswerByUser is: callers are not
	// advised to answer requests themselves.
	AnswerByUser bool
}

// LocalOwner is the owner of everything on stdio and on a Unix socket.
const LocalOwner = "local"

// surface is what all calls of one server share. It does not change after
// newSurface.
type surface struct {
	h      backend
	opts   Options
	names  map[string]bool
	signer stateSigner
}

// harness is the part of harness.Harness that the tools use.
type backend interface {
	StartSession(context.Context, core.Caller, core.StartRequest) (core.SessionView, error)
	SendMessage(context.Context, core.Caller, core.SendRequest) (core.Turn, error)
	FollowUp(context.Context, core.Caller, core.SendRequest) (core.Turn, error)
	Steer(context.Context, core.Caller, core.SteerRequest) (core.Turn, error)
	Respond(context.Context, core.Caller, core.RespondRequest) (core.Request, error)
	AskUser(context.Context, core.Caller, core.AskRequest) (core.Request, error)
	Interrupt(context.Context, core.Caller, core.InterruptRequest) (core.InterruptResult, error)
	Configure(context.Context, core.Caller, core.ConfigureRequest) (core.SessionView, error)
	Close(context.Context, core.Caller, core.CloseRequest) (core.Resource, error)
	AfterTask(ctx context.Context, c core.Caller, id string) (core.SessionView, error)
	Get(ctx context.Context, owner, id string) (core.Resource, error)
	TurnText(ctx context.Context, t core.Turn, offset, max int) (text string, total int, err error)
	Await(context.Context, core.Caller, core.AwaitRequest) (core.AwaitResult, error)
	Replay(ctx context.Context, owner string, r core.ReplayRequest) (core.ReplayPage, error)
	List(ctx context.Context, owner string, r core.ListRequest) (core.ListResult, error)
	Prune(context.Context, core.Caller, core.PruneRequest) ([]string, error)
	StartProcess(context.Context, core.Caller, core.StartProcessRequest) (core.ProcessSnapshot, error)
	SendInput(context.Context, core.Caller, core.InputRequest) (core.InputResult, error)
	Providers(ctx context.Context, name string, refresh bool) ([]core.ProviderInfo, error)
	ProviderSpec(name string) core.Spec
	Watch(ch chan<- struct{}) (stop func())
	WatchProcess(owner, id string, ch chan<- struct{}) (stop func(), ok bool)
}

var _ backend = (*harness.Harness)(nil)

// NewServer returns an MCP server with the tools, resources and prompts over h,
// for a transport. It may serve many clients concurrently.
func NewServer(h *harness.Harness, opts Options) *server.MCPServer { return newServer(h, opts) }

func newServer(h backend, opts Options) *server.MCPServer {
	s := newSurface(h, opts)
	hooks := new(server.Hooks)
	hooks.AddAfterListResources(s.listLive)
	u := newResourceUpdates(s)
	u.addHooks(hooks)
	srv := server.NewMCPServer("harness-mcp", s.opts.Version,
		server.WithHooks(hooks),
		server.WithTitle("Coding agents"),
		server.WithInstructions(instructions(s.opts)),
		server.WithToolCapabilities(false),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(false),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{s}),
		server.WithResourceCompletionProvider(completer{s}),
		server.WithCacheHints(toolListTTL, mcp.CacheScopePrivate),
	)
	for _, e := range s.entries() {
		srv.AddTool(e.tool, e.handler)
	}
	u.srv = srv
	s.addResources(srv)
	addPrompts(srv)
	return srv
}

func newSurface(h backend, opts Options) *surface {
	if opts.Wait == 0 {
		opts.Wait = DefaultWait
	}
	if opts.Version == "" {
		opts.Version = "devel"
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Owner == nil {
		opts.Owner = func(context.Context) core.Caller { return core.Caller{Owner: LocalOwner} }
	}
	s := &surface{h: h, opts: opts, names: map[string]bool{}, signer: stateSigner{key: make([]byte, 32)}}
	_, _ = rand.Read(s.signer.key) // never fails
	for _, e := range s.entries() {
		s.names[e.tool.Name] = true
	}
	return s
}

// coreTools are the tools of a server with Options.Core.
var coreTools = map[string]bool{
	"list_providers": true, "start_session": true, "send_message": true, "follow_up": true, "await": true,
	"respond": true, "interrupt": true, "delegate": true, "replay": true, "close": true,
}

// entries returns the tools of the server. A new tool is one line here and one
// file.
func (s *surface) entries() []entry {
	all := []entry{
		define(s, delegateTool),
		define(s, listProvidersTool),
		define(s, startSessionTool),
		define(s, sendMessageTool),
		define(s, followUpTool),
		define(s, steerTool),
		define(s, awaitTool),
		define(s, respondTool),
		define(s, interruptTool),
		define(s, configureTool),
		define(s, replayTool),
		define(s, inspectTool),
		define(s, listTool),
		define(s, closeTool),
		define(s, pruneTool),
		define(s, startProcessTool),
		define(s, sendInputTool),
	}
	if s.opts.Core {
		all = slices.DeleteFunc(all, func(e entry) bool { return !coreTools[e.tool.Name] })
	}
	if s.opts.Compat == CompatCodex {
		all = append(all, define(s, codexTool), define(s, codexReplyTool))
	}
	return all
}

// offers reports whether the server has a tool.
func (s *surface) offers(tool string) bool { return s.names[tool] }

// IsControl reports whether calls of the tool must never wait for other calls:
// it unblocks or ends them.
func IsControl(tool string) bool {
	switch tool {
	case "respond", "interrupt", "close":
		return true
	}
	return false
}
