package codex

import (
	"log/slog"

	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// conn is one `codex app-server` with one thread.
type conn struct {
	*link.Conn[link.Frame]
	peer *jsonrpc.Peer
	t    *translator // guarded by Mu
}

// newConn returns the Conn of a Codex that was just started.
func newConn(child process.Child, t *translator, log *slog.Logger) *conn {
	c := &conn{t: t, peer: jsonrpc.NewPeer(child.Stdout(), child.Stdin(), jsonrpc.Options{})}
	c.Conn = link.NewConn(child, log, link.Agent[link.Frame]{
		Name: "Codex", Translator: t, Wire: link.Calls(c.peer, t.message),
	})
	c.Start()
	return c
}
