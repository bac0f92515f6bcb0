package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

func modernHeaders(method, name string) header {
	return header{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name}
}

func modernCall(tool string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},` + modernMeta + `}}`
}

func TestModernHeadersMustAgreeWithTheBody(t *testing.T) {
	b := besiege(t)
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + modernMeta + `}}`
	for name, tc := range map[string]struct {
		body    string
		headers header
		status  int
		code    int
	}{
		"all in order":       {modernCall("whose"), modernHeaders("tools/call", "whose"), 200, 0},
		"another tool":       {modernCall("whose"), modernHeaders("tools/call", "wait"), 400, mcp.HEADER_MISMATCH},
		"no name":            {modernCall("whose"), modernHeaders("tools/call", ""), 400, mcp.HEADER_MISMATCH},
		"another method":     {list, modernHeaders("ping", ""), 400, mcp.HEADER_MISMATCH},
		"no method":          {list, modernHeaders("", ""), 400, mcp.HEADER_MISMATCH},
		"no version":         {list, header{"Mcp-Method": "tools/list"}, 400, mcp.HEADER_MISMATCH},
		"an older version":   {list, header{"Mcp-Method": "tools/list", "Mcp-Protocol-Version": "2025-11-25"}, 400, mcp.HEADER_MISMATCH},
		"no _meta":           {`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, modernHeaders("tools/list", ""), 400, mcp.INVALID_PARAMS},
		"a later version":    {strings.ReplaceAll(list, "2026-07-28", "2999-01-01"), header{"Mcp-Method": "tools/list", "Mcp-Protocol-Version": "2999-01-01"}, 400, mcp.UNSUPPORTED_PROTOCOL_VERSION},
		"a removed method":   {`{"jsonrpc":"2.0","id":7,"method":"ping","params":{` + modernMeta + `}}`, modernHeaders("ping", ""), 404, mcp.METHOD_NOT_FOUND},
		"an event to resume": {list, header{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list", "Last-Event-ID": "1"}, 400, mcp.HEADER_MISMATCH},
	} {
		t.Run(name, func(t *testing.T) {
			response := b.do("POST", tc.body, tc.headers)
			var got struct {
				ID    int
				Error struct{ Code int }
			}
			if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tc.status || got.Error.Code != tc.code || got.ID != 7 {
				t.Errorf("%s, %+v; want %d with code %d", response.Status, got, tc.status, tc.code)
			}
		})
	}
	for _, method := range []string{"GET", "DELETE"} {
		if response := b.do(method, "", header{"Mcp-Protocol-Version": "2026-07-28"}); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, response.Status)
		}
	}
}

func TestAClosedModernResponseEndsTheCall(t *testing.T) {
	b := besiege(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", b.URL, strings.NewReader(modernCall("wait")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + aliceToken}, "Content-Type": {"application/json"}}
	for name, value := range modernHeaders("tools/call", "wait") {
		r.Header.Set(name, value)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if response, err := http.DefaultClient.Do(r); err == nil {
			response.Body.Close()
		}
	}()
	<-b.gate.entered
	cancel()
	if err := <-b.gate.left; err == nil {
		t.Error("the call's context had not ended")
	}
	<-done
	http.DefaultClient.CloseIdleConnections()
}

func TestTheEndOfASessionEndsItsCalls(t *testing.T) {
	b := besiege(t)
	session := b.session(aliceToken)
	done := make(chan *http.Response)
	go func() {
		done <- b.do("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`, header{"Mcp-Session-Id": session})
	}()
	<-b.gate.entered
	b.do("DELETE", "", header{"Mcp-Session-Id": session})
	if err := <-b.gate.left; err == nil {
		t.Error("the call's context had not ended")
	}
	<-done
}

// TestACancellationMayOvertakeItsRequest sends them in the order in which two
// connections may deliver them.
func TestACancellationMayOvertakeItsRequest(t *testing.T) {
	b := besiege(t)
	session, other, bobs := b.session(aliceToken), b.session(aliceToken), b.session(bobToken)
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"same"}}`
	if response := b.do("POST", cancel, header{"Mcp-Session-Id": session}); response.StatusCode != http.StatusAccepted {
		t.Errorf("the cancellation: %s", response.Status)
	}
	noop := `{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"noop"}}`
	for name, h := range map[string]header{
		"the same bearer's other session": {"Mcp-Session-Id": other},
		"another bearer's session":        {"Mcp-Session-Id": bobs, "Authorization": "Bearer " + bobToken},
	} {
		if response := b.do("POST", noop, h); response.StatusCode != http.StatusOK {
			t.Errorf("a call of %s: %s", name, response.Status)
		}
	}
	wait := `{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"wait"}}`
	if response := b.do("POST", wait, header{"Mcp-Session-Id": session}); response.StatusCode != http.StatusAccepted {
		t.Errorf("the cancelled call: %s, want 202", response.Status)
	}
	select {
	case <-b.gate.entered:
		t.Error("the cancelled call ran")
	default:
	}
	if response := b.do("POST", noop, header{"Mcp-Session-Id": session}); response.StatusCode != http.StatusOK {
		t.Errorf("a call after it: %s", response.Status)
	}
}

// TestACallCancelledInFlightLeavesNothingBehind has the next call use the id
// of one that was cancelled.
func TestACallCancelledInFlightLeavesNothingBehind(t *testing.T) {
	b := besiege(t)
	session := b.session(aliceToken)
	done := make(chan *http.Response)
	go func() {
		done <- b.do("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`, header{"Mcp-Session-Id": session})
	}()
	<-b.gate.entered
	b.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, header{"Mcp-Session-Id": session})
	if response := <-done; response.StatusCode != http.StatusAccepted {
		t.Errorf("the cancelled call: %s, want 202", response.Status)
	}
	if response := b.do("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, header{"Mcp-Session-Id": session}); response.StatusCode != http.StatusOK {
		t.Errorf("the next one: %s", response.Status)
	}
}

func TestALegacyCallOutlivesItsConnectionForAWhile(t *testing.T) {
	t.Parallel() // it waits for a grace to pass
	b := besiege(t)
	session := b.session(aliceToken)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", b.URL, strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + aliceToken}, "Content-Type": {"application/json"}, "Mcp-Session-Id": {session}}
	go func() {
		if response, err := http.DefaultClient.Do(r); err == nil {
			response.Body.Close()
		}
	}()
	<-b.gate.entered
	lost := time.Now()
	cancel()
	<-b.gate.left
	if took := time.Since(lost); took < 8*time.Second || took > 20*time.Second {
		t.Errorf("the call ended %v after its connection, want about 10 s", took)
	}
}

func TestAResponseThatWaitsIsKeptAlive(t *testing.T) {
	g := newGate()
	h := mcptest.ServeHTTP(t, newServer(g.tool("wait")), transport.HTTPOptions{KeepAlive: 20 * time.Millisecond})
	b := &besieged{HTTP: h, t: t}
	streams := map[string]*http.Response{
		"call":   b.do("POST", modernCall("wait"), modernHeaders("tools/call", "wait")),
		"GET":    b.do("GET", "", header{"Mcp-Session-Id": b.session("")}),
		"listen": b.do("POST", `{"jsonrpc":"2.0","id":8,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`, modernHeaders("subscriptions/listen", "")),
	}
	for name, response := range streams {
		if response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s: %v", name, response.Header)
		}
		lines := bufio.NewReader(response.Body)
		for comments := 0; comments < 3; {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if strings.HasPrefix(line, ": waiting") {
				comments++
			}
		}
		if name == "call" {
			close(g.open)
			rest, err := io.ReadAll(lines)
			if err != nil || !strings.Contains(string(rest), `"waited"`) {
				t.Errorf("the response after comments: %s, %v", rest, err)
			}
		}
	}
}

func TestSessionsThatNobodyUsesEnd(t *testing.T) {
	h := mcptest.ServeHTTP(t, newServer(), transport.HTTPOptions{SessionTTL: time.Second})
	b := &besieged{HTTP: h, t: t}
	idle, streaming := b.session(""), b.session("")
	b.do("GET", "", header{"Mcp-Session-Id": streaming})
	ping := func(session string) int {
		return b.do("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, header{"Mcp-Session-Id": session}).StatusCode
	}
	deadline := time.Now().Add(20 * time.Second)
	for probe := idle; ping(probe) != http.StatusNotFound; { // a ping keeps it alive, so they become rarer
		if time.Now().After(deadline) {
			t.Fatal("the idle session did not end")
		}
		timer := time.NewTimer(3 * time.Second)
		<-timer.C
	}
	if got := ping(streaming); got != http.StatusOK {
		t.Errorf("a session with a stream: %d", got)
	}
}

func TestAPrincipalsSessionsAreBounded(t *testing.T) {
	b := besiege(t)
	var all []string
	for range 1025 {
		all = append(all, b.session(aliceToken))
	}
	ping := func(session string) int {
		return b.do("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, header{"Mcp-Session-Id": session}).StatusCode
	}
	// A request may count as ended a little after its response has arrived, so
	// the first session need not be the one that is idle for the longest time.
	gone := 0
	for _, session := range all[:100] {
		if ping(session) == http.StatusNotFound {
			gone++
		}
	}
	if gone != 1 {
		t.Errorf("%d of the oldest sessions are gone, want 1", gone)
	}
	if got := ping(all[len(all)-1]); got != http.StatusOK {
		t.Errorf("the newest session: %d", got)
	}
}

func TestTheEndOfTheServerLetsCallsFinishAndEndsStreams(t *testing.T) {
	g := newGate()
	h := mcptest.ServeHTTP(t, newServer(g.tool("wait")), transport.HTTPOptions{Options: transport.Options{Grace: 5 * time.Second, Log: quiet()}})
	b := &besieged{HTTP: h, t: t}
	stream := b.do("GET", "", header{"Mcp-Session-Id": b.session("")})
	done := make(chan *http.Response)
	go func() { done <- b.do("POST", modernCall("wait"), modernHeaders("tools/call", "wait")) }()
	<-g.entered
	if got := get(t, h.URL, "/readyz"); got != http.StatusOK {
		t.Errorf("ready: %d", got)
	}
	stopped := make(chan struct{})
	go func() { h.Stop(); close(stopped) }()
	if _, err := io.ReadAll(stream.Body); err != nil { // it ends as a stream should
		t.Errorf("the stream: %v", err)
	}
	if got := get(t, h.URL, "/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("ready at the end: %d", got)
	}
	if got := get(t, h.URL, "/healthz"); got != http.StatusOK {
		t.Errorf("healthy at the end: %d", got)
	}
	if response := b.do("POST", modernCall("noop"), modernHeaders("tools/call", "noop")); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new call at the end: %s", response.Status)
	}
	close(g.open)
	response := <-done
	if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), "waited") {
		t.Errorf("the call in flight: %s, %v", body, err)
	}
	<-stopped
}

func TestTheEndOfTheServerIsBounded(t *testing.T) {
	deaf := make(chan struct{})
	h := mcptest.ServeHTTP(t, newServer(tool("deaf", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(deaf)
		<-t.Context().Done() // of the test, not of the call
		return mcp.NewToolResultText("late"), nil
	})), transport.HTTPOptions{Options: transport.Options{Grace: 100 * time.Millisecond, Log: quiet()}})
	b := &besieged{HTTP: h, t: t}
	r, err := http.NewRequest("POST", h.URL, strings.NewReader(modernCall("deaf")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}}
	for name, value := range modernHeaders("tools/call", "deaf") {
		r.Header.Set(name, value)
	}
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		if response, err := http.DefaultClient.Do(r); err == nil {
			response.Body.Close()
		}
	}()
	<-deaf
	begun := time.Now()
	b.Stop()
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("the end took %v", took)
	}
	<-lost
	http.DefaultClient.CloseIdleConnections()
}

func get(t *testing.T, url, path string) int {
	t.Helper()
	response, err := http.Get(strings.TrimSuffix(url, transport.PathMCP) + path)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return response.StatusCode
}

func TestHandlersLearnWhomTheyServe(t *testing.T) {
	b := besiege(t)
	for token, want := range map[string]string{aliceToken: "alice", bobToken: "bob"} {
		for era, start := range map[string]func(*mcptest.Client, context.Context) json.RawMessage{
			"legacy": (*mcptest.Client).Initialize, "modern": (*mcptest.Client).Discover,
		} {
			c := b.client(token)
			start(c, t.Context())
			if got := c.MustCall(t.Context(), "whose", nil).Text; got != want {
				t.Errorf("%s: %q, want %q", era, got, want)
			}
		}
	}
	if got := transport.Principal(t.Context()); got != transport.LocalPrincipal {
		t.Errorf("without HTTP: %q", got)
	}
}

func TestTokenFilesAreReadStrictly(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"a lone token":         {"secret-token\n", true},
		"names and comments":   {"# who\n\nalice a-token\nbob  b-token \n", true},
		"a name twice":         {"alice one\nalice two\n", true},
		"nothing":              {"\n# nobody\n", false},
		"a token twice":        {"alice one\nbob one\n", false},
		"three words":          {"alice one two\n", false},
		"a name with a colon":  {"a:b one\n", false},
		"a token with a quote": {"alice \"one\"\n", false},
	} {
		if _, err := transport.ParseTokens([]byte(tc.text)); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		} else if err != nil && strings.Contains(err.Error(), "one") {
			t.Errorf("%s: the error shows a token: %v", name, err)
		}
	}
}

func TestShortTokensAreNamed(t *testing.T) {
	tokens, err := transport.ParseTokens([]byte("alice short\nbob 0123456789abcdef\ncarol 123456789abcdef\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := tokens.Guessable(); !slices.Equal(got, []string{"alice", "carol"}) {
		t.Errorf("%v can be guessed", got)
	}
}

func TestATokenFileIsMadeOnceAndKeptPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "token")
	const servers = 8
	failed := make(chan error, servers)
	for range servers {
		go func() { _, err := transport.OpenTokenFile(path); failed <- err }()
	}
	for range servers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	token, err := transport.FirstToken(path)
	if err != nil || len(token) < 40 {
		t.Errorf("the token has %d characters, %v", len(token), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: something was left behind", entries, err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := transport.OpenTokenFile(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
}

func TestLoopbackHostsAreTheNamesOfTheAddress(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 80}
	for _, name := range []string{"127.0.0.1:80", "localhost:80", "[::1]:80", "127.0.0.2:80"} {
		if !slices.Contains(transport.LoopbackHosts(addr), name) {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestAClientGetsTheContentTypeThatItAccepts calls a tool that reports progress
// first: a client without streams gets the response alone.
func TestAClientGetsTheContentTypeThatItAccepts(t *testing.T) {
	h := mcptest.ServeHTTP(t, newServer(tool("steps", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = progress(ctx, r, 1)
		return mcp.NewToolResultText("done"), nil
	})), transport.HTTPOptions{KeepAlive: time.Millisecond})
	b := &besieged{HTTP: h, t: t}
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"p"}}}`
	session := b.session(aliceToken)
	for accept, events := range map[string]bool{"application/json": false, "text/event-stream": true, "application/json, text/event-stream": true} {
		response := b.do("POST", call, header{"Mcp-Session-Id": session, "Accept": accept})
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"done"`) {
			t.Fatalf("%s: %s %s (%v)", accept, response.Status, body, err)
		}
		if json.Valid(body) == events || (response.Header.Get("Content-Type") == "text/event-stream") != events {
			t.Errorf("%s: %s %s", accept, response.Header.Get("Content-Type"), body)
		}
	}
}

func TestInitializeWithTheIDOfAnEndedSessionMakesANewOne(t *testing.T) {
	b := besiege(t)
	live := b.session(aliceToken)
	for _, stale := range []string{"made-up", b.session(bobToken)} {
		response := b.do("POST", hello, header{"Mcp-Session-Id": stale})
		id := response.Header.Get("Mcp-Session-Id")
		if response.StatusCode != http.StatusOK || id == "" || id == stale || id == live {
			t.Errorf("%s: %s with session %q", stale, response.Status, id)
		}
	}
	b.alive()
}

func TestASlashBehindThePathIsServed(t *testing.T) {
	b := besiege(t)
	b.URL += "/"
	if b.session(aliceToken) == "" {
		t.Error("no session")
	}
}
