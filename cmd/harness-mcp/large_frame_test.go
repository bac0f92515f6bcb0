package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// scriptedAgentVar makes the test binary an agent that does what its prompt
// says.
const scriptedAgentVar = "HARNESS_MCP_TEST_SCRIPTED_AGENT"

// TestOneHugeFrameCostsFewTimesItselfAndIsGivenBack has an agent say 32 MiB in
// one frame.
func TestOneHugeFrameCostsFewTimesItselfAndIsGivenBack(t *testing.T) {
	const size = 32 << 20
	const most, rest = 4 * size, 16 << 20
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	conf, err := json.Marshal(map[string]any{"providers": map[string]any{"scripted": map[string]any{
		"command": []string{self}, "env": map[string]string{scriptedAgentVar: "1"},
		"modes": map[string]string{"default": "ask", "prompt": "ask"}}}})
	if err != nil {
		t.Fatal(err)
	}
	agents := filepath.Join(dir, "agents.json")
	if err := os.WriteFile(agents, conf, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--db", filepath.Join(dir, "journal.db"), "--provider-config", agents)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "HOME=" + dir}
	c := mcptest.Start(t, cmd)
	c.Initialize(t.Context())
	call := func(tool string, a map[string]any) (g got) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		res, err := c.Call(ctx, tool, a)
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %s", tool, err, res.Text)
		}
		if err := json.Unmarshal(res.Structured, &g); err != nil {
			t.Fatal(err)
		}
		return g
	}
	id := call("start_session", map[string]any{"provider": "scripted", "cwd": dir}).SessionID
	say := func(n int) got {
		return call("send_message", map[string]any{"session_id": id, "prompt": fmt.Sprintf("big %d", n), "wait_ms": 60000})
	}
	say(1000) // what the first turn of any size costs
	before := memory(t, cmd.Process.Pid, "VmRSS")
	resetPeak(cmd.Process.Pid)
	g := say(size)
	peak := memory(t, cmd.Process.Pid, "VmHWM")
	t.Logf("RSS %d KiB before, at most %d KiB meanwhile, %.1f times the frame", before>>10, peak>>10, float64(peak-before)/size)
	if g.Status != "completed" {
		t.Fatalf("%+v", g)
	}
	if peak-before > most {
		t.Errorf("a frame of %d bytes cost %d bytes of memory, at most %d are allowed", size, peak-before, most)
	}
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) { // another process's work is waited for
		now := memory(t, cmd.Process.Pid, "VmRSS")
		if now-before < rest {
			break
		}
		if time.Now().After(end) {
			t.Errorf("%d bytes are not given back", now-before)
			break
		}
	}
}
