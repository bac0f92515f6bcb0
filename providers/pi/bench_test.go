package pi

import (
	"context"
	"encoding/json"
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

// Where the real CLIs are: the newest one, and one of the releases that do not
// send agent_settled.
const (
	cliVar  = "HARNESS_MCP_TEST_PI"
	cliTool = "../../.tools/pi/node_modules/.bin/pi"
	oldVar  = "HARNESS_MCP_TEST_PI_OLD"
	oldTool = "../../.tools/pi-0.73.1/node_modules/.bin/pi"
)

// maxWait is how long a test waits for the real Pi on a loaded machine.
const maxWait = conntest.MaxWait

// releases are the real CLIs that a test can be played on.
var releases = map[string][2]string{"newest": {cliVar, cliTool}, "oldest": {oldVar, oldTool}}

// onPi plays a test on every release.
func onPi(t *testing.T, play func(*bench)) {
	t.Helper()
	for name, where := range releases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, where)
			b.old = name == "oldest"
			play(b)
		})
	}
}

// bench is a real Pi on a loopback model, with directories of its own and the
// extension of testdata.
type bench struct {
	t      testing.TB
	old    bool
	exec   string
	root   string
	work   string
	env    map[string]string
	model  *modelserver.Server
	runner process.Runner
}

func newBench(t *testing.T, where [2]string) *bench {
	t.Helper()
	b := &bench{t: t, exec: clitest.Find(t, where[0], where[1]), root: t.TempDir(), runner: process.NewLocal(process.Options{})}
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

// extend installs the extension of testdata in Pi, as a user would.
func (b *bench) extend() {
	b.t.Helper()
	text, err := os.ReadFile("testdata/ask.js")
	if err != nil {
		b.t.Fatal(err)
	}
	dir := filepath.Join(b.env["PI_CODING_AGENT_DIR"], "extensions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ask.js"), text, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) provider() core.Provider { return New(Options{Runner: b.runner, Exec: b.exec}) }

// session is a configuration with an environment that knows nothing of the
// machine's.
func (b *bench) session() core.SessionConfig {
	return core.SessionConfig{SessionID: "ses_test", CWD: b.work, EnvMode: core.EnvReplace, Env: maps.Clone(b.env)}
}

// open begins a conversation that the test's end closes.
func (b *bench) open(cfg core.SessionConfig) *conntest.Recorder {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), maxWait)
	defer cancel()
	conn, err := b.provider().Open(ctx, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return conntest.Record(b.t.(*testing.T), conn)
}

// refuses wants Open to fail with a code.
func (b *bench) refuses(cfg core.SessionConfig, want core.Code) *core.Error {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), maxWait)
	defer cancel()
	conn, err := b.provider().Open(ctx, cfg)
	if err == nil {
		_ = conn.Close(ctx)
		b.t.Fatalf("it opened, want %s", want)
	}
	if core.CodeOf(err) != want {
		b.t.Fatalf("got %v, want %s", err, want)
	}
	return core.AsError(err)
}

// call is the prompt by which the loopback model uses a tool.
func call(name string, args any) string {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return "call " + name + " " + string(raw)
}

type object = map[string]any
