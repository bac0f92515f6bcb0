package main_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// writeSurface makes the page of what the surface costs: make surface.
var writeSurface = flag.Bool("surface", false, "write docs/surface.md")

const surfacePage = "../../docs/surface.md"

// maxHalf is what a half of a reply takes at most.
const maxHalf = 8 << 10

// wish is what a person says to their agent, the call that it makes of it, and
// what its model must then be told.
type wish struct {
	words string
	tool  string
	args  args
	told  []string
}

// wishes are ten everyday ones, as two conversations: the second begins with
// the answer to a request that the first has met. The last is a mistake.
func wishes(cwd, request string) (first, second []wish) {
	first = []wish{
		{"Which agents can you use?", "list_providers", nil, []string{"demo", "ready"}},
		{"Have another agent fix the parser.", "delegate", args{"provider": "demo", "cwd": cwd, "prompt": "say The parser is fixed."},
			[]string{"The parser is fixed.", "completed", "trn_", "ses_"}},
		{"Open a conversation with it.", "start_session", args{"provider": "demo", "cwd": cwd, "session_id": "wish"}, []string{"wish", "idle", "send_message"}},
		{"Ask it to build.", "send_message", args{"session_id": "wish", "turn_id": "wish-1", "prompt": "approve\nsay It is built."},
			[]string{"wish-1", "starting", "await"}},
		{"Wait for it.", "await", args{"ids": []string{"wish-1"}}, []string{"request_pending", "req_", "touch approved.txt", "respond", "approve"}},
	}
	second = []wish{
		{"Let it run that command.", "respond", args{"request_id": request, "action": "approve", "wait_ms": 40000}, []string{"resolved", "It is built.", "completed"}},
		{"Then have it test for a while.", "follow_up", args{"session_id": "wish", "turn_id": "wish-2", "prompt": "slow 60000\nsay never"}, []string{"wish-2", "await"}},
		{"No, stop that.", "interrupt", args{"session_id": "wish", "wait_ms": 40000}, []string{"wish-2", "cancelled"}},
		{"What did it do first?", "replay", args{"id": "wish-1", "view": "summary"}, []string{"touch approved.txt", "cursor"}},
		{"We are done.", "close", args{"id": "wish"}, []string{"wish", "closed", "resume"}},
		{"(One more thing, too late.)", "send_message", args{"session_id": "wish", "prompt": "say more"}, []string{"session_closed", "wish", "resume"}},
	}
	return first, second
}

// toolsSeen is what the model of a client was given: what stood in its first
// request, and the reply to each call.
type toolsSeen struct {
	instructions bool
	shown        int // tools whose definition stood in the request
	definitions  int // and their size
	replies      []string
}

// listens reads what a client's model was given in its last conversation.
func (a agent) listens(t *testing.T) toolsSeen {
	t.Helper()
	var r toolsSeen
	requests := a.model.Requests()
	for i := len(requests) - 1; i >= 0; i-- {
		var body struct {
			Tools    []json.RawMessage
			Messages []struct{ Content json.RawMessage }
			Input    []struct {
				Type   string
				Output json.RawMessage
			}
		}
		if json.Unmarshal(requests[i].Body, &body) != nil {
			continue
		}
		for _, m := range body.Messages {
			var blocks []struct {
				Type    string
				Content json.RawMessage
			}
			if json.Unmarshal(m.Content, &blocks) != nil {
				continue
			}
			for _, b := range blocks {
				if b.Type == "tool_result" {
					r.replies = append(r.replies, textOf(b.Content))
				}
			}
		}
		for _, in := range body.Input {
			if in.Type == "function_call_output" {
				r.replies = append(r.replies, textOf(in.Output))
			}
		}
		if len(r.replies) == 0 {
			continue
		}
		r.instructions = strings.Contains(string(requests[i].Body), "runs other coding agents")
		for _, tool := range body.Tools {
			if strings.Contains(string(tool), "harness") {
				r.shown, r.definitions = r.shown+1, r.definitions+len(tool)
			}
		}
		return r
	}
	t.Fatalf("no reply reached the model in %d requests", len(requests))
	return r
}

// textOf returns text that is a string or a list of blocks.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct{ Text string }
	if json.Unmarshal(raw, &blocks) != nil {
		return string(raw)
	}
	for _, b := range blocks {
		s += b.Text
	}
	return s
}

// grants plays both conversations on a client and returns what each reply took.
func grants(t *testing.T, a agent, prefix string, tell func(prompt string) string) (sizes []int, was toolsSeen) {
	t.Helper()
	cwd := t.TempDir()
	play := func(ws []wish) toolsSeen {
		t.Helper()
		var b strings.Builder
		for _, w := range ws {
			arguments := w.args
			if arguments == nil {
				arguments = args{}
			}
			fmt.Fprintf(&b, "call %s%s %s\n", prefix, w.tool, jsonOf(t, arguments))
		}
		said := tell(b.String() + "say all granted")
		r := a.listens(t)
		if len(r.replies) != len(ws) {
			t.Fatalf("%d replies reached the model, want %d:\n%s\n%s", len(r.replies), len(ws), strings.Join(r.replies, "\n---\n"), said)
		}
		for i, w := range ws {
			for _, word := range w.told {
				if !strings.Contains(r.replies[i], word) {
					t.Errorf("%s: the model is not told %q:\n%s", w.words, word, r.replies[i])
				}
			}
			if n := len(r.replies[i]); n > maxHalf {
				t.Errorf("%s: the reply takes %d bytes", w.words, n)
			}
			sizes = append(sizes, len(r.replies[i]))
		}
		return r
	}
	first, _ := wishes(cwd, "")
	was = play(first)
	request := requestID.FindString(was.replies[4])
	if request == "" {
		t.Fatalf("no request reached the model:\n%s", was.replies[4])
	}
	_, second := wishes(cwd, request)
	play(second)
	return sizes, was
}

// TestTenWishesOnRealClients has the real Claude Code and the real Codex, with
// this server alone, make the calls of ten everyday wishes, and reads what
// reaches their models.
func TestTenWishesOnRealClients(t *testing.T) {
	claude, codex := claudeAgent(t), codexAgent(t)
	var sizes [2][]int
	var was [2]toolsSeen
	t.Run("Claude Code", func(t *testing.T) {
		b := inBackground(t)
		config := filepath.Join(b.dir, "mcp.json")
		entry := jsonOf(t, args{"mcpServers": args{"harness": args{"type": "stdio", "command": binary, "args": b.behind(claude.pathDir)}}})
		if err := os.WriteFile(config, []byte(entry), 0o600); err != nil {
			t.Fatal(err)
		}
		sizes[0], was[0] = grants(t, claude, "mcp__harness__", func(prompt string) string {
			out, err := claude.program(t, t.TempDir(), prompt, claude.exe("claude"), "-p", "--mcp-config", config, "--strict-mcp-config", "--allowedTools", "mcp__harness")
			if err != nil {
				t.Errorf("claude: %v\n%s", err, out)
			}
			return out
		})
	})
	t.Run("Codex", func(t *testing.T) {
		b := inBackground(t)
		appendTo(t, filepath.Join(codex.env["CODEX_HOME"], "config.toml"),
			strings.Replace(printed(t, "codex"), "args = []", "args = "+jsonOf(t, b.behind(codex.pathDir)), 1))
		sizes[1], was[1] = grants(t, codex, "", func(prompt string) string {
			out, err := codex.program(t, t.TempDir(), prompt, codex.exe("codex"), "exec", "--skip-git-repo-check", "-")
			if err != nil {
				t.Errorf("codex: %v\n%s", err, out)
			}
			return out
		})
	})
	if t.Failed() || !*writeSurface {
		return
	}
	if err := os.WriteFile(surfacePage, []byte(surfaceText(t, sizes, was)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// surfaceText is the page.
func surfaceText(t *testing.T, sizes [2][]int, was [2]toolsSeen) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# What the surface costs

Made by ` + "`make surface`" + `. Ten everyday wishes, as the real Claude Code and the real Codex act on them with this server alone. Their models are the loopback one, which makes the call that the wish wants: so what is measured is what reaches a model, in bytes. Claude Code and Codex show their models the structured half of a reply and, of an error, Claude Code only the text, Codex only the object.

| wish | call | Claude Code | Codex |
|---|---|---|---|
`)
	first, second := wishes("CWD", "REQUEST")
	all := append(first, second...)
	var sum [2]int
	for i, w := range all {
		fmt.Fprintf(&b, "| %s | `%s` | %d | %d |\n", w.words, w.tool, sizes[0][i], sizes[1][i])
		sum[0], sum[1] = sum[0]+sizes[0][i], sum[1]+sizes[1][i]
	}
	fmt.Fprintf(&b, "| all of it | | %d | %d |\n", sum[0], sum[1])
	b.WriteString("\nClaude Code adds a tool's schema to an error when its model had not loaded it; Codex puts a line about time in front of every reply.\n")
	b.WriteString("\n## Before the first call\n\n| | Claude Code | Codex |\n|---|---|---|\n")
	yes := map[bool]string{true: "yes", false: "no"}
	fmt.Fprintf(&b, "| the server's instructions reach the model | %s | %s |\n", yes[was[0].instructions], yes[was[1].instructions])
	fmt.Fprintf(&b, "| entries of the request's tool list with tools of ours | %d | %d |\n", was[0].shown, was[1].shown)
	fmt.Fprintf(&b, "| bytes of them, as the client writes them | %d | %d |\n", was[0].definitions, was[1].definitions)
	b.WriteString("\nClaude Code defers most tools until its model searches for them, and shows their names and the instructions; Codex has one entry for all tools of a server.\n")
	b.WriteString("\n## The list of tools\n\n| | tools | bytes | without output schemas |\n|---|---|---|---|\n")
	for _, kind := range []string{"all", "core"} {
		n, whole, bare := listed(t, kind)
		fmt.Fprintf(&b, "| `--tools %s` | %d | %d | %d |\n", kind, n, whole, bare)
	}
	return b.String()
}

// listed measures the list of tools.
func listed(t *testing.T, kind string) (n, whole, bare int) {
	t.Helper()
	cmd := exec.Command(binary, "--db", filepath.Join(t.TempDir(), "journal.db"), "--tools", kind)
	cmd.Env = clean(t)
	c := mcptest.Start(t, cmd)
	c.Initialize(t.Context())
	var list struct{ Tools []map[string]json.RawMessage }
	if err := c.Do(t.Context(), "tools/list", map[string]any{}, &list); err != nil {
		t.Fatal(err)
	}
	whole = len(jsonOf(t, list.Tools))
	for _, tool := range list.Tools {
		delete(tool, "outputSchema")
	}
	return len(list.Tools), whole, len(jsonOf(t, list.Tools))
}
