// Package providers lists the agents that this build knows. Each lives in a
// package of its own and translates between one CLI's protocol and core's ops
// and notices; none knows MCP, SQLite or another provider. Adding one is a
// folder and a line in own.
package providers

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/acp"
	"github.com/harness-mcp/harness-mcp/providers/claude"
	"github.com/harness-mcp/harness-mcp/providers/codex"
	"github.com/harness-mcp/harness-mcp/providers/demo"
	"github.com/harness-mcp/harness-mcp/providers/pi"
)

// Options are what all providers have in common.
type Options struct {
	Runner   process.Runner // where agents run
	PathDirs []string       // where to look for executables after PATH
	Logger   *slog.Logger
	Config   Config // zero: the known agents as they are
}

// Config is the content of a provider configuration file.
type Config struct {
	agents []acp.Agent
}

// ReadConfig reads a provider configuration file, which changes agents that
// speak the Agent Client Protocol and adds others. "" is no file.
func ReadConfig(path string) (Config, error) {
	if path == "" {
		return Config{}, nil
	}
	agents, err := acp.ReadConfig(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading --provider-config: %w", err)
	}
	own := own(Options{})
	for _, a := range agents {
		if slices.ContainsFunc(own, func(p core.Provider) bool { return p.Spec().Name == a.Name }) {
			return Config{}, fmt.Errorf("reading --provider-config: %s is the name of a provider that is no ACP agent", a.Name)
		}
	}
	return Config{agents: agents}, nil
}

// All returns every provider.
func All(o Options) []core.Provider {
	list := own(o)
	agents := o.Config.agents
	if agents == nil {
		agents = acp.Agents()
	}
	for _, a := range agents {
		list = append(list, acp.New(a, acp.Options{Runner: o.Runner, PathDirs: o.PathDirs, Logger: o.Logger}))
	}
	return list
}

// own returns the providers with a package of their own.
func own(o Options) []core.Provider {
	return []core.Provider{
		claude.New(claude.Options{Runner: o.Runner, PathDirs: o.PathDirs, Logger: o.Logger}),
		codex.New(codex.Options{Runner: o.Runner, PathDirs: o.PathDirs, Logger: o.Logger}),
		demo.New(demo.Options{}),
		pi.New(pi.Options{Runner: o.Runner, PathDirs: o.PathDirs, Logger: o.Logger}),
	}
}
