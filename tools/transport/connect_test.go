package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

func connectTo(t *testing.T, url string) *mcptest.Client {
	t.Helper()
	return mcptest.Connect(t, transport.ConnectOptions{URL: url, Log: quiet(), Grace: 100 * time.Millisecond})
}

func TestAClientSurvivesARestartOfTheServer(t *testing.T) {
	for era, start := range map[string]func(*mcptest.Client, context.Context) json.RawMessage{
		"legacy": (*mcptest.Client).Initialize, "modern": (*mcptest.Client).Discover,
	} {
		t.Run(era, func(t *testing.T) {
			h := mcptest.ServeHTTP(t, newServer(whoami), transport.HTTPOptions{})
			c := connectTo(t, h.URL)
			start(c, t.Context())
			want := c.MustCall(t.Context(), "whoami", nil).Text
			for range 3 {
				h.Stop()
				h = h.Again(newServer(whoami), transport.HTTPOptions{})
				if got := c.MustCall(t.Context(), "whoami", nil).Text; got != want {
					t.Errorf("after the restart the handler sees %q, before %q", got, want)
				}
			}
		})
	}
}

func TestARequestWaitsForTheServerToComeBack(t *testing.T) {
	h := mcptest.ServeHTTP(t, newServer(), transport.HTTPOptions{})
	c := connectTo(t, h.URL)
	c.Initialize(t.Context())
	h.Stop()
	call, err := c.Begin("noop", nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Again(newServer(), transport.HTTPOptions{})
	if got, err := call.Result(t.Context()); err != nil || got.Text != "ok" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestARequestDoesNotWaitForEver(t *testing.T) {
	h := mcptest.ServeHTTP(t, newServer(), transport.HTTPOptions{})
	c := mcptest.Connect(t, transport.ConnectOptions{URL: h.URL, Log: quiet(), Patience: 200 * time.Millisecond})
	c.Initialize(t.Context())
	h.Stop()
	_, err := c.Call(t.Context(), "noop", nil)
	var refused *mcptest.RPCError
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "cannot be reached") {
		t.Errorf("%v", err)
	}
}

func TestSubscriptionsSurviveARestartAndNothingIsMissed(t *testing.T) {
	h := mcptest.ServeHTTP(t, newServer(), transport.HTTPOptions{})
	legacy, modern := connectTo(t, h.URL), connectTo(t, h.URL)
	legacy.Initialize(t.Context())
	modern.Discover(t.Context())
	if err := legacy.Do(t.Context(), "resources/subscribe", map[string]any{"uri": "x://a"}, nil); err != nil {
		t.Fatal(err)
	}
	listen(t, modern, map[string]any{"resourceSubscriptions": []string{"x://a"}})
	h.Stop()
	srv := newServer()
	h.Again(srv, transport.HTTPOptions{})
	// What changed in between is unknown, so the legacy client must look.
	legacy.WaitFor(0, isUpdate("x://a"))
	for name, c := range map[string]*mcptest.Client{"legacy": legacy, "modern": modern} {
		seen := len(c.Messages())
		reached := make(chan struct{})
		go func() {
			defer close(reached)
			c.WaitFor(seen, isUpdate("x://a"))
		}()
		tick := time.NewTicker(10 * time.Millisecond) // until the stream is open again
		for waiting := true; waiting; {
			select {
			case <-reached:
				waiting = false
			case <-tick.C:
				updated(srv, "x://a")
			}
		}
		tick.Stop()
		if acks := len(c.Notifications(mcp.MethodNotificationSubscriptionsAcknowledged)); name == "modern" && acks != 1 {
			t.Errorf("the stream was acknowledged %d times", acks)
		}
	}
}

// marked is a tool with annotations.
func marked(name string, readOnly, idempotent bool, handler server.ToolHandlerFunc) server.ServerTool {
	return server.ServerTool{Tool: mcp.NewTool(name, mcp.WithDescription(name),
		mcp.WithReadOnlyHintAnnotation(readOnly), mcp.WithIdempotentHintAnnotation(idempotent)), Handler: handler}
}

// TestALostCallIsMadeAgainOnlyIfThatIsHarmless loses the connection of every
// call once, after the call has begun.
func TestALostCallIsMadeAgainOnlyIfThatIsHarmless(t *testing.T) {
	var calls atomic.Int64
	handler := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		calls.Add(1)
		return mcp.NewToolResultText("done"), nil
	}
	srv := newServer(marked("read", true, false, handler), marked("settle", false, true, handler), marked("add", false, false, handler))
	inner := transport.NewHandler(srv, transport.HTTPOptions{})
	defer inner.Close()
	var lose atomic.Bool
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte(`"tools/call"`)) || !lose.CompareAndSwap(true, false) {
			inner.ServeHTTP(w, r)
			return
		}
		inner.ServeHTTP(httptest.NewRecorder(), r)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}))
	defer outer.Close()
	for name, tc := range map[string]struct {
		start  func(*mcptest.Client, context.Context) json.RawMessage
		listed bool // the client has asked for the tools
	}{
		"legacy, listed": {(*mcptest.Client).Initialize, true}, "legacy, not listed": {(*mcptest.Client).Initialize, false},
		"modern, listed": {(*mcptest.Client).Discover, true}, "modern, not listed": {(*mcptest.Client).Discover, false},
	} {
		for tool, want := range map[string]int64{"read": 2, "settle": 2, "add": 1} {
			t.Run(name+", "+tool, func(t *testing.T) {
				c := connectTo(t, outer.URL+transport.PathMCP)
				tc.start(c, t.Context())
				if tc.listed {
					if _, err := c.ListTools(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				calls.Store(0)
				lose.Store(true)
				got, err := c.Call(t.Context(), tool, nil)
				if calls.Load() != want {
					t.Errorf("%s ran %d times, want %d", tool, calls.Load(), want)
				}
				if want == 2 && (err != nil || got.Text != "done") {
					t.Errorf("%s: %q, %v", tool, got.Text, err)
				}
				if want == 1 && (err == nil || !strings.Contains(err.Error(), "may have taken effect")) {
					t.Errorf("%s: %v", tool, err)
				}
			})
		}
	}
}

// TestAnAnswerNeverReachesTheQuestionOfAnotherSession restarts the server
// between a question and its answer. The new session's question has the same
// number there.
func TestAnAnswerNeverReachesTheQuestionOfAnotherSession(t *testing.T) {
	h := mcptest.ServeHTTP(t, newServer(asking), transport.HTTPOptions{Options: transport.Options{Grace: -1, Log: quiet()}})
	c := connectTo(t, h.URL)
	c.Capabilities = map[string]any{"elicitation": map[string]any{}}
	questions := make(chan chan string, 2)
	c.Answer = func(string, json.RawMessage) (any, error) {
		name := make(chan string)
		questions <- name
		return map[string]any{"action": "accept", "content": map[string]any{"name": <-name}}, nil
	}
	c.Initialize(t.Context())
	if _, err := c.Begin("ask", nil); err != nil {
		t.Fatal(err)
	}
	old := <-questions
	h.Stop()
	h.Again(newServer(asking), transport.HTTPOptions{})
	call, err := c.Begin("ask", nil)
	if err != nil {
		t.Fatal(err)
	}
	current := <-questions
	old <- "old"
	c.MustCall(t.Context(), "noop", nil)
	current <- "new"
	if got, err := call.Result(t.Context()); err != nil || got.Text != "accept map[name:new]" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestTheServerIsStartedWhenNoneRuns(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	var started atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	start := func(context.Context) error {
		started.Add(1)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		go func() {
			served <- transport.ServeHTTP(ctx, l, transport.NewHandler(newServer(), transport.HTTPOptions{}))
		}()
		return nil
	}
	c := mcptest.Connect(t, transport.ConnectOptions{URL: "http://" + addr + transport.PathMCP, Start: start, Log: quiet()})
	c.Discover(t.Context())
	for range 5 {
		c.MustCall(t.Context(), "noop", nil)
	}
	if started.Load() != 1 {
		t.Errorf("started %d times", started.Load())
	}
}

func TestASocketServesWithoutAToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- transport.ServeHTTP(ctx, l, transport.NewHandler(newServer(), transport.HTTPOptions{}))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	c := mcptest.Connect(t, transport.ConnectOptions{URL: "http://localhost" + transport.PathMCP, Transport: &http.Transport{DialContext: dial}, Log: quiet()})
	c.Initialize(t.Context())
	c.MustCall(t.Context(), "noop", nil)
}

func TestARefusedTokenIsReported(t *testing.T) {
	h := mcptest.ServeHTTP(t, newServer(), transport.HTTPOptions{Tokens: twoTokens(t)})
	c := mcptest.Connect(t, transport.ConnectOptions{URL: h.URL, Token: "wrong", TokenFrom: "the file", Log: quiet()})
	for _, method := range []string{"initialize", "server/discover"} {
		err := c.Do(t.Context(), method, map[string]any{}, nil)
		if err == nil || !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "not known here") || !strings.Contains(err.Error(), "the file") {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// TestEveryServersMessagesAreRead lets another server's habits pass: events
// of several lines, names, ids, long lines and cut ones.
func TestEveryServersMessagesAreRead(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m struct{ ID json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprintf(w, "id: 1\nretry: 5\ndata:\n\n: hello\r\n\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"notifications/x\",\"params\":{\"a\":%q}}\r\n\r\n", long)
		fmt.Fprintf(w, "data: {\"jsonrpc\": \"2.0\",\ndata:  \"id\": %s, \"result\": {}}\n\n", m.ID)
	}))
	defer h.Close()
	c := connectTo(t, h.URL)
	c.Initialize(t.Context())
	if err := c.Do(t.Context(), "tools/list", nil, nil); err != nil {
		t.Fatal(err)
	}
	got := c.Notifications("notifications/x")
	if len(got) != 1 || !strings.Contains(string(got[0].Params), long) { // the one beside the initialize is not awaited
		t.Errorf("%d notifications", len(got))
	}
	if junk := c.Junk(); len(junk) > 0 {
		t.Errorf("no lines of JSON: %q", junk)
	}
}

func TestACallThatWasCancelledIsNeitherMadeAgainNorAnswered(t *testing.T) {
	entered, left := make(chan struct{}, 8), make(chan struct{}, 8)
	again := server.ServerTool{
		Tool: mcp.NewTool("again", mcp.WithReadOnlyHintAnnotation(true)), // it may be called again
		Handler: func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			entered <- struct{}{}
			defer func() { left <- struct{}{} }()
			if err := progress(ctx, r, 1); err != nil { // the response is a stream by then
				return nil, err
			}
			<-ctx.Done()
			return mcp.NewToolResultText("late"), nil
		},
	}
	h := mcptest.ServeHTTP(t, newServer(again), transport.HTTPOptions{})
	c := mcptest.Connect(t, transport.ConnectOptions{URL: h.URL, Log: quiet()})
	c.Initialize(t.Context())
	if _, err := c.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	call, err := c.Begin("again", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := call.Cancel(); err != nil {
		t.Fatal(err)
	}
	<-left
	for range 20 { // what would follow has time to
		c.MustCall(t.Context(), "noop", nil)
	}
	if len(entered) > 0 {
		t.Error("it was made again")
	}
	for _, m := range c.Messages() {
		if m.Method == "" && string(m.ID) == string(call.ID) {
			t.Errorf("it was answered: %s", m.Raw)
		}
	}
}

// TestWithoutAServerTheClientGetsAnError looks for a server where none
// is, and then finds one that was only late.
func TestWithoutAServerTheClientGetsAnError(t *testing.T) {
	h := mcptest.ServeHTTP(t, newServer(), transport.HTTPOptions{})
	h.Stop()
	log := &lockedBuffer{written: make(chan struct{}, 16)}
	opts := transport.ConnectOptions{URL: h.URL, Name: "the place", Log: slog.New(slog.NewTextHandler(log, nil)), FirstPatience: 300 * time.Millisecond, Patience: time.Hour}
	in, client := io.Pipe()
	out, server := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- transport.Connect(t.Context(), in, server, opts)
		server.Close()
	}()
	go fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	answer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(answer, `"id":1`) || !strings.Contains(answer, "the place") || !strings.Contains(answer, "refused") {
		t.Errorf("%v, %s", err, answer)
	}
	if err := <-ended; !errors.Is(err, transport.ErrNoServer) {
		t.Errorf("Connect: %v", err)
	}
	client.Close()
	if said := log.String(); strings.Count(said, "the place") != 1 || !strings.Contains(said, "refused") {
		t.Errorf("the log: %s", said)
	}
	<-log.written
	opts.FirstPatience = time.Hour
	late := mcptest.Connect(t, opts)
	go func() { // as soon as it is missed
		<-log.written
		h.Again(newServer(), transport.HTTPOptions{})
	}()
	late.Initialize(t.Context())
}

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu      sync.Mutex
	b       strings.Builder
	written chan struct{} // has room for all that is written
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written <- struct{}{}
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
