package pi

import (
	"log/slog"

	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// conn is one `pi --mode rpc` with one conversation. Close ends Pi by the end of
// its input, at which Pi ends its tools and writes its files.
type conn struct {
	*link.Conn[link.Line]
	t *translator // guarded by Mu
}

// refusals are what Pi writes to stderr when it does not start.
var refusals = []string{
	"No session found", "Session not found", "Session found in different project", "Unknown option", "Unknown provider", "No models match", "not found",
	"Invalid thinking level", "does not provide an export named", "Unsupported Node", "requires Node", "Failed to load extension", "No API key found", "No model",
}

// newConn returns the Conn of a Pi that was just started. clean removes the
// files of the session at the end.
func newConn(child process.Child, t *translator, log *slog.Logger, clean func()) *conn {
	c := &conn{t: t, Conn: link.NewConn(child, log, link.Agent[link.Line]{
		Name: "Pi", Translator: t, Wire: link.Lines(child, t.read), Refusals: refusals, Stopped: clean,
	})}
	c.Start()
	return c
}
