package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// Environment variables that name what the public suites run on, where it is
// not below .tools/ of the repository.
const (
	NodeEnv        = "HARNESS_MCP_TEST_NODE"        // a node program, version 22.19 or newer
	ConformanceEnv = "HARNESS_MCP_TEST_CONFORMANCE" // a node_modules with @modelcontextprotocol/conformance
	InspectorEnv   = "HARNESS_MCP_TEST_INSPECTOR"   // a node_modules with @modelcontextprotocol/inspector
)

// Suite is a program of a public suite that judges servers.
type Suite struct {
	t      testing.TB
	node   string
	script string
	home   string
}

// Conformance returns the protocol's own conformance suite. The test is
// skipped, or failed where RequireEnv is 1, if it is missing.
func Conformance(t testing.TB) *Suite {
	t.Helper()
	return suite(t, ConformanceEnv, "conformance", "@modelcontextprotocol/conformance/dist/index.js")
}

// Inspector returns the inspector's command line, found like Conformance.
func Inspector(t testing.TB) *Suite {
	t.Helper()
	return suite(t, InspectorEnv, "inspector", "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
}

func suite(t testing.TB, env, tool, script string) *Suite {
	t.Helper()
	node := os.Getenv(NodeEnv)
	if node == "" {
		found, _ := filepath.Glob(filepath.Join(root(t), ".tools", "node", "node_modules", "node-*", "bin", "node"))
		if len(found) == 0 {
			missing(t, "node 24 is not in .tools/node (make tools installs it; or set "+NodeEnv+")")
		}
		node = found[0]
	}
	dir := os.Getenv(env)
	if dir == "" {
		dir = filepath.Join(root(t), ".tools", tool, "node_modules")
	}
	script = filepath.Join(dir, filepath.FromSlash(script))
	if _, err := os.Stat(script); err != nil {
		missing(t, "the "+tool+" suite is not in "+dir+" (make tools installs it; or set "+env+")")
	}
	return &Suite{t: t, node: node, script: script, home: t.TempDir()}
}

// Run runs the program with a home of its own and returns its output and exit
// code. It may be called by several goroutines.
func (s *Suite) Run(args ...string) (output string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), suiteTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.node, append([]string{s.script}, args...)...)
	cmd.Dir = s.home
	cmd.Env = []string{"PATH=" + filepath.Dir(s.node) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + s.home}
	if runtime.GOOS == "windows" {
		cmd.Env = os.Environ()
	}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		s.t.Errorf("running %s: %v", s.script, err)
		return string(out), -1
	}
	return string(out), cmd.ProcessState.ExitCode()
}
