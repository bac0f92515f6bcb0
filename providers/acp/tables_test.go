package acp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

func TestMCPServersAreSpelledAsACPWantsThem(t *testing.T) {
	list, err := mcpServers(map[string]json.RawMessage{
		"b": json.RawMessage(`{"command":"srv","env":{"B":"2","A":"1"}}`),
		"a": json.RawMessage(`{"url":"http://127.0.0.1/","headers":{"X":"y"}}`),
		"c": json.RawMessage(`{"type":"sse","url":"http://127.0.0.1/"}`),
	}, wire.MCPCapabilities{HTTP: true, SSE: true})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(list)
	want := `[{"type":"http","name":"a","url":"http://127.0.0.1/","headers":[{"name":"X","value":"y"}]},` +
		`{"name":"b","command":"srv","args":[],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]},` +
		`{"type":"sse","name":"c","url":"http://127.0.0.1/","headers":[]}]`
	if d := cmp.Diff(want, string(raw)); d != "" {
		t.Error(d)
	}
	none, err := mcpServers(nil, wire.MCPCapabilities{})
	if raw, _ := json.Marshal(none); err != nil || string(raw) != "[]" {
		t.Errorf("no servers: %s %v", raw, err)
	}
}

func TestErrorsAreReadWhereverAgentsPutThem(t *testing.T) {
	for _, c := range []struct {
		e    jsonrpc.Error
		text string
		code core.Code
	}{
		{jsonrpc.Error{Code: -32603, Message: "Internal error", Data: json.RawMessage(`{"details":"400 bad"}`)}, "Internal error: 400 bad", core.TurnProviderError},
		{jsonrpc.Error{Code: -32603, Message: "Internal error", Data: json.RawMessage(`{"message":"401 no key"}`)}, "Internal error: 401 no key", core.TurnAuthRequired},
		{jsonrpc.Error{Code: -32600, Message: "Invalid", Data: json.RawMessage(`"first initialize"`)}, "Invalid: first initialize", core.TurnProviderError},
		{jsonrpc.Error{Code: 429, Message: "slow down"}, "slow down", core.TurnRateLimited},
		{jsonrpc.Error{Code: -32000}, "the agent gave no reason", core.TurnAuthRequired},
		{jsonrpc.Error{Code: -32603, Message: "port 14010 and 4290 tokens"}, "port 14010 and 4290 tokens", core.TurnProviderError},
	} {
		got := turnError(&c.e)
		if got.Message != c.text || got.Code != c.code {
			t.Errorf("%+v gives %q, %s", c.e, got.Message, got.Code)
		}
	}
}

func TestToolsAreReadByTheNamesThatAgentsUse(t *testing.T) {
	three := 3
	for name, c := range map[string]struct {
		call  wire.ToolCall
		start core.ToolStarted
		end   core.ToolCompleted
	}{
		"codex": {
			wire.ToolCall{Kind: "execute", Title: "x", RawInput: json.RawMessage(`{"command":["/bin/bash","-lc","ls -l"],"cwd":"/w"}`),
				RawOutput: json.RawMessage(`{"aggregated_output":"out","exit_code":3}`)},
			core.ToolStarted{Name: "execute", Kind: core.ToolCommand, Title: "ls -l", Command: "ls -l", CWD: "/w"},
			core.ToolCompleted{Status: core.ToolOK, Output: "out", ExitCode: &three},
		},
		"opencode": {
			wire.ToolCall{Kind: "execute", Title: "bash", RawInput: json.RawMessage(`{"command":"ls","workdir":"/w"}`),
				RawOutput: json.RawMessage(`{"output":"o","metadata":{"exit":3}}`)},
			core.ToolStarted{Name: "execute", Kind: core.ToolCommand, Title: "ls", Command: "ls", CWD: "/w"},
			core.ToolCompleted{Status: core.ToolOK, Output: "o", ExitCode: &three},
		},
		"claude": {
			wire.ToolCall{Kind: "other", Name: "mcp__files__list", Title: "list\nmore", RawOutput: json.RawMessage(`"text"`)},
			core.ToolStarted{Name: "mcp__files__list", Kind: core.ToolMCP, Title: "list"},
			core.ToolCompleted{Status: core.ToolOK, Output: "text"},
		},
		"nothing known": {
			wire.ToolCall{},
			core.ToolStarted{Name: "tool", Kind: core.ToolOther, Title: "tool"},
			core.ToolCompleted{Status: core.ToolOK},
		},
	} {
		x := &tool{call: c.call}
		start := toolStarted(x)
		start.Input = nil
		if d := cmp.Diff(c.start, start); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(c.end, toolCompleted(x, core.ToolOK)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestUsageThatCountsTheSessionIsReportedByTurn(t *testing.T) {
	tr := newTranslator(settings{agent: Agent{Quirks: Quirks{UsageIsTotal: true}}})
	read := func(total string) int64 {
		u := tr.turnUsage(wire.PromptResult{Usage: json.RawMessage(`{"totalTokens":` + total + `}`)})
		if u == nil || u.TotalTokens == nil {
			t.Fatalf("no usage of %s", total)
		}
		return *u.TotalTokens
	}
	for _, c := range []struct {
		total string
		want  int64
	}{{"10", 10}, {"25", 15}, {"25", 0}, {"7", 7}} {
		if got := read(c.total); got != c.want {
			t.Errorf("%s gives %d, want %d", c.total, got, c.want)
		}
	}
}

func TestOnlyAnEffortThatCanBeAskedForIsReported(t *testing.T) {
	a := Agent{Efforts: []string{"low", "high"}}
	tr := newTranslator(settings{agent: a})
	tr.phase = live
	option := func(value string) json.RawMessage {
		return json.RawMessage(`[{"id":"effort","category":"thought_level","currentValue":"` + value + `","options":[{"value":"low"},{"value":"default"}]}]`)
	}
	tr.offered(option("low"), nil)
	tr.offered(option("default"), nil)
	out := tr.Take().Notices
	if d := cmp.Diff([]core.Notice{core.SessionChanged{ReasoningEffort: "low"}}, out); d != "" {
		t.Error(d)
	}
}

func TestPathGuardAsksAboutWhatRunsLater(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, ".git", "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(".git", "hooks"), filepath.Join(root, "hooks")); err != nil {
		t.Fatal(err)
	}
	f := newPathGuard([]string{root})
	for path, want := range map[string]bool{
		"a.txt": true, "new/deep.txt": true, ".git/hooks/pre-commit": false, "hooks/pre-commit": false,
		"sub/.GitHub/workflows/x.yml": false, ".mcp.json": false, "../a.txt": false,
	} {
		if got := f.inside(filepath.Join(root, path)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
