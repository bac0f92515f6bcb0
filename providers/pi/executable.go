package pi

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// executable is a Pi that was found.
type executable struct {
	path     string   // what to start
	args     []string // before its own arguments
	searched []string // directories
}

// find looks for Pi. npm puts a script for Node into PATH; where a Node lies
// beside it, it is that Node that the script was installed for, whatever other
// one PATH may lead to.
//
// The error is CodeProviderNotReady.
func (p *provider) find() (executable, error) {
	name := p.opts.Exec
	if name == "" {
		name = "pi"
	}
	path, searched, err := process.LookPath(name, slices.Concat(p.opts.PathDirs, process.DefaultDirs()))
	exe := executable{path: path, searched: searched}
	if err != nil {
		return exe, core.Errorf(core.CodeProviderNotReady, "the pi command was not found: %w", err).
			WithHint("Install it: %s, or name its directory with --path-dir.", install).WithDetail("searched", searched)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasSuffix(real, ".js") {
		return exe, nil
	}
	node := filepath.Join(filepath.Dir(path), "node")
	if info, err := os.Stat(node); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		exe.path, exe.args = node, []string{real}
	}
	return exe, nil
}
