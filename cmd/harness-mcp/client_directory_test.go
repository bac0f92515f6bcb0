package main_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// from is a client of b that was started in a folder.
func (b *background) from(dir string, flags ...string) (*testClient, func() string) {
	b.t.Helper()
	argv := append([]string{"--db", filepath.Join(b.dir, "journal.db"), "connect", "--start", b.address}, flags...)
	cmd := exec.Command(binary, argv...)
	cmd.Env, cmd.Dir = clean(b.t), dir
	c := mcptest.Start(b.t, cmd)
	c.Initialize(b.t.Context())
	return &testClient{c, b.t}, c.Stderr
}

// plain is from for a client that starts no server.
func (b *background) plain(dir string, flags ...string) (*testClient, func() string) {
	b.t.Helper()
	cmd := exec.Command(binary, append([]string{"connect", b.address}, flags...)...)
	cmd.Env, cmd.Dir = clean(b.t), dir
	c := mcptest.Start(b.t, cmd)
	c.Initialize(b.t.Context())
	return &testClient{c, b.t}, c.Stderr
}

// folder is a new folder by its real path, with some folders in it.
func folder(t testing.TB, inside ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range inside {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// worksIn says where a session and a process of a call really are.
func (p *testClient) worksIn(cwd args) (session, process string) {
	p.t.Helper()
	where := filepath.Join(p.t.TempDir(), "where")
	open, run := args{"provider": "demo"}, args{"executable": "sh", "argv": []string{"-c", `pwd > "$0"`, where}, "wait_ms": 20_000}
	for k, v := range cwd {
		open[k], run[k] = v, v
	}
	id := p.must("start_session", open).SessionID
	session = p.cwdOf(id)
	p.must("close", args{"id": id})
	p.must("start_process", run)
	out, err := os.ReadFile(where)
	if err != nil {
		p.t.Fatal(err)
	}
	return session, strings.TrimSpace(string(out))
}

func (p *testClient) cwdOf(session string) string {
	p.t.Helper()
	_, res := p.try("inspect", args{"id": session})
	var of struct{ CWD string }
	if err := json.Unmarshal(res.Structured, &of); err != nil {
		p.t.Fatal(err)
	}
	return of.CWD
}

func TestWorkIsDoneWhereItsClientIs(t *testing.T) {
	b := inBackground(t)
	one, two := folder(t, "sub"), folder(t, "sub")
	first, _ := b.from(one)
	second, _ := b.from(two)
	for _, tc := range []struct {
		client *testClient
		cwd    args
		want   string
	}{
		{first, nil, one},
		{second, nil, two},
		{second, args{"cwd": "sub"}, filepath.Join(two, "sub")},
		{second, args{"cwd": one}, one},
		{first, args{"cwd": "sub"}, filepath.Join(one, "sub")},
	} {
		session, process := tc.client.worksIn(tc.cwd)
		if session != tc.want || process != tc.want {
			t.Errorf("%v from a client in %s: the session works in %q, the process in %q", tc.cwd, tc.want, session, process)
		}
	}
	// A session goes on where it was, whoever resumes it.
	id := first.must("start_session", args{"provider": "demo"}).SessionID
	turn := first.must("send_message", args{"session_id": id, "prompt": "say hello"}).TurnID
	first.must("await", args{"ids": []string{turn}})
	first.must("close", args{"id": id})
	second.must("start_session", args{"resume": id})
	if cwd := second.cwdOf(id); cwd != one {
		t.Errorf("the resumed session works in %q", cwd)
	}
	b.one()
}

func TestTheFolderOfAClientWidensNothing(t *testing.T) {
	b := inBackground(t)
	allowed, outside := folder(t), folder(t)
	inside, _ := b.from(allowed, "--allow-dir", allowed)
	inside.must("close", args{"id": inside.must("start_session", args{"provider": "demo"}).SessionID})
	other, _ := b.from(outside, "--allow-dir", allowed)
	for _, tool := range []string{"start_session", "start_process"} {
		for _, a := range []args{{}, {"cwd": "."}} {
			a["provider"], a["executable"] = "demo", "pwd"
			delete(a, map[string]string{"start_session": "executable", "start_process": "provider"}[tool])
			if g, res := other.try(tool, a); g.Error.Code != "forbidden_path" {
				t.Errorf("%s %v: %s", tool, a, res.Text)
			}
		}
	}
}

func TestOverHTTPARelativeFolderNeedsAClientThatHasOne(t *testing.T) {
	s := serve(t, t.TempDir(), "--token-file", tokens(t, "a-token\n"))
	as := func(dir string) *testClient {
		c := mcptest.Connect(t, transport.ConnectOptions{URL: s.url, Token: "a-token", Directory: dir})
		c.Initialize(t.Context())
		return &testClient{c, t}
	}
	nowhere, odd := as(""), folder(t, "a b%41é")
	for _, a := range []args{{"cwd": "sub"}, {"cwd": "."}} {
		for tool, more := range map[string]args{
			"start_session": {"provider": "demo"}, "delegate": {"provider": "demo", "prompt": "say x"}, "start_process": {"executable": "pwd"},
		} {
			for k, v := range a {
				more[k] = v
			}
			g, res := nowhere.try(tool, more)
			if g.Error.Code != "invalid_argument" || g.Error.Details["field"] != "cwd" || !strings.Contains(res.Text, "absolute") {
				t.Errorf("%s %v: %s", tool, more, res.Text)
			}
		}
	}
	g, res := nowhere.try("start_session", args{"provider": "demo"})
	if g.Error.Code != "" || !strings.Contains(res.Text, "no cwd was given") {
		t.Errorf("no cwd at all: %s", res.Text)
	}
	if session, process := nowhere.worksIn(args{"cwd": odd}); session != odd || process != odd {
		t.Errorf("an absolute cwd: %q, %q", session, process)
	}
	odd = filepath.Join(odd, "a b%41é")
	if session, process := as(odd).worksIn(nil); session != odd || process != odd {
		t.Errorf("the client's own: %q, %q", session, process)
	}
}

// TestAFolderThatIsNoneIsRefused sends by hand what connect never sends.
func TestAFolderThatIsNoneIsRefused(t *testing.T) {
	s := serve(t, t.TempDir(), "--token-file", tokens(t, "a-token\n"))
	for given, want := range map[string]int{"/tmp": http.StatusOK, "tmp": http.StatusBadRequest, "/%zz": http.StatusBadRequest, "/a%00b": http.StatusBadRequest} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, bytes.NewReader([]byte(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Authorization": {"Bearer a-token"}, transport.HeaderDirectory: {given}}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %s, want %d", given, response.Status, want)
		}
	}
}
