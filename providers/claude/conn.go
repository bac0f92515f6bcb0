package claude

import (
	"context"
	"log/slog"
	"time"

	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// conn is one `claude -p` with one conversation. Close asks the CLI to end the
// session, which aborts a turn, before its input ends.
type conn struct {
	*link.Conn[link.Line]
	t    *translator // guarded by Mu
	wire link.Wire[link.Line]
}

// refusals are what the CLI writes to stderr when it does not start.
var refusals = []string{
	"already in use", "root/sudo privileges", "No conversation found", "requires --verbose", "unknown option", "Invalid MCP configuration",
	"andbox", "Invalid model", "argument missing", "Invalid session ID", "It must be one of", "Allowed choices are",
}

// newConn returns the Conn of a CLI that was just started. clean removes what the
// session has on disk at the end.
func newConn(child process.Child, t *translator, log *slog.Logger, clean func()) *conn {
	c := &conn{t: t, wire: link.Lines(child, t.read)}
	c.Conn = link.NewConn(child, log, link.Agent[link.Line]{
		Name: "Claude Code", Translator: t, Wire: c.wire, Refusals: refusals, Stopping: c.endSession, Stopped: clean,
	})
	c.Start()
	return c
}

// endSession asks the CLI to end, and waits for that until endWait or ctx ends.
func (c *conn) endSession(ctx context.Context) {
	end := link.Line{Value: wire.OutRequest{Type: wire.ControlRequest, RequestID: "end",
		Request: wire.EndRequest{Subtype: wire.EndSession, Reason: "closed"}}}
	if ctx.Err() != nil || c.Child.HasEnded() || c.wire.Post(end, nil) != nil {
		return
	}
	timer := time.NewTimer(endWait)
	defer timer.Stop()
	select {
	case <-c.Child.Done():
	case <-ctx.Done():
	case <-timer.C:
	}
}
