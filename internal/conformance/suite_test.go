package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/internal/e2e"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// childEnv makes this test program the server on stdio.
const childEnv = "CONFORMANCE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := serve(context.Background(), "", false); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// start serves HTTP until the end of the test and returns the URL.
func start(t *testing.T) string {
	t.Helper()
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- transport.ServeHTTP(ctx, l, newHandler(newServer(), l)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "http://" + l.Addr().String() + transport.PathMCP
}

// exceptions are the scenarios that may fail, all of them optional: they are
// about the tasks extension, which this project does not offer. A turn is its
// task, with ids and a journal that outlive the connection and the server.
var exceptions = []string{
	"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal",
	"tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-status-notifications",
	"tasks-required-task-error", "tasks-mrtr-composition",
}

func TestTheConformanceSuitePasses(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			suite := e2e.Conformance(t)
			results := t.TempDir()
			out, code := suite.Run("server", "--url", start(t), "--requirements", revision, "-o", results)
			if code != 0 {
				t.Errorf("the suite exited with %d:\n%s", code, out)
			}
			if scenarios := judge(t, results); scenarios < 30 {
				t.Errorf("only %d scenarios left a result", scenarios)
			}
		})
	}
}

// judge reports every check that failed, also those that do not count for the
// suite's exit code. It returns the number of scenarios.
func judge(t *testing.T, results string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "server-*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if slices.ContainsFunc(exceptions, func(e string) bool { return strings.HasPrefix(name, "server-"+e) }) {
			continue
		}
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct {
			ID, Status, ErrorMessage string
		}
		if err := json.Unmarshal(body, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range checks {
			if c.Status == "FAILURE" || c.Status == "WARNING" {
				t.Errorf("%s: %s: %s: %s", name, c.Status, c.ID, c.ErrorMessage)
			}
		}
	}
	return len(files)
}

func TestTheInspectorListsAndCallsEverything(t *testing.T) {
	suite := e2e.Inspector(t)
	t.Setenv(childEnv, "1")
	targets := map[string][]string{"http": {start(t)}, "stdio": {os.Args[0], "-e", childEnv + "=1"}}
	for kind, target := range targets {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(kind+" "+era, func(t *testing.T) {
				t.Parallel()
				inspect := func(want string, args ...string) {
					t.Helper()
					out, code := suite.Run(slices.Concat([]string{"--cli"}, target, []string{"--protocol-era", era, "--format", "json"}, args)...)
					if code != 0 || !strings.Contains(out, want) {
						t.Errorf("%v: exit code %d, want 0 and %q:\n%s", args, code, want, out)
					}
				}
				inspect("test_simple_text", "--method", "tools/list")
				inspect("test://static-text", "--method", "resources/list")
				inspect("test://template/{id}/data", "--method", "resources/templates/list")
				inspect("test_simple_prompt", "--method", "prompts/list")
				inspect("content of the static text", "--method", "resources/read", "--uri", "test://static-text")
				inspect("Data for ID: 7", "--method", "resources/read", "--uri", "test://template/7/data")
				inspect("arg1='a', arg2='b'", "--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b")
				for tool, want := range map[string]string{
					"test_simple_text": "simple text response", "test_image_content": "image/png", "test_audio_content": "audio/wav",
					"test_embedded_resource": "test://embedded-resource", "test_multiple_content_types": "mixed-content-resource",
					"test_tool_with_progress": "progress",
				} {
					inspect(want, "--method", "tools/call", "--tool-name", tool)
				}
			})
		}
	}
}

func TestTheInspectorsLoadOf16CallsAtATimeFailsNoCall(t *testing.T) {
	suite := e2e.Inspector(t)
	url := start(t)
	for _, era := range []string{"legacy", "modern"} {
		out, code := suite.Run("--cli", url, "--protocol-era", era, "--format", "json", "--method", "tools/call",
			"--tool-name", "test_simple_text", "--load", "--load-concurrency", "16", "--load-requests", "400")
		if code != 0 {
			t.Errorf("%s: exit code %d:\n%s", era, code, out)
		}
	}
}

func TestTheProgramServesHTTPAndEndsWithItsSignal(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not installed")
	}
	binary := filepath.Join(t.TempDir(), "conformance")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, "-http", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 256)
	n, err := stdout.Read(buf)
	if err != nil || !strings.HasPrefix(string(buf[:n]), "http://127.0.0.1:") {
		t.Errorf("the first line is %q, %v", buf[:n], err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the end: %v", err)
	}
}
