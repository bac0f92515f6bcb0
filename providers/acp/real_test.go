package acp

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/internal/modelserver"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
)

// Where the real agents are: paths, or what the Makefile installs.
const (
	requireVar = "HARNESS_MCP_REQUIRE_CLIS"
	toolsDir   = "../../.tools"
)

// real describes a real agent for the tests.
type real struct {
	bin     string // its command in node_modules/.bin
	nightly bool   // too slow for every change
	prompts func(*providertest.Prompts)
}

var reals = map[string]real{
	"codex-acp":  {bin: "codex-acp", prompts: func(p *providertest.Prompts) { p.Think, p.Run = "think deeply\nsay thought", "run echo hello\nsay ran" }},
	"gemini":     {bin: "gemini", nightly: true},
	"opencode":   {bin: "opencode", nightly: true},
	"copilot":    {bin: "copilot", nightly: true},
	"qwen":       {bin: "qwen", nightly: true},
	"claude-acp": {bin: "claude-agent-acp", nightly: true},
}

// variable is the variable that has the path of an agent.
func variable(name string) string {
	return "HARNESS_MCP_TEST_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// realCLI returns the path of a real agent, or skips the test.
func realCLI(t *testing.T, name string) string {
	t.Helper()
	r := reals[name]
	if r.nightly && os.Getenv("HARNESS_MCP_NIGHTLY") != "1" {
		t.Skipf("%s is driven by make nightly only", name)
	}
	return clitest.Find(t, variable(name), filepath.Join(toolsDir, name, "node_modules", ".bin", r.bin))
}

// toolPath is PATH with the Node that the Makefile installs, and with the
// sandbox that comes with Codex, in front.
func toolPath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PATH")
	for _, glob := range []string{
		"node/node_modules/node-*/bin",
		"codex/node_modules/@openai/codex-*/vendor/*/codex-resources",
	} {
		found, err := filepath.Glob(filepath.Join(toolsDir, glob))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range found {
			abs, err := filepath.Abs(dir)
			if err != nil {
				t.Fatal(err)
			}
			path = abs + string(os.PathListSeparator) + path
		}
	}
	return path
}

// bench is a real agent on a loopback model, with directories of its own.
type bench struct {
	table
	model *modelserver.Server
}

func newBench(t *testing.T, name string) *bench {
	t.Helper()
	exec := realCLI(t, name)
	var agent Agent
	for _, a := range Agents() {
		if a.Name == name {
			agent = a
		}
	}
	agent.Command = append([]string{exec}, agent.Command[1:]...)
	model, err := modelserver.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	root := t.TempDir()
	work := filepath.Join(root, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	env, err := Loopback(name)(root, model.URL())
	if err != nil {
		t.Fatal(err)
	}
	if agent.Env = maps.Clone(agent.Env); agent.Env == nil {
		agent.Env = map[string]string{}
	}
	agent.Env["PATH"] = toolPath(t) // for the look at its Node too
	maps.Copy(env, map[string]string{"PATH": toolPath(t), "LANG": "C.UTF-8", "TERM": "dumb"})
	runner := process.NewLocal(process.Options{})
	return &bench{table{t: t, provider: New(agent, Options{Runner: runner}), work: work, env: env}, model}
}

func TestRealAgentsConform(t *testing.T) {
	for _, a := range Agents() {
		t.Run(a.Name, func(t *testing.T) {
			b := newBench(t, a.Name)
			prompts := providertest.Prompts{
				Say:     func(text string) string { return "say " + text },
				Stream:  func(n int) string { return fmt.Sprintf("slow 2\nstream %d", n) },
				Approve: "escalate touch approved\nsay done",
				Fail:    "fail 400",
				Slow:    func(d time.Duration) string { return fmt.Sprintf("slow %d\nsay x", d.Milliseconds()) },
				Recall:  "remember",
			}
			if more := reals[a.Name].prompts; more != nil {
				more(&prompts)
			}
			providertest.Run(t, providertest.Config{
				Provider: b.provider,
				Session:  func(testing.TB) core.SessionConfig { return b.session() },
				Timeout:  60 * time.Second,
				Prompts:  prompts,
				// The model server's own, for connections that agents keep open.
				Leaks: []goleak.Option{
					goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
					goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
				},
			})
		})
	}
}
