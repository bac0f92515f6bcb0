package codex

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/modelserver"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

const requireVar = "HARNESS_MCP_REQUIRE_CLIS"

// patience is how long a test waits for what has to come.
const patience = conntest.Patience

// realCodexes are the versions that the adapter is held to, each where a
// variable says, or where the Makefile installs it.
var realCodexes = []struct{ name, variable, tool string }{
	{"newest", "HARNESS_MCP_TEST_CODEX", "../../.tools/codex"},
	{"oldest", "HARNESS_MCP_TEST_CODEX_OLD", "../../.tools/codex-0.150.0"},
}

// onCodex plays a test on each version, with directories and a model of its
// own.
func onCodex(t *testing.T, retries int, play func(*testing.T, *bench)) {
	t.Helper()
	for _, c := range realCodexes {
		t.Run(c.name, func(t *testing.T) { play(t, newBench(t, c.name, realCLI(t, c.variable, c.tool), retries)) })
	}
}

// realCLI gives the path of a real Codex, or skips the test.
func realCLI(t *testing.T, variable, tool string) string {
	t.Helper()
	for _, path := range []string{os.Getenv(variable), filepath.Join(tool, "node_modules", ".bin", "codex")} {
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
	why := fmt.Sprintf("a Codex CLI is not installed: neither %s nor %s names it (make tools installs it)", variable, strings.TrimLeft(tool, "./"))
	if os.Getenv(requireVar) == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
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
	if b.env, err = loopback(b.root, model.URL(), retries); err != nil {
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
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
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

// running gives the pids of processes whose command line has the word.
func running(word string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, f := range files {
		raw, err := os.ReadFile(f)
		var pid int
		if err == nil && strings.Contains(strings.ReplaceAll(string(raw), "\x00", " "), word) {
			if _, err := fmt.Sscanf(f, "/proc/%d/", &pid); err == nil && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// eventually waits for a fact of the system that nothing announces.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
