package main_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

func TestAClientIsToldThatItsFlagsAreNotTheServers(t *testing.T) {
	b := inBackground(t)
	allowed := folder(t, "a", "b")
	first, said := b.from(allowed, "--allow-dir", "a", "--max-sessions", "3")
	first.must("list_providers", nil)
	if said := said(); said != "" {
		t.Errorf("the client that started the server was told: %s", said)
	}
	same, said := b.from(filepath.Join(allowed, "b"), "--max-sessions=3", "--allow-dir", "../a", "--log-level=error")
	same.must("list_providers", nil)
	if said := said(); said != "" {
		t.Errorf("a client with the same flags was told: %s", said)
	}
	other, said := b.from(allowed, "--allow-dir", "b")
	other.must("list_providers", nil)
	got := said()
	for _, want := range []string{"--allow-dir, --max-sessions has no effect", fmt.Sprintf("process %d", b.pids()[0]), b.address} {
		if !strings.Contains(got, want) {
			t.Errorf("a client with other flags was told %q, which lacks %q", got, want)
		}
	}
	if strings.Contains(got, allowed) {
		t.Errorf("it was told the flags themselves: %s", got)
	}
	for flags, want := range map[string]string{
		"":                     "",
		"--max-sessions=3":     "",
		"--durability=off":     "--durability has no effect",
		"--db=elsewhere.db":    "--db has no effect",
		"--log-level=error":    "",
		"--store-failure=stop": "connect with --start",
	} {
		var argv []string
		if flags != "" {
			argv = []string{flags}
		}
		plain, said := b.plain(allowed, argv...)
		plain.must("list_providers", nil)
		if got := said(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("connect %s without --start was told %q, not %q", flags, got, want)
		}
	}
}

// TestConnectSaysAtOnceWhereItLooksInVain reads what a person sees of a client
// that is put in front of nobody.
func TestConnectSaysAtOnceWhereItLooksInVain(t *testing.T) {
	address := "unix:" + filepath.Join(t.TempDir(), "nobody")
	cmd := exec.Command(binary, "connect", address)
	cmd.Env = clean(t)
	stdin, err := cmd.StdinPipe() // its input does not end before it does
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	lines := bufio.NewReader(stderr)
	first, _ := lines.ReadString('\n')
	if took := time.Since(begun); took > 5*time.Second || !strings.Contains(first, address) || !strings.Contains(first, "no such file") {
		t.Errorf("after %v it said %q", took, first)
	}
	rest, _ := io.ReadAll(lines)
	_ = cmd.Wait() // the exit code is looked at
	if took := time.Since(begun); took > 10*time.Second || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended after %v with %v", took, cmd.ProcessState)
	}
	if !strings.Contains(string(rest), address) || !strings.Contains(string(rest), "--start") {
		t.Errorf("its last words: %s", rest)
	}
	if !strings.Contains(stdout.String(), address) {
		t.Errorf("the client was answered %s", stdout.String())
	}
}

func TestConnectNamesTheFileOfATokenThatIsNotKnown(t *testing.T) {
	s := serve(t, t.TempDir(), "--token-file", tokens(t, "the-token-of-the-server\n"))
	file := tokens(t, "another-token\n")
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), transport.PathMCP)
	cmd := exec.Command(binary, "connect", "--token-file", file, address)
	cmd.Env = clean(t)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	for name, said := range map[string]string{"the client": stdout.String(), "the person": stderr.String()} {
		if !strings.Contains(said, file) || strings.Contains(said, "another-token") {
			t.Errorf("%s is told %q, without %s", name, said, file)
		}
	}
	if !strings.Contains(stdout.String(), "this token is not known here") {
		t.Errorf("the client is told %s", stdout.String())
	}
}

// A server that is started below an agent would end with the agent's guard.
func TestConnectStartsNoServerBelowAnAgent(t *testing.T) {
	b := inBackground(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	below := func() *exec.Cmd {
		cmd := exec.CommandContext(ctx, binary, "--db", filepath.Join(b.dir, "journal.db"), "connect", "--start", b.address)
		cmd.Env = append(clean(t), process.MarkerVar+"=ins_other:ses_agent")
		return cmd
	}
	refused := below()
	stdin, err := refused.StdinPipe() // stays open: the client does not leave
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	out, err := refused.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "below an agent") || !strings.Contains(string(out), "harness-mcp serve --http") {
		t.Errorf("it ended with %v and said %s", err, out)
	}
	if pids := b.pids(); len(pids) > 0 {
		t.Fatalf("servers %v run", pids)
	}
	b.connect() // outside of any agent: starts one
	c := mcptest.Start(t, below())
	c.Initialize(t.Context())
	if id := (&testClient{c, t}).must("start_session", args{"provider": "demo"}).SessionID; id == "" {
		t.Error("a server that runs is not reached from below an agent")
	}
}
