package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// clean is the environment of a child of these tests.
func clean(t testing.TB) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
}

// served is the built program as a server over HTTP.
type served struct {
	t    testing.TB
	url  string
	dir  string
	stop func() error
}

var serving = regexp.MustCompile(`process (\d+) serves MCP on (\S+)`)

// serve starts the program on a free port, or as flags say, and waits until it
// serves.
func serve(t testing.TB, dir string, flags ...string) *served {
	t.Helper()
	if len(flags) == 0 || !strings.HasPrefix(flags[0], "--http") {
		flags = append([]string{"--http=127.0.0.1:0"}, flags...)
	}
	cmd := exec.Command(binary, append([]string{"serve", "--db", filepath.Join(dir, "journal.db")}, flags...)...)
	cmd.Env = clean(t)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, dir: dir}
	ended := make(chan error, 1)
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if m := serving.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[2]
			}
		}
		ended <- cmd.Wait()
	}()
	s.stop = func() error {
		s.stop = func() error { return nil }
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			return err
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			return errors.New("the server did not end within 20 s of SIGTERM")
		}
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("the end of the server: %v", err)
		}
	})
	select {
	case s.url = <-found:
	case err := <-ended:
		t.Fatalf("the server ended: %v", err)
	case <-time.After(patience):
		t.Fatal("the server did not begin to serve")
	}
	return s
}

// testClient is a client with a token.
type testClient struct {
	*mcptest.Client
	t testing.TB
}

func (s *served) as(token string) *testClient {
	s.t.Helper()
	c := mcptest.Connect(s.t, transport.ConnectOptions{URL: s.url, Token: token})
	c.Initialize(s.t.Context())
	return &testClient{c, s.t}
}

func (p *testClient) try(tool string, a args) (got, mcptest.Result) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	res, err := p.Call(ctx, tool, a)
	if err != nil {
		p.t.Fatalf("%s: %v", tool, err)
	}
	var g got
	if err := json.Unmarshal(res.Structured, &g); err != nil {
		p.t.Fatalf("%s answered %s: %v", tool, res.Structured, err)
	}
	return g, res
}

func (p *testClient) must(tool string, a args) got {
	p.t.Helper()
	g, res := p.try(tool, a)
	if res.IsError {
		p.t.Fatalf("%s %v: %s", tool, a, res.Text)
	}
	return g
}

func tokens(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheIDsOfOnePersonAreUnknownToAnother(t *testing.T) {
	s := serve(t, t.TempDir(), "--token-file", tokens(t, "alice alice-token\nbob bob-token\n"), "--shared-user")
	alice, bob := s.as("alice-token"), s.as("bob-token")
	session := alice.must("start_session", args{"provider": "demo", "cwd": t.TempDir(), "session_id": "mine"}).SessionID
	turn := alice.must("send_message", args{"session_id": session, "prompt": "approve\nsay done"}).TurnID
	request := alice.must("await", args{"ids": []string{turn}}).Results[0].Pending[0].RequestID
	_, sleep := alice.try("start_process", args{"executable": "sleep", "argv": []string{"60"}, "cwd": t.TempDir()})
	process := regexp.MustCompile(`prc_[0-9a-z]{10}`).FindString(sleep.Text)
	if process == "" {
		t.Fatalf("start_process: %s", sleep.Text)
	}
	for _, id := range []string{session, turn, request, process} {
		for tool, a := range map[string]args{
			"inspect": {"id": id}, "await": {"ids": []string{id}, "wait_ms": 0}, "replay": {"id": id}, "close": {"id": id, "force": true},
			"prune": {"id": id}, "interrupt": {"session_id": id}, "send_message": {"session_id": id, "prompt": "say hello"},
			"follow_up": {"session_id": id, "prompt": "say hello"}, "steer": {"session_id": id, "prompt": "say hello"},
			"configure": {"session_id": id, "model": "m"}, "respond": {"request_id": id, "action": "approve"},
			"start_session": {"resume": id}, "send_input": {"process_id": id, "signal": "SIGTERM"},
		} {
			theirs, raw := bob.try(tool, a)
			nobodys, _ := bob.try(tool, changed(a, id))
			refused := theirs.Error.Code != "" || tool == "prune" && !strings.Contains(string(raw.Structured), id)
			if !refused || theirs.Error.Code != nobodys.Error.Code {
				t.Errorf("%s of another's %s: %q, of nothing: %q", tool, id, theirs.Error.Code, nobodys.Error.Code)
			}
			if tool == "inspect" && theirs.Error.Code != "not_found" {
				t.Errorf("inspect: %q", theirs.Error.Code)
			}
		}
	}
	for _, kind := range []string{"sessions", "turns", "requests", "processes"} {
		if items := bob.must("list", args{"kind": kind}).Items; len(items) != 0 {
			t.Errorf("bob sees %d of alice's %s", len(items), kind)
		}
	}
	// The same chosen id is free for another person, and means another thing.
	bobs := bob.must("start_session", args{"provider": "demo", "cwd": t.TempDir(), "session_id": "mine"})
	if bobs.Status != "idle" {
		t.Errorf("bob's own session: %+v", bobs)
	}
	alice.must("respond", args{"request_id": request, "action": "approve"})
	if got := alice.must("await", args{"ids": []string{turn}}); got.Results[0].Status != "completed" {
		t.Errorf("alice's turn: %+v", got.Results)
	}
}

// changed is a call with an id that nobody has.
func changed(a args, id string) args {
	nobodys := id[:len(id)-3] + "zzz"
	b := args{}
	for k, v := range a {
		switch v {
		case id:
			v = nobodys
		}
		if k == "ids" {
			v = []string{nobodys}
		}
		b[k] = v
	}
	return b
}

func TestNobodyHearsOfTheResourcesOfAnother(t *testing.T) {
	s := serve(t, t.TempDir(), "--token-file", tokens(t, "alice alice-token\nbob bob-token\n"), "--shared-user")
	alice, bob := s.as("alice-token"), s.as("bob-token")
	session := alice.must("start_session", args{"provider": "demo", "cwd": t.TempDir()}).SessionID
	uri := "harness://sessions/" + session
	for _, p := range []*testClient{alice, bob} {
		_ = p.Do(t.Context(), "resources/subscribe", args{"uri": uri}, nil) // bob's may be refused
	}
	if err := bob.Do(t.Context(), "resources/read", args{"uri": uri}, nil); err == nil {
		t.Error("bob reads alice's session")
	}
	turn := alice.must("send_message", args{"session_id": session, "prompt": "say hello"}).TurnID
	alice.must("await", args{"ids": []string{turn}})
	alice.WaitFor(0, func(m mcptest.Message) bool { return m.Method == "notifications/resources/updated" })
	own := bob.must("start_session", args{"provider": "demo", "cwd": t.TempDir()}).SessionID
	bob.WaitFor(0, func(m mcptest.Message) bool { return m.Method == "notifications/resources/list_changed" })
	for _, m := range bob.Messages() {
		if strings.Contains(string(m.Raw), session) && m.Method != "" {
			t.Errorf("bob heard %s", m.Raw)
		}
	}
	bob.must("close", args{"id": own})
}

// TestTheStateOfACallServesNobodyElse takes what a client carries from one
// round of a call to the next to other calls and to another person.
func TestTheStateOfACallServesNobodyElse(t *testing.T) {
	s := serve(t, t.TempDir(), "--token-file", tokens(t, "alice alice-token\nbob bob-token\n"), "--shared-user")
	modern := func(token string) *testClient {
		c := mcptest.Connect(t, transport.ConnectOptions{URL: s.url, Token: token})
		c.Capabilities = args{"elicitation": args{"form": args{}}}
		c.Discover(t.Context())
		return &testClient{c, t}
	}
	alice, bob := modern("alice-token"), modern("bob-token")
	session := alice.must("start_session", args{"provider": "demo", "cwd": t.TempDir(), "answer_by": "user"}).SessionID
	turn := alice.must("send_message", args{"session_id": session, "prompt": "approve\nsay done"}).TurnID
	type round struct {
		ResultType    string `json:"resultType"`
		InputRequests map[string]struct {
			Params struct {
				RequestedSchema struct {
					Properties struct {
						Decision struct {
							Enum []string `json:"enum"`
						} `json:"decision"`
					} `json:"properties"`
				} `json:"requestedSchema"`
			} `json:"params"`
		} `json:"inputRequests"`
		RequestState      string `json:"requestState"`
		IsError           bool   `json:"isError"`
		StructuredContent struct {
			Outcome string `json:"outcome"`
		} `json:"structuredContent"`
	}
	call := func(p *testClient, a args, state string, answers args) (got round) {
		t.Helper()
		params := args{"name": "await", "arguments": a}
		if state != "" {
			params["requestState"], params["inputResponses"] = state, answers
		}
		if err := p.Do(t.Context(), "tools/call", params, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	wait := args{"ids": []string{turn}}
	first := call(alice, wait, "", nil)
	if first.ResultType != "input_required" || first.RequestState == "" {
		t.Fatalf("the first round: %+v", first)
	}
	answers := args{}
	for id, r := range first.InputRequests { // the first word approves
		answers[id] = args{"action": "accept", "content": args{"decision": r.Params.RequestedSchema.Properties.Decision.Enum[0]}}
	}
	other := alice.must("send_message", args{"session_id": alice.must("start_session", args{"provider": "demo", "cwd": t.TempDir()}).SessionID, "prompt": "slow 1000\nsay x"}).TurnID
	for name, got := range map[string]round{
		"another person":  call(bob, wait, first.RequestState, answers),
		"another call":    call(alice, args{"ids": []string{other}}, first.RequestState, answers),
		"a changed state": call(alice, wait, "x"+first.RequestState, answers),
	} {
		if !got.IsError {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if status := alice.must("inspect", args{"id": turn}).Status; status != "awaiting_input" {
		t.Errorf("the turn is %s: an answer was taken", status)
	}
	if got := call(alice, wait, first.RequestState, answers); got.IsError {
		t.Errorf("the second round: %+v", got)
	}
	if got := alice.must("await", args{"ids": []string{turn}}); len(got.Results) != 1 || got.Results[0].Status != "completed" {
		t.Errorf("the turn: %+v", got.Results)
	}
	if got := call(alice, wait, first.RequestState, answers); got.StructuredContent.Outcome != "done" {
		t.Errorf("the same round again: %+v", got)
	}
}

func TestNobodyTakesTheProcessesOfAnother(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.json")
	if err := os.WriteFile(config, []byte(`{"max-processes-per-owner": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir, "--config", config, "--token-file", tokens(t, "alice a-token\nbob b-token\n"), "--shared-user")
	alice, bob := s.as("a-token"), s.as("b-token")
	run := args{"executable": "sleep", "argv": []string{"600"}, "cwd": dir}
	first := alice.must("start_process", run)
	g, res := alice.try("start_process", run)
	if g.Error.Code != "capacity_exceeded" || g.Error.Details["limit"] != "max_processes_per_owner" {
		t.Errorf("alice's second process: %s", res.Text)
	}
	bob.must("start_process", run)
	alice.must("close", args{"id": first.ProcessID, "force": true})
	alice.must("start_process", run)
}

func TestALinkOutOfTheAllowedFolderIsRefused(t *testing.T) {
	allowed, outside := t.TempDir(), t.TempDir()
	link := filepath.Join(allowed, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(allowed, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	s := serve(t, t.TempDir(), "--token-file", tokens(t, "some-token\n"), "--allow-dir", allowed)
	p := s.as("some-token")
	for _, cwd := range []string{outside, link, filepath.Join(allowed, "..", filepath.Base(outside)), link + "/."} {
		if got, _ := p.try("start_session", args{"provider": "demo", "cwd": cwd}); got.Error.Code != "forbidden_path" {
			t.Errorf("%s: %q", cwd, got.Error.Code)
		}
		if got, _ := p.try("start_session", args{"provider": "demo", "cwd": inside, "add_dirs": []string{cwd}}); got.Error.Code != "forbidden_path" {
			t.Errorf("add_dirs %s: %q", cwd, got.Error.Code)
		}
	}
	p.must("start_session", args{"provider": "demo", "cwd": inside})
}

func TestAServerThatOthersCanReachMustBeConfined(t *testing.T) {
	cert, key := certificate(t)
	for name, tc := range map[string]struct {
		flags []string
		wants []string // what the refusal names; nil if it serves
	}{
		"bare":               {[]string{"--http=0.0.0.0:0"}, []string{"--allow-dir", "--allow-exec", "--tls-cert"}},
		"unconfined":         {[]string{"--http=0.0.0.0:0", "--behind-proxy"}, []string{"--allow-dir", "--allow-exec"}},
		"without TLS":        {[]string{"--http=0.0.0.0:0", "--allow-dir", t.TempDir(), "--allow-exec", "true"}, []string{"--behind-proxy"}},
		"half a certificate": {[]string{"--http=127.0.0.1:0", "--tls-cert", cert}, []string{"--tls-key"}},
		"no address":         {[]string{"--http=nonsense"}, []string{"--http"}},
		"behind a proxy":     {[]string{"--http=0.0.0.0:0", "--behind-proxy", "--allow-dir", t.TempDir(), "--allow-exec", "true"}, nil},
		"with a certificate": {[]string{"--http=0.0.0.0:0", "--tls-cert", cert, "--tls-key", key, "--allow-dir", t.TempDir(), "--allow-exec", "true"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.wants == nil {
				if s := serve(t, t.TempDir(), tc.flags...); strings.HasPrefix(s.url, "https://") != (name == "with a certificate") {
					t.Errorf("it serves %s", s.url)
				}
				return
			}
			cmd := exec.Command(binary, append([]string{"serve", "--db", filepath.Join(t.TempDir(), "journal.db")}, tc.flags...)...)
			cmd.Env = clean(t)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("it served")
			}
			for _, want := range tc.wants {
				if !strings.Contains(string(out), want) {
					t.Errorf("the refusal does not name %s: %s", want, out)
				}
			}
		})
	}
}

func TestAServerOverTLSIsReached(t *testing.T) {
	cert, key := certificate(t)
	s := serve(t, t.TempDir(), "--tls-cert", cert, "--tls-key", key)
	cmd := exec.Command(binary, "--db", filepath.Join(s.dir, "journal.db"), "connect", s.url)
	cmd.Env = append(clean(t), "SSL_CERT_FILE="+cert)
	c := mcptest.Start(t, cmd)
	c.Initialize(t.Context())
	if tools, err := c.ListTools(t.Context()); err != nil || len(tools) == 0 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
}

func TestTheTokenIsMadeAndNeverShown(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	token, err := transport.FirstToken(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(s.url, "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", response.Status)
	}
	s.as(token).must("list_providers", nil)
}

// background is a server that connect started; it is ended with the test.
type background struct {
	t       testing.TB
	dir     string
	address string
}

func inBackground(t testing.TB) *background {
	t.Helper()
	dir, err := os.MkdirTemp("", "hm") // short, as the paths of sockets must be
	if err != nil {
		t.Fatal(err)
	}
	b := &background{t: t, dir: dir, address: "unix:" + filepath.Join(dir, "s")}
	t.Cleanup(func() {
		for _, pid := range b.pids() {
			end(t, pid)
		}
		_ = os.RemoveAll(dir)
	})
	return b
}

// pids are the processes that have served, by the log.
func (b *background) pids() (pids []int) {
	log, err := os.ReadFile(filepath.Join(b.dir, "server.log"))
	if err != nil {
		return nil
	}
	for _, m := range serving.FindAllStringSubmatch(string(log), -1) {
		pid, _ := strconv.Atoi(m[1])
		pids = append(pids, pid)
	}
	return pids
}

func end(t testing.TB, pid int) {
	t.Helper()
	if syscall.Kill(pid, syscall.SIGTERM) != nil {
		return // it has ended
	}
	deadline := time.Now().Add(20 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); syscall.Kill(pid, 0) == nil; <-tick.C {
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(state), ") Z ") {
			return // it waits for init
		}
		if time.Now().After(deadline) {
			t.Errorf("the background server %d did not end", pid)
			return
		}
	}
}

func (b *background) connect() (*testClient, *exec.Cmd) {
	b.t.Helper()
	cmd := exec.Command(binary, "--db", filepath.Join(b.dir, "journal.db"), "connect", "--start", b.address)
	cmd.Env = clean(b.t)
	c := mcptest.Start(b.t, cmd)
	c.Initialize(b.t.Context())
	return &testClient{c, b.t}, cmd
}

func TestWorkOutlivesAClientThatIsKilled(t *testing.T) {
	b := inBackground(t)
	first, process := b.connect()
	session := first.must("start_session", args{"provider": "demo", "cwd": t.TempDir()}).SessionID
	running := first.must("send_message", args{"session_id": session, "prompt": "say one\nslow 2000\nsay two"}).TurnID
	if _, err := first.Begin("await", args{"ids": []string{running}}); err != nil {
		t.Fatal(err)
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.Closed()

	second, _ := b.connect()
	done := second.must("await", args{"ids": []string{running}})
	if len(done.Results) != 1 || done.Results[0].Status != "completed" || !strings.Contains(done.Results[0].Text, "two") {
		t.Errorf("the turn: %+v", done.Results)
	}
	replay := second.must("replay", args{"id": running, "view": "events", "limit": 1000})
	if n := len(replay.Events); n == 0 || replay.Events[n-1].Type != "turn_completed" {
		t.Errorf("the journal: %+v", replay.Events)
	}
	ended := second.must("send_message", args{"session_id": session, "prompt": "say three"})
	if got := second.must("await", args{"ids": []string{ended.TurnID}}); got.Results[0].Status != "completed" {
		t.Errorf("the session does not go on: %+v", got.Results)
	}
	if pids := b.pids(); len(pids) != 1 {
		t.Errorf("%d servers have run: %v", len(pids), pids)
	}
}

func TestClientsThatStartTogetherShareOneServer(t *testing.T) {
	b := inBackground(t)
	const clients = 4
	people := make(chan *testClient, clients)
	for range clients {
		go func() {
			p, _ := b.connect()
			people <- p
		}()
	}
	var session string
	for range clients {
		p := <-people
		if session == "" {
			session = p.must("start_session", args{"provider": "demo", "cwd": t.TempDir()}).SessionID
		}
		if got := p.must("inspect", args{"id": session}); got.SessionID != session {
			t.Errorf("a client sees %+v", got)
		}
	}
	if pids := b.pids(); len(pids) != 1 {
		t.Errorf("%d servers have run: %v", len(pids), pids)
	}
}

func TestNoPromptGoesToTheSocketOfSomebodyElse(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a socket to somebody else")
	}
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := make(chan struct{})
	go func() {
		if conn, err := l.Accept(); err == nil {
			conn.Close()
			close(taken)
		}
	}()
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{}, {"--start"}} {
		cmd := exec.Command(binary, slices.Concat([]string{"connect"}, flags, []string{"unix:" + path})...)
		cmd.Env = clean(t)
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "belongs to somebody else") {
			t.Errorf("%v: %v, %s", flags, err, out)
		}
	}
	select {
	case <-taken:
		t.Error("somebody else was connected to")
	default:
	}
}

func TestATokenThatTravelsInTheClearIsWarnedOf(t *testing.T) {
	for address, warned := range map[string]bool{
		"0.0.0.0:1": true, "http://0.0.0.0:1": true, "https://0.0.0.0:1": false, "localhost:1": false, "http://[::1]:1/mcp": false,
	} {
		cmd := exec.Command(binary, "connect", "--token-file", tokens(t, "a-token\n"), address)
		cmd.Env = clean(t)
		out, err := cmd.CombinedOutput() // its input has ended already
		if err != nil || strings.Contains(string(out), "unencrypted") != warned || strings.Contains(string(out), "a-token") {
			t.Errorf("%s: %v, %s", address, err, out)
		}
	}
}

func TestASecondServerDoesNotTakeTheSocketOfALivingOne(t *testing.T) {
	b := inBackground(t)
	flag := "--http=" + b.address
	s := serve(t, b.dir, flag)
	cmd := exec.Command(binary, "serve", "--db", filepath.Join(b.dir, "other.db"), flag)
	cmd.Env = clean(t)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "running there already") {
		t.Errorf("%v: %s", err, out)
	}
	info, err := os.Stat(filepath.Join(b.dir, "s"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	p, _ := b.connect()
	p.must("list_providers", nil)
	if err := s.stop(); err != nil {
		t.Error(err)
	}

	// What a killed server leaves behind is replaced.
	l, err := net.Listen("unix", filepath.Join(b.dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	serve(t, b.dir, flag)
	p.must("list_providers", nil)
}
