package pi

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// find looks for Pi. npm puts a script for Node into PATH; where a Node is
// beside it, the script was installed for that Node, whatever other one is in
// PATH.
//
// The error is CodeProviderNotReady.
func (p *provider) find() (link.Executable, error) {
	exe, err := p.Find("pi", "Install it: "+install)
	if err != nil {
		return exe, err
	}
	real, err := filepath.EvalSymlinks(exe.Path)
	if err != nil || !strings.HasSuffix(real, ".js") {
		return exe, nil
	}
	node := filepath.Join(filepath.Dir(exe.Path), "node")
	if info, err := os.Stat(node); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		exe.Path, exe.Args = node, []string{real}
	}
	return exe, nil
}
