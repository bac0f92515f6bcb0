package acp

import (
	"context"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// conn is one agent with one session, and the client that serves its requests
// for files and terminals.
type conn struct {
	*link.Conn[link.Frame]
	agent Agent
	peer  *jsonrpc.Peer
	t     *translator // guarded by Mu
	guard pathGuard
	terms *terminals

	repeated int // messages of a conversation that is repeated; guarded by Mu

	life  context.Context // ends when Close begins
	end   context.CancelFunc
	calls chan struct{}  // one token for each call that a terminal holds up
	work  sync.WaitGroup // those calls
}

// newConn returns the Conn of an agent that was just started.
func newConn(child process.Child, p *provider, cfg core.SessionConfig, env []string) *conn {
	g := newPathGuard(directories(cfg))
	c := &conn{
		agent: p.agent, guard: g, t: newTranslator(newSettings(p.agent, cfg, g)),
		peer:  jsonrpc.NewPeer(child.Stdout(), child.Stdin(), jsonrpc.Options{Version: "2.0"}),
		calls: make(chan struct{}, maxTerminalCalls),
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.terms = &terminals{runner: p.Runner, guard: g, cwd: cfg.CWD, env: env, resource: cfg.SessionID,
		output: c.terminalOutput, ended: c.terminalEnded}
	c.Conn = link.NewConn(child, p.Log(p.agent.Name).With("session", cfg.SessionID), link.Agent[link.Frame]{
		Name: "the agent", Translator: c.t, Wire: link.Calls(c.peer, c.message), After: c.serveAll,
		Stopping: func(context.Context) { c.end() },
		Stopped:  func() { c.terms.close(); c.work.Wait() },
	})
	c.Inbox.SetLimits(link.Limits{}) // keep bounds the opening, when nobody calls Recv
	c.Start()
	return c
}

// message handles one message; Mu is held.
func (c *conn) message(m jsonrpc.Message) {
	if c.keep(m) {
		c.t.message(m)
	}
}

// keep reports whether a message of the opening can be kept; Mu is held. An
// agent that repeats a conversation sends it before anybody calls Recv.
func (c *conn) keep(m jsonrpc.Message) bool {
	if c.t.phase == live || m.Kind != jsonrpc.Notification {
		return true
	}
	c.repeated++
	if c.repeated > maxHistory || c.Inbox.Holds(link.Limits{Count: maxHistory, Bytes: maxHistoryBytes}) {
		c.t.lost++
		return false
	}
	return true
}
