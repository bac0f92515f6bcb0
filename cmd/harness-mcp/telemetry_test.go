package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// TestNoSpanOrLogLineHoldsContent runs the program with everything exported
// that it can, through success and failure, and reads every span, metric and
// log line for what must not be there.
func TestNoSpanOrLogLineHoldsContent(t *testing.T) {
	const (
		promptWord = "marmalade-prompt"
		outputWord = "marmalade-output"
		envSecret  = "sk-marmalade-0123456789abcdef0123456789"
		inherited  = "marmalade-inherited-credential"
		argSecret  = "marmalade-argument"
		answerWord = "marmalade-reason"
	)
	var mu sync.Mutex
	var spans strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&spans, r.Body)
		_, _ = io.WriteString(w, "{}")
	}))
	defer collector.Close()

	dir := t.TempDir()
	cmd := exec.Command(binary, "--db", filepath.Join(dir, "journal.db"), "--log-level", "debug", "--otel", collector.URL, "--metrics", "127.0.0.1:0")
	cmd.Env = append(clean(t), "SERVICE_API_KEY="+inherited)
	c := mcptest.Start(t, cmd)
	c.Initialize(t.Context())
	call := func(tool string, a args) mcptest.Result {
		t.Helper()
		r, err := c.Call(t.Context(), tool, a)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return r
	}
	field := func(r mcptest.Result, name string) string {
		t.Helper()
		var m map[string]any
		if err := json.Unmarshal(r.Structured, &m); err != nil {
			t.Fatal(err)
		}
		s, _ := m[name].(string)
		return s
	}

	call("list_providers", nil)
	call("delegate", args{"provider": "demo", "cwd": dir, "prompt": "say " + outputWord + "\n" + promptWord, "env": args{"MY_TOKEN": envSecret}})
	s := call("start_session", args{"provider": "demo", "cwd": dir, "system_prompt": promptWord, "env": args{"MY_TOKEN": envSecret}})
	ses := field(s, "session_id")
	turn := call("send_message", args{"session_id": ses, "prompt": "approve\nstream 20\nsay " + outputWord, "wait_ms": 20_000})
	var pending struct {
		Pending []struct {
			ID string `json:"request_id"`
		} `json:"pending_requests"`
	}
	if err := json.Unmarshal(turn.Structured, &pending); err != nil || len(pending.Pending) != 1 {
		t.Fatalf("%s: %v", turn.Structured, err)
	}
	call("respond", args{"request_id": pending.Pending[0].ID, "action": "deny", "reason": answerWord, "wait_ms": 20_000})
	call("send_message", args{"session_id": ses, "prompt": "fail\n" + promptWord, "wait_ms": 20_000})
	call("send_message", args{"session_id": "ses_no", "prompt": promptWord})
	call("start_session", args{"provider": argSecret, "prompt": promptWord, "api_key": envSecret})
	call("start_session", args{"provider": "demo", "cwd": "/" + argSecret})
	call("start_process", args{"executable": "/bin/sh", "argv": []string{"-c", "echo " + outputWord + " " + argSecret}, "cwd": dir, "wait_ms": 20_000})
	call("start_process", args{"executable": "/no/" + argSecret, "cwd": dir})
	if _, err := c.Begin("await", args{"ids": "trn_" + argSecret}); err != nil {
		t.Fatal(err)
	}
	call("close", args{"id": ses})
	if err := c.CloseInput(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Closed():
	case <-time.After(patience):
		t.Fatal("the program did not end")
	}

	mu.Lock()
	exported := spans.String()
	mu.Unlock()
	for _, want := range []string{`"create_agent demo"`, `"invoke_agent demo"`, `"tools/call delegate"`, `"demo/respond"`, `"session demo"`, `"rejected"`, ses} {
		if !strings.Contains(exported, want) {
			t.Errorf("no span has %s", want)
		}
	}
	for where, text := range map[string]string{"spans": exported, "the log": c.Stderr()} {
		for line := range strings.Lines(text) {
			for _, word := range []string{promptWord, outputWord, envSecret, inherited, argSecret, answerWord, "marmalade"} {
				if strings.Contains(line, word) {
					t.Errorf("%s hold %q: %s", where, word, line)
					break
				}
			}
		}
	}
}
