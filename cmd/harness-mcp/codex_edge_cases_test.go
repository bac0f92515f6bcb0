package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// onCodex runs a scenario on both versions.
func onCodex(t *testing.T, play func(*scenario)) {
	t.Helper()
	for name, find := range map[string]func(*testing.T) agent{"newest": codexAgent, "oldest": oldCodexAgent} {
		t.Run(name, func(t *testing.T) { play(newScenario(t, find(t))) })
	}
}

// inspected is a turn in the words of its reply that these tests read beside those
// of got.
type inspected struct {
	Text              string          `json:"text"`
	NextOffset        int             `json:"next_offset"`
	TextBytes         int             `json:"text_bytes"`
	Warnings          []string        `json:"warnings"`
	StructuredOutput  json.RawMessage `json:"structured_output"`
	StructuredError   string          `json:"structured_error"`
	ProviderSessionID string          `json:"provider_session_id"`
	FilesChanged      []struct {
		Path       string `json:"path"`
		Kind       string `json:"kind"`
		Unreported bool   `json:"unreported"`
	} `json:"files_changed"`
	Details struct {
		Diff string `json:"diff"`
		Path string `json:"path"`
	} `json:"details"`
}

// look inspects a resource.
func (r *scenario) look(id string, extra args) inspected {
	r.t.Helper()
	a := args{"id": id}
	for k, v := range extra {
		a[k] = v
	}
	_, res := r.try("inspect", a)
	var s inspected
	if err := json.Unmarshal(res.Structured, &s); err != nil || res.IsError {
		r.t.Fatalf("inspect %s: %s, %v", id, res.Text, err)
	}
	return s
}

// asked waits for the request that a turn raises.
func (r *scenario) asked(turn string) string {
	r.t.Helper()
	g := r.await(turn)
	if g.Outcome != "request_pending" || len(g.Results[0].Pending) != 1 {
		r.t.Fatalf("outcome %s: %+v", g.Outcome, g.Results)
	}
	return g.Results[0].Pending[0].RequestID
}

// ended waits for the end of a turn, which must have the status.
func (r *scenario) ended(turn, status string) got {
	r.t.Helper()
	g := r.await(turn)
	if g.Outcome != "done" || g.Results[0].Status != status {
		r.t.Fatalf("outcome %s, want a turn that is %s: %+v", g.Outcome, status, g.Results)
	}
	return g.Results[0]
}

func TestCodexTakesAnAnswerInFreeText(t *testing.T) {
	onCodex(t, func(r *scenario) {
		s := r.start(nil)
		turn := r.send(s, "ask Which colour?|red|blue\noutputs")
		r.must("respond", args{"request_id": r.asked(turn), "action": "answer", "answer": "a light mauve"})
		if text := r.ended(turn, "completed").Text; !strings.Contains(text, "a light mauve") {
			r.t.Errorf("the model heard %s", text)
		}
		r.check(s)
	})
}

func TestCodexAppliesAChangeOnlyWhenItIsAccepted(t *testing.T) {
	onCodex(t, func(r *scenario) {
		s := r.start(args{"sandbox_mode": "read_only"})
		for action, made := range map[string]bool{"approve": true, "deny": false} {
			file := filepath.Join(r.cwd, action+".txt")
			turn := r.send(s, "patch "+file+" hello there\nsay over")
			req := r.asked(turn)
			if d := r.look(req, nil).Details; d.Path != file || !strings.Contains(d.Diff, "+hello there") {
				r.t.Errorf("%s: the request shows %+v", action, d)
			}
			r.must("respond", args{"request_id": req, "action": action})
			r.ended(turn, "completed")
			if _, err := os.Stat(file); (err == nil) != made {
				r.t.Errorf("%s: the file: %v", action, err)
			}
			if files := r.look(turn, nil).FilesChanged; (len(files) == 1) != made {
				r.t.Errorf("%s: files changed: %+v", action, files)
			}
		}
		r.check(s)
	})
}

// formVar makes the test binary an MCP server whose one tool asks its user.
const formVar = "HARNESS_MCP_TEST_FORM_SERVER"

func init() {
	if os.Getenv(formVar) != "" {
		serveForm(os.Stdin, os.Stdout)
		os.Exit(0)
	}
}

func serveForm(in io.Reader, out io.Writer) {
	var call json.RawMessage // that waits for the form
	reply := func(id json.RawMessage, result string) {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			reply(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"form","version":"1"}}`)
		case "tools/list":
			reply(m.ID, `{"tools":[{"name":"form","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true}}]}`)
		case "tools/call":
			call = m.ID
			fmt.Fprintln(out, `{"jsonrpc":"2.0","id":"form","method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":`+
				`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0}},"required":["name"]}}}`)
		case "": // the answer to the form
			text, _ := json.Marshal(string(m.Result)) // a string always encodes
			reply(call, `{"content":[{"type":"text","text":`+string(text)+`}]}`)
		}
	}
}

func TestCodexPassesOnTheFormOfAnMCPServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	onCodex(t, func(r *scenario) {
		s := r.start(args{"mcp_servers": args{"people": args{"command": self, "env": args{formVar: "1"}}}})
		turn := r.send(s, "call form {}\noutputs")
		req := r.asked(turn)
		if _, res := r.try("respond", args{"request_id": req, "action": "answer", "content": args{"age": -1}}); !res.IsError {
			r.t.Errorf("an answer that does not fit was taken: %s", res.Text)
		}
		r.must("respond", args{"request_id": req, "action": "answer", "content": args{"name": "Ada", "age": 36}})
		if text := r.ended(turn, "completed").Text; !strings.Contains(text, "Ada") || !strings.Contains(text, "accept") {
			r.t.Errorf("the server heard %s", text)
		}
		turn = r.send(s, "call form {}\noutputs")
		r.must("respond", args{"request_id": r.asked(turn), "action": "deny"})
		if text := r.ended(turn, "completed").Text; !strings.Contains(text, "decline") {
			r.t.Errorf("the server heard %s", text)
		}
		r.check(s)
	})
}

func TestCodexIsSteeredMidStream(t *testing.T) {
	onCodex(t, func(r *scenario) {
		s := r.start(nil)
		turn := r.send(s, "slow 30\nstream 100")
		r.until(turn, "message_delta")
		r.must("steer", args{"session_id": s, "prompt": "say another way"})
		if text := r.ended(turn, "completed").Text; text != "another way" {
			r.t.Errorf("the turn says %q", text)
		}
		r.until(turn, "steered")
		if _, res := r.try("steer", args{"session_id": s, "prompt": "say too late"}); !res.IsError {
			r.t.Errorf("a turn that has ended was steered: %s", res.Text)
		}
		r.check(s)
	})
}

func TestCodexMeetsASchemaOrIsFoundNotTo(t *testing.T) {
	schema := args{"type": "object", "properties": args{"n": args{"type": "integer"}}, "required": []string{"n"}, "additionalProperties": false}
	onCodex(t, func(r *scenario) {
		s := r.start(args{"output_schema": schema})
		met := r.send(s, `say {"n":3}`)
		r.ended(met, "completed")
		if got := r.look(met, nil); string(got.StructuredOutput) != `{"n":3}` || got.StructuredError != "" {
			r.t.Errorf("met: %s, %s", got.StructuredOutput, got.StructuredError)
		}
		for _, said := range []string{`{"n":"three"}`, "three"} {
			missed := r.send(s, "say "+said)
			r.ended(missed, "completed")
			if got := r.look(missed, nil); got.StructuredError == "" || got.Text != said {
				r.t.Errorf("%s: %s, %q", said, got.StructuredOutput, got.StructuredError)
			}
		}
		r.check(s)
	})
}

func TestBothBranchesOfACodexForkRemember(t *testing.T) {
	onCodex(t, func(r *scenario) {
		s := r.start(nil)
		r.ended(r.send(s, "say The word is heron."), "completed")
		branch := r.must("start_session", args{"resume": s, "fork": true, "env": r.agent.env}).SessionID
		if branch == s {
			r.t.Fatal("the branch has the id of its trunk")
		}
		r.ended(r.send(branch, "say Here it is stork."), "completed")
		r.ended(r.send(s, "say And here it is crane."), "completed")
		for id, words := range map[string][3]string{s: {"heron", "crane", "stork"}, branch: {"heron", "stork", "crane"}} {
			text := r.ended(r.send(id, "remember"), "completed").Text
			if !strings.Contains(text, words[0]) || !strings.Contains(text, words[1]) || strings.Contains(text, words[2]) {
				r.t.Errorf("it remembers %s, not %v", text, words)
			}
			r.check(id)
		}
	})
}

func TestCodexsLongAnswerIsReadWholeInPages(t *testing.T) {
	const length = 2 << 20
	onCodex(t, func(r *scenario) {
		s := r.start(nil)
		turn := r.send(s, fmt.Sprintf("fill %d", length))
		r.ended(turn, "completed")
		var whole strings.Builder
		pages := 0
		for offset := 0; ; pages++ {
			page := r.look(turn, args{"offset": offset, "max_bytes": 256 << 10})
			whole.WriteString(page.Text)
			if page.NextOffset == 0 {
				break
			}
			offset = page.NextOffset
		}
		if whole.Len() != length || pages < 7 {
			r.t.Fatalf("%d bytes in %d pages", whole.Len(), pages)
		}
		for i, line := range strings.SplitAfter(whole.String(), "\n") {
			if want := fmt.Sprintf("%063d\n", i+1); line != want && line != "" {
				r.t.Fatalf("line %d is %q", i+1, line)
			}
		}
	})
}

func TestWhatCodexChangedIsCheckedAgainstGit(t *testing.T) {
	onCodex(t, func(r *scenario) {
		if out, err := exec.Command("git", "-C", r.cwd, "init", "-q").CombinedOutput(); err != nil {
			r.t.Fatalf("git init: %v: %s", err, out)
		}
		s := r.start(args{"approval_mode": "auto_approve", "sandbox_mode": "unrestricted"})
		turn := r.send(s, "patch told.txt text\nrun touch untold.txt\nsay over")
		r.ended(turn, "completed")
		got := r.look(turn, nil)
		paths := fmt.Sprint(got.FilesChanged)
		if len(got.FilesChanged) != 2 || !strings.Contains(paths, "told.txt") || !strings.Contains(paths, "untold.txt") {
			r.t.Errorf("files changed: %s", paths)
		}
		for _, f := range got.FilesChanged {
			if f.Unreported != (filepath.Base(f.Path) == "untold.txt") {
				r.t.Errorf("%s is unreported: %t", f.Path, f.Unreported)
			}
		}
		if len(got.Warnings) != 0 {
			r.t.Errorf("warnings: %q", got.Warnings)
		}
		r.check(s)
	})
}

// A Codex left to its defaults tries a refused connection for ever.
func TestARefusedConnectionEndsByOurTimeout(t *testing.T) {
	onCodex(t, func(r *scenario) {
		config := strings.Replace(fmt.Sprintf(codexConfig, "http://127.0.0.1:9"), "unbounded_connection_retries = false\n", "", 1)
		if err := os.WriteFile(filepath.Join(r.agent.env["CODEX_HOME"], "config.toml"), []byte(config), 0o600); err != nil {
			r.t.Fatal(err)
		}
		s := r.start(args{"turn_runtime_timeout_ms": 3000})
		g := r.ended(r.send(s, "say never"), "failed")
		if g.Error.Code != "turn_runtime_timeout" {
			r.t.Errorf("the turn failed with %+v", g.Error)
		}
		if g := r.must("inspect", args{"id": s}); g.Status != "idle" {
			r.t.Errorf("the session is %s", g.Status)
		}
		r.check(s)
	})
}

func TestAConversationOpenElsewhereIsRefusedInPlainWords(t *testing.T) {
	onCodex(t, func(r *scenario) {
		s := r.start(nil)
		r.ended(r.send(s, "say hello"), "completed")
		other := newScenario(r.t, r.agent) // with a journal of its own
		_, res := other.try("start_session", args{"provider": "codex", "cwd": r.cwd, "env": r.agent.env,
			"provider_session_id": r.look(s, nil).ProviderSessionID})
		if !res.IsError || !strings.Contains(res.Text, "open in another program") {
			r.t.Errorf("a second writer: %s", res.Text)
		}
		r.ended(r.send(s, "say still mine"), "completed")
		r.check(s)
	})
}
