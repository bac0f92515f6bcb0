package claude

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/modelserver"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// Where the real CLIs are: a path, or the one that the Makefile installs. The
// old one is the oldest version that the package registry still serves as a
// default.
const (
	cliVar  = "HARNESS_MCP_TEST_CLAUDE"
	oldVar  = "HARNESS_MCP_TEST_CLAUDE_OLD"
	cliTool = "../../.tools/claude/node_modules/@anthropic-ai/claude-code-*/claude"
	oldTool = "../../.tools/claude-2.1.197/node_modules/@anthropic-ai/claude-code-*/claude"
)

// maxWait is how long a test waits for what has to come.
const maxWait = conntest.MaxWait

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
	return benchOf(t, clitest.Find(t, cliVar, cliTool))
}

func oldBench(t *testing.T) *bench {
	t.Helper()
	b := benchOf(t, clitest.Find(t, oldVar, oldTool))
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
	ctx, cancel := context.WithTimeout(b.t.Context(), maxWait)
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
// process on the machine has, and returns its path.
func (b *bench) script(name, command string) string {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+command+"\n"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}
