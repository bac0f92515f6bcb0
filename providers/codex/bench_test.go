package codex

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/modelserver"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// npmBin is where npm puts the command.
const npmBin = "node_modules/.bin/codex"

// maxWait is how long a test waits for what has to come.
const maxWait = conntest.MaxWait

// realCodexes are the versions that the adapter is tested with, each where a
// variable names it, or where the Makefile installs it.
var realCodexes = []struct{ name, variable, tool string }{
	{"newest", "HARNESS_MCP_TEST_CODEX", "../../.tools/codex/" + npmBin},
	{"oldest", "HARNESS_MCP_TEST_CODEX_OLD", "../../.tools/codex-0.150.0/" + npmBin},
}

// onCodex plays a test on each version, with directories and a model of its
// own.
func onCodex(t *testing.T, retries int, play func(*testing.T, *bench)) {
	t.Helper()
	for _, c := range realCodexes {
		t.Run(c.name, func(t *testing.T) { play(t, newBench(t, c.name, clitest.Find(t, c.variable, c.tool), retries)) })
	}
}

// bench is a real Codex on a loopback model, with directories of its own.
type bench struct {
	t      *testing.T
	name   string // of the version
	exec   string
	model  *modelserver.Server
	root   string
	work   string
	env    map[string]string
	runner process.Runner
}

func newBench(t *testing.T, name, exec string, retries int) *bench {
	t.Helper()
	b := &bench{t: t, name: name, exec: exec, root: t.TempDir(), runner: process.NewLocal(process.Options{})}
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
	if b.env, err = loopbackHome(b.root, model.URL(), retries); err != nil {
		t.Fatal(err)
	}
	b.env["PATH"], b.env["LANG"] = os.Getenv("PATH"), "C.UTF-8"
	return b
}

// fresh is another one with the same Codex.
func (b *bench) fresh(t *testing.T) *bench {
	t.Helper()
	return newBench(t, b.name, b.exec, 0)
}

func (b *bench) provider() core.Provider {
	return New(Options{Runner: b.runner, Exec: b.exec})
}

// session is a configuration with an environment that knows nothing of the
// machine's.
func (b *bench) session() core.SessionConfig {
	return core.SessionConfig{SessionID: "ses_test", CWD: b.work, EnvMode: core.EnvReplace, Env: maps.Clone(b.env)}
}

func (b *bench) open(cfg core.SessionConfig) *conntest.Recorder {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), maxWait)
	defer cancel()
	conn, err := b.provider().Open(ctx, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return conntest.Record(b.t, conn)
}

// needProc skips a test that looks for processes by /proc.
func needProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("looking for a command's processes needs Linux's /proc")
	}
}
