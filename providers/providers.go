// Package providers lists the agents that this build knows. Each lives in a
// package of its own and translates between one CLI's protocol and core's ops
// and notices; none knows MCP, SQLite or another provider. Adding one is a
// folder and a line in All.
package providers

import (
	"log/slog"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/claude"
	"github.com/harness-mcp/harness-mcp/providers/codex"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

// Options are what providers need from the house.
type Options struct {
	Runner   process.Runner // where agents run
	PathDirs []string       // where to look for executables after PATH
	Logger   *slog.Logger
}

// All gives every provider.
func All(o Options) []core.Provider {
	return []core.Provider{
		claude.New(claude.Options{Runner: o.Runner, PathDirs: o.PathDirs, Logger: o.Logger}),
		codex.New(codex.Options{Runner: o.Runner, PathDirs: o.PathDirs, Logger: o.Logger}),
		demo.New(demo.Options{}),
	}
}
