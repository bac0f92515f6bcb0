package claude

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/modelserver"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// Where the real CLIs are: a path, or the one that the Makefile installs. The
// old one is the oldest version that the package registry still serves as a
// default.
const (
	cliVar     = "HARNESS_MCP_TEST_CLAUDE"
	oldVar     = "HARNESS_MCP_TEST_CLAUDE_OLD"
	requireVar = "HARNESS_MCP_REQUIRE_CLIS"
	cliTool    = "../../.tools/claude/node_modules/@anthropic-ai/claude-code-*/claude"
	oldTool    = "../../.tools/claude-2.1.197/node_modules/@anthropic-ai/claude-code-*/claude"
)

// patience is how long a test waits for what has to come.
const patience = conntest.Patience

// realCLI gives the path of a real CLI, or skips the test.
func realCLI(t *testing.T, name, tool string) string {
	t.Helper()
	found, err := filepath.Glob(tool)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append([]string{os.Getenv(name)}, found...) {
		if path == "" {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(abs); err == nil {
			return abs
		}
	}
	why := fmt.Sprintf("this Claude Code CLI is not installed: neither %s nor %s names it", name, tool)
	if os.Getenv(requireVar) == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// onBoth runs a test on the newest and on the oldest CLI, beside others.
func onBoth(t *testing.T, test func(*testing.T, *bench)) {
	t.Helper()
	t.Parallel()
	for name, bench := range map[string]func(*testing.T) *bench{"newest": newBench, "oldest": oldBench} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, bench(t))
		})
	}
}

// bench is a real CLI on a loopback model, with directories of its own.
type bench struct {
	t      *testing.T
	exec   string
	model  *modelserver.Server
	root   string
	work   string
	env    map[string]string
	runner process.Runner
	old    bool
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return benchOf(t, realCLI(t, cliVar, cliTool))
}

func oldBench(t *testing.T) *bench {
	t.Helper()
	b := benchOf(t, realCLI(t, oldVar, oldTool))
	b.old = true
	return b
}

func benchOf(t *testing.T, exec string) *bench {
	t.Helper()
	b := &bench{t: t, exec: exec, root: t.TempDir(), runner: process.NewLocal(process.Options{})}
	model, err := modelserver.Start()
	if err != nil {
		t.Fatal(err)
	}
	b.model = model
	t.Cleanup(func() {
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	b.work = filepath.Join(b.root, "work")
	if err := os.Mkdir(b.work, 0o700); err != nil {
		t.Fatal(err)
	}
	if b.env, err = Loopback(b.root, model.URL()); err != nil {
		t.Fatal(err)
	}
	b.env["PATH"], b.env["LANG"] = os.Getenv("PATH"), "C.UTF-8"
	return b
}

func (b *bench) provider() core.Provider {
	return New(Options{Runner: b.runner, Exec: b.exec})
}

// session is a configuration with an environment that knows nothing of the
// machine's.
func (b *bench) session() core.SessionConfig {
	return core.SessionConfig{SessionID: "ses_test", CWD: b.work, EnvMode: core.EnvReplace, Env: maps.Clone(b.env)}
}

func (b *bench) try(cfg core.SessionConfig) (core.Conn, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	return b.provider().Open(ctx, cfg)
}

func (b *bench) open(cfg core.SessionConfig) *conntest.Recorder {
	b.t.Helper()
	conn, err := b.try(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return conntest.Record(b.t, conn)
}

// script makes an executable that runs a command, under a name that no other
// process on the machine has, and gives its path.
func (b *bench) script(name, command string) string {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+command+"\n"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// running gives the pids of processes whose command line has the words.
func running(words string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, f := range files {
		raw, err := os.ReadFile(f)
		var pid int
		if err == nil && strings.Contains(strings.ReplaceAll(string(raw), "\x00", " "), words) {
			if _, err := fmt.Sscanf(f, "/proc/%d/", &pid); err == nil && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
