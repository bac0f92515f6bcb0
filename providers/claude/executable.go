package claude

import (
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// executable is a Claude Code that was found.
type executable struct {
	path     string   // what to start
	searched []string // directories
}

// find looks for Claude Code, whose npm package and installer both put the
// native program itself into PATH.
//
// The error is CodeProviderNotReady.
func (p *provider) find() (executable, error) {
	name := p.opts.Exec
	if name == "" {
		name = "claude"
	}
	path, searched, err := process.LookPath(name, slices.Concat(p.opts.PathDirs, process.DefaultDirs()))
	if err != nil {
		return executable{searched: searched}, core.Errorf(core.CodeProviderNotReady, "the claude command was not found: %w", err).
			WithHint("Install it: %s, or name its directory with --path-dir.", install).WithDetail("searched", searched)
	}
	return executable{path: path, searched: searched}, nil
}
