package main_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// These tests have the real Claude Code and the real Codex judge the program
// as clients: they read the entry that config prints. Their models are the
// loopback one.

// printed is what config prints for a client.
func printed(t *testing.T, client string, flags ...string) string {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"config", client}, flags...)...)
	cmd.Env = clean(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("config %s: %v", client, err)
	}
	return string(out)
}

// program runs a program in a folder, with the environment of a.
func (a agent) program(t *testing.T, dir, stdin string, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = a.environ(t)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (a agent) environ(t *testing.T) []string {
	env := clean(t)
	for name, value := range a.env {
		env = append(env, name+"="+value)
	}
	return env
}

func (a agent) exe(name string) string { return filepath.Join(a.pathDir, name) }

// recommended are the flags of config for an entry that leads to b.
func (b *background) recommended(more ...string) []string {
	return append([]string{"--background", "--db", filepath.Join(b.dir, "journal.db")}, more...)
}

// one fails the test unless one server was started in the background.
func (b *background) one() {
	b.t.Helper()
	if pids := b.pids(); len(pids) != 1 {
		b.t.Errorf("%d servers were started in the background, want 1", len(pids))
	}
}

func TestClaudeCodeFindsTheServerHealthy(t *testing.T) {
	a := claudeAgent(t)
	s := serve(t, t.TempDir(), "--token-file", tokens(t, "a-token-for-claude\n"))
	b := inBackground(t)
	claude := func(argv ...string) string {
		t.Helper()
		out, err := a.program(t, t.TempDir(), "", append([]string{a.exe("claude")}, argv...)...)
		if err != nil {
			t.Fatalf("claude %v: %v\n%s", argv, err, out)
		}
		return out
	}
	for name, flags := range map[string][]string{"harness": nil, "shared": b.recommended()} {
		line := regexp.MustCompile(`(?m)^claude mcp add --scope user harness (.*)$`).FindStringSubmatch(printed(t, "claude", flags...))
		if line == nil {
			t.Fatal("config prints no command for Claude Code")
		}
		claude(append([]string{"mcp", "add", "--scope", "user", name}, strings.Fields(line[1])...)...)
	}
	a.env["TEAM_TOKEN"] = "a-token-for-claude"
	line := regexp.MustCompile(`(?m)^claude (mcp add .* harness .*) --header '(.*)'$`).FindStringSubmatch(printed(t, "claude", "--http", s.url, "--token-env", "TEAM_TOKEN"))
	if line == nil {
		t.Fatal("config prints no command for a server over HTTP")
	}
	claude(append(strings.Fields(strings.Replace(line[1], "harness", "remote", 1)), "--header", line[2])...)
	out := claude("mcp", "list")
	for _, name := range []string{"harness", "shared", "remote"} {
		if !regexp.MustCompile(name + `: .*Connected`).MatchString(out) {
			t.Errorf("%s is not healthy:\n%s", name, out)
		}
	}
	b.one()
}

func TestCodexListsTheTools(t *testing.T) {
	a := codexAgent(t)
	s := serve(t, t.TempDir(), "--token-file", tokens(t, "a-token-for-codex\n"))
	config := filepath.Join(a.env["CODEX_HOME"], "config.toml")
	b := inBackground(t)
	shared := strings.Replace(printed(t, "codex", b.recommended()...), "mcp_servers.harness", "mcp_servers.shared", 1)
	appendTo(t, config, printed(t, "codex")+shared+strings.Replace(printed(t, "codex", "--http", s.url, "--token-env", "REMOTE_BEARER"), "mcp_servers.harness", "mcp_servers.remote", 1))
	cmd := exec.Command(a.exe("codex"), "app-server")
	cmd.Env = append(a.environ(t), "REMOTE_BEARER=a-token-for-codex")
	c := mcptest.Start(t, cmd)
	if err := c.Do(t.Context(), "initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Notify("initialized", nil); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Data []struct {
			Name  string                     `json:"name"`
			Tools map[string]json.RawMessage `json:"tools"`
		} `json:"data"`
	}
	if err := c.Do(t.Context(), "mcpServerStatus/list", map[string]any{}, &list); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, server := range list.Data {
		for _, tool := range []string{"delegate", "await", "respond", "close"} {
			if _, ok := server.Tools[tool]; !ok {
				t.Errorf("%s lacks %s", server.Name, tool)
			}
		}
		found = append(found, server.Name)
	}
	slices.Sort(found)
	if !slices.Equal(found, []string{"harness", "remote", "shared"}) {
		t.Errorf("Codex sees the servers %v", found)
	}
	b.one()
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// jsonOf returns arguments for a directive of the model.
func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var requestID = regexp.MustCompile(`req_[0-9a-z]{10}`)

// delegation has one agent delegate to the other through a server that
// outlives it, and then answer what the other asks.
func delegation(t *testing.T, to agent, prefix string, tell func(b *background, prompt string) string) {
	b := inBackground(t)
	file := filepath.Join(t.TempDir(), "made")
	said := tell(b, "call "+prefix+"delegate "+jsonOf(t, args{
		"provider": to.provider, "cwd": filepath.Dir(file), "env": to.env, "wait_ms": 40000, "prompt": to.escalate(file) + "\nsay it is made",
	})+"\noutputs")
	request := requestID.FindString(said)
	if request == "" {
		t.Fatalf("no request reached the client:\n%s", said)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file was made before the approval")
	}
	said = tell(b, "call "+prefix+"respond "+jsonOf(t, args{"request_id": request, "action": "approve", "wait_ms": 40000})+"\noutputs")
	if !strings.Contains(said, "it is made") {
		t.Errorf("the result did not reach the client:\n%s", said)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the delegated work was not done: %v", err)
	}
}

// behind is the command line of a server that outlives its client.
func (b *background) behind(pathDir string) []string {
	return []string{"--db", filepath.Join(b.dir, "journal.db"), "--path-dir", pathDir, "connect", "--start", b.address}
}

func TestClaudeCodeDelegatesToCodexAndApproves(t *testing.T) {
	a, to := claudeAgent(t), codexAgent(t)
	delegation(t, to, "mcp__harness__", func(b *background, prompt string) string {
		_, entry, _ := strings.Cut(printed(t, "claude", b.recommended("--path-dir", to.pathDir)...), "{")
		file := filepath.Join(b.dir, "mcp.json")
		if err := os.WriteFile(file, []byte("{"+entry), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := a.program(t, t.TempDir(), prompt, a.exe("claude"), "-p", "--mcp-config", file, "--strict-mcp-config", "--allowedTools", "mcp__harness")
		if err != nil {
			t.Errorf("claude: %v\n%s", err, out)
		}
		return out
	})
}

func TestCodexDelegatesToClaudeCodeAndApproves(t *testing.T) {
	a, to := codexAgent(t), claudeAgent(t)
	config := filepath.Join(a.env["CODEX_HOME"], "config.toml")
	written := false
	delegation(t, to, "", func(b *background, prompt string) string {
		if !written {
			appendTo(t, config, printed(t, "codex", b.recommended("--path-dir", to.pathDir)...))
			written = true
		}
		out, err := a.program(t, t.TempDir(), prompt, a.exe("codex"), "exec", "--skip-git-repo-check", "-")
		if err != nil {
			t.Errorf("codex: %v\n%s", err, out)
		}
		return out
	})
}
