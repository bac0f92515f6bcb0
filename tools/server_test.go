package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listTools asks a server for its tools, over the protocol.
func listTools(t *testing.T, o Options) []map[string]json.RawMessage {
	t.Helper()
	srv := NewServer(new(harness.Harness), o)
	raw, err := json.Marshal(srv.HandleMessage(context.Background(),
		json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)))
	if err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Result struct {
			Tools []map[string]json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		t.Fatal(err)
	}
	if len(reply.Result.Tools) == 0 {
		t.Fatalf("no tools: %s", raw)
	}
	return reply.Result.Tools
}

func listSize(t *testing.T, tools []map[string]json.RawMessage, withOutput bool) int {
	t.Helper()
	for _, tool := range tools {
		if !withOutput {
			delete(tool, "outputSchema")
		}
	}
	b, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

func TestToolsListKeepsItsBudget(t *testing.T) {
	for _, tc := range []struct {
		name       string
		core       bool
		withOutput bool
		max        int
	}{
		{"without output schemas", false, false, 20 << 10},
		{"with output schemas", false, true, 28 << 10},
		{"core without output schemas", true, false, 13 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := listSize(t, listTools(t, Options{Core: tc.core}), tc.withOutput)
			t.Logf("%d bytes of %d", got, tc.max)
			if got > tc.max {
				t.Errorf("tools/list takes %d bytes, at most %d are allowed", got, tc.max)
			}
		})
	}
}

func TestToolsMatchTheGoldenFile(t *testing.T) {
	got, err := json.MarshalIndent(listTools(t, Options{}), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	golden(t, "tools.json", got)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s has changed; run with -update when that is meant:\n%s", path, cmp.Diff(string(want), string(got)))
	}
}

func TestEveryToolIsFitForEveryClient(t *testing.T) {
	for _, tool := range listTools(t, Options{}) {
		var name, title, description string
		for field, dst := range map[string]*string{"name": &name, "title": &title, "description": &description} {
			if json.Unmarshal(tool[field], dst) != nil || *dst == "" {
				t.Errorf("%s: no %s", name, field)
			}
		}
		if len(description) > 350 {
			t.Errorf("%s: the description has %d characters, at most 350 are allowed", name, len(description))
		}
		in, out := string(tool["inputSchema"]), string(tool["outputSchema"])
		for _, word := range []string{"anyOf", "oneOf", "allOf", "$ref", `:true`, `"type":[`} {
			if strings.Contains(in, word) || strings.Contains(out, word) {
				t.Errorf("%s: a schema contains %s", name, word)
			}
		}
		if !strings.HasSuffix(in, `"additionalProperties":false}`) {
			t.Errorf("%s: the input schema is open: %s", name, in)
		}
		if got, want := strings.Count(in, `"type":"array"`), strings.Count(in, `"items":`); got != want {
			t.Errorf("%s: %d arrays, %d items", name, got, want)
		}
		if len(out) > 450 || !strings.HasPrefix(out, `{"type":"object"`) || strings.Contains(out, "required") ||
			strings.Contains(out, "additionalProperties") {
			t.Errorf("%s: output schema of %d bytes: %s", name, len(out), out)
		}
	}
}

func TestAllAnnotationsAreSet(t *testing.T) {
	type hints struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool }
	yes, no := true, false
	reads, adds := hints{&yes, &no, &yes, &no}, hints{&no, &no, &no, &no}
	settles, opens := hints{&no, &no, &yes, &no}, hints{&no, &no, &no, &yes}
	want := map[string]hints{
		"list_providers": reads, "await": reads, "replay": reads, "inspect": reads, "list": reads,
		"send_message": adds, "follow_up": adds, "steer": adds,
		"configure": settles, "interrupt": settles, "close": settles,
		"start_session": opens, "delegate": opens,
		"start_process": {&no, &yes, &no, &yes}, "send_input": {&no, &yes, &no, &no},
		"respond": {&no, &yes, &no, &no}, "prune": {&no, &yes, &yes, &no},
	}
	got := map[string]hints{}
	for _, tool := range listTools(t, Options{}) {
		var name string
		var h hints
		if json.Unmarshal(tool["name"], &name) != nil || json.Unmarshal(tool["annotations"], &h) != nil {
			t.Fatal("unreadable tool")
		}
		got[name] = h
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestInstructionsAreShortAndSayTheWait(t *testing.T) {
	for _, core := range []bool{false, true} {
		s := newSurface(nil, Options{Core: core})
		text := instructions(s.opts)
		t.Logf("%d characters", len(text))
		if len(text) > 1500 {
			t.Errorf("%d characters, at most 1500 are allowed", len(text))
		}
		if !strings.Contains(text, "within 45 s") {
			t.Error("the wait is not said")
		}
		for _, tool := range []string{"steer", "inspect", "list "} {
			if core && strings.Contains(text, tool) {
				t.Errorf("instructions of the core tools speak of %s", tool)
			}
		}
	}
}

func TestCoreToolsAreTheContractsTen(t *testing.T) {
	if got := len(listTools(t, Options{Core: true})); got != len(coreTools) {
		t.Errorf("%d tools, want %d", got, len(coreTools))
	}
}

func TestControlToolsBypassTheQueue(t *testing.T) {
	for _, tool := range []string{"respond", "interrupt", "close"} {
		if !IsControl(tool) {
			t.Errorf("%s waits behind other calls", tool)
		}
	}
	for _, tool := range []string{"await", "delegate", "send_message", ""} {
		if IsControl(tool) {
			t.Errorf("%q does not wait behind other calls", tool)
		}
	}
}
