package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

func TestProgressComesBeforeTheResponseAndNoneIsLost(t *testing.T) {
	const calls, burst = 1000, 5
	c := mcptest.Pipe(t, newServer(tool("burst", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range burst {
			if err := progress(ctx, r, i+1); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})))
	c.Initialize(t.Context())

	var running []*mcptest.Running
	for range calls {
		r, err := c.Begin("burst", nil)
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, r)
		if len(running)%50 == 0 { // keep 50 in flight
			if _, err := running[len(running)-50].Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	responded := make(map[string]int)
	c.WaitFor(0, func(m mcptest.Message) bool {
		if m.Method == "" && len(m.ID) > 0 {
			responded[string(m.ID)] = m.Seq
		}
		return len(responded) == calls+1 // and the handshake
	})
	for i, r := range running {
		seen := r.ProgressSoFar
		if i%100 != 0 { // scanning all messages for every call would take long
			continue
		}
		got := seen()
		if len(got) != burst {
			t.Fatalf("call %d: %d progress notifications, want %d", i, len(got), burst)
		}
		for n, p := range got {
			if p.Progress != float64(n+1) || p.Seq > responded[string(r.ID)] {
				t.Fatalf("call %d: progress %v at %d, response at %d", i, p.Progress, p.Seq, responded[string(r.ID)])
			}
		}
	}
	if got := len(c.Notifications("notifications/progress")); got != calls*burst {
		t.Errorf("%d progress notifications, want %d", got, calls*burst)
	}
}

func TestALongBurstKeepsEveryProgress(t *testing.T) {
	const burst = 5000
	c := mcptest.Pipe(t, newServer(tool("burst", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range burst {
			if err := progress(ctx, r, i+1); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})))
	c.Initialize(t.Context())
	got := c.MustCall(t.Context(), "burst", nil)
	if len(got.Progress) != burst || got.Progress[burst-1].Progress != burst {
		t.Errorf("%d of %d progress notifications before the response", len(got.Progress), burst)
	}
}

func TestNoNotificationFollowsTheResponse(t *testing.T) {
	late := make(chan error, 1)
	responded := make(chan struct{})
	c := mcptest.Pipe(t, newServer(tool("leave", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx = context.WithoutCancel(ctx)
		go func() {
			<-responded
			late <- progress(ctx, r, 1)
		}()
		return mcp.NewToolResultText("left"), nil
	})))
	c.Initialize(t.Context())
	c.MustCall(t.Context(), "leave", nil)
	close(responded)
	if err := <-late; !errors.Is(err, server.ErrNotificationChannelBlocked) {
		t.Errorf("late progress: %v, want it refused", err)
	}
	c.MustCall(t.Context(), "noop", nil)
	if got := c.Notifications("notifications/progress"); len(got) != 0 {
		t.Errorf("%d notifications after the response", len(got))
	}
}

func TestAControlCallIsAnsweredWhileAllOthersBlock(t *testing.T) {
	g := newGate()
	srv := newServer(g.tool("wait"), tool("respond", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("noted"), nil
	}))
	c := mcptest.Pipe(t, srv, transport.Options{
		MaxCalls: 64,
		Control:  func(name string) bool { return name == "respond" },
	})
	c.Initialize(t.Context())
	var blocked []*mcptest.Running
	for i := range 100 {
		r, err := c.Begin("wait", map[string]any{"id": fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		blocked = append(blocked, r)
	}
	for range 64 {
		<-g.entered
	}
	if got := c.MustCall(t.Context(), "respond", nil).Text; got != "noted" {
		t.Errorf("control call: %q", got)
	}
	if tools, err := c.ListTools(t.Context()); err != nil || len(tools) != 3 {
		t.Errorf("tools/list while all calls block: %d tools, %v", len(tools), err)
	}
	select {
	case id := <-g.entered:
		t.Errorf("call %s runs beyond the bound", id)
	default:
	}
	close(g.open)
	for _, r := range blocked {
		if _, err := r.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSixtyFourWaitsRunAtOnce(t *testing.T) {
	g := newGate()
	c := mcptest.Pipe(t, newServer(g.tool("wait")))
	c.Initialize(t.Context())
	for range 64 {
		if _, err := c.Begin("wait", nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 64 {
		<-g.entered
	}
	c.MustCall(t.Context(), "noop", nil)
	close(g.open)
}

func TestARunningCallCanBeCancelledAndIsNotAnswered(t *testing.T) {
	g := newGate()
	c := mcptest.Pipe(t, newServer(g.tool("wait")))
	c.Initialize(t.Context())
	r, err := c.Begin("wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-g.entered
	if err := r.Cancel(); err != nil {
		t.Fatal(err)
	}
	if err := <-g.left; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context: %v", err)
	}
	c.MustCall(t.Context(), "noop", nil)
	for _, m := range c.Messages() {
		if bytes.Equal(m.ID, r.ID) {
			t.Errorf("a cancelled call was answered: %s", m.Raw)
		}
	}
}

func TestAQueuedCallCanBeCancelledAndNeverRuns(t *testing.T) {
	g := newGate()
	c := mcptest.Pipe(t, newServer(g.tool("wait")), transport.Options{MaxCalls: 1})
	c.Initialize(t.Context())
	first, err := c.Begin("wait", map[string]any{"id": "first"})
	if err != nil {
		t.Fatal(err)
	}
	<-g.entered
	queued, err := c.Begin("wait", map[string]any{"id": "queued"})
	if err != nil {
		t.Fatal(err)
	}
	if err := queued.Cancel(); err != nil {
		t.Fatal(err)
	}
	// A request read after the cancellation shows that it was processed.
	if err := c.Do(t.Context(), "ping", nil, nil); err != nil {
		t.Fatal(err)
	}
	last, err := c.Begin("noop", nil)
	if err != nil {
		t.Fatal(err)
	}
	close(g.open)
	for _, r := range []*mcptest.Running{first, last} {
		if _, err := r.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case id := <-g.entered:
		t.Errorf("the cancelled call %q ran", id)
	default:
	}
}

func TestTooManyQueuedCallsAreRefusedAndTheOthersLive(t *testing.T) {
	g := newGate()
	c := mcptest.Pipe(t, newServer(g.tool("wait")), transport.Options{MaxCalls: 1})
	c.Initialize(t.Context())
	var all []*mcptest.Running
	for range 1 + 1024 + 3 {
		r, err := c.Begin("wait", nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	for _, r := range all[len(all)-3:] {
		var refused *mcptest.RPCError
		if _, err := r.Result(t.Context()); !errors.As(err, &refused) || refused.Code != -32000 {
			t.Errorf("a call too many: %v", err)
		}
	}
	close(g.open)
	for _, r := range all[:len(all)-3] {
		if _, err := r.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARequestIDInFlightIsRefusedTwice(t *testing.T) {
	g := newGate()
	c := mcptest.Pipe(t, newServer(g.tool("wait")))
	c.Initialize(t.Context())
	r, err := c.Begin("wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-g.entered
	if err := c.Send(map[string]any{"jsonrpc": "2.0", "id": r.ID, "method": "tools/list"}); err != nil {
		t.Fatal(err)
	}
	m := c.WaitFor(0, func(m mcptest.Message) bool { return bytes.Equal(m.ID, r.ID) })
	if m.Error == nil || m.Error.Code != mcp.INVALID_REQUEST {
		t.Errorf("second use of an id: %s", m.Raw)
	}
	close(g.open)
}

func TestIDsComeBackAsTheyWere(t *testing.T) {
	c := mcptest.Pipe(t, newServer())
	c.Initialize(t.Context())
	for _, id := range []string{`9007199254740993`, `-1`, `1.50`, `"a\u00e9/<b>"`, `""`} {
		for _, method := range []string{"ping", "tools/list", "no/such"} {
			seen := len(c.Messages())
			if err := c.SendRaw([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}` + "\n")); err != nil {
				t.Fatal(err)
			}
			m := c.WaitFor(seen, func(m mcptest.Message) bool { return m.Method == "" })
			var want, got any
			if err := errors.Join(json.Unmarshal([]byte(id), &want), json.Unmarshal(m.ID, &got)); err != nil {
				t.Fatal(err)
			}
			if want != got || (id[0] != '"' && string(m.ID) != id) {
				t.Errorf("%s: id %s came back as %s", method, id, m.ID)
			}
		}
	}
}

func TestOneShotPipeAnswersEveryCall(t *testing.T) {
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")
	for i := range 60 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow","arguments":{}}}`+"\n", i+1)
	}
	input := strings.TrimSuffix(in.String(), "\n") // the last line ends with the input
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(tool("slow", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case <-time.After(time.Second):
				return mcp.NewToolResultText("done"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
		var out bytes.Buffer
		if err := transport.ServeStdio(t.Context(), srv, strings.NewReader(input), &out, transport.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), `"done"`); got != 60 {
			t.Errorf("%d of 60 calls were answered", got)
		}
	})
}

func TestTheGraceAtEndOfInputIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		ignore bool // the handler ignores the end of its context
		want   time.Duration
		answer bool
	}{
		"a call that heeds its context is answered": {false, 2 * time.Second, true},
		"a call that ignores its context is left":   {true, 2500 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				srv := newServer(tool("stay", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					if tc.ignore {
						<-release
					} else {
						<-ctx.Done()
					}
					return mcp.NewToolResultText("stayed"), nil
				}))
				var out bytes.Buffer
				in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stay"}}`)
				start := time.Now()
				if err := transport.ServeStdio(t.Context(), srv, in, &out, transport.Options{Log: quiet()}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != tc.want {
					t.Errorf("returned after %v, want %v", took, tc.want)
				}
				if got := strings.Contains(out.String(), "stayed"); got != tc.answer {
					t.Errorf("answered: %v, want %v", got, tc.answer)
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

func TestTheEndOfTheContextStopsReadingAndLetsCallsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(tool("slow", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			time.Sleep(time.Second)
			return mcp.NewToolResultText("done"), ctx.Err()
		}))
		in, w := io.Pipe()
		var out bytes.Buffer
		cause := errors.New("signal")
		ctx, cancel := context.WithCancelCause(t.Context())
		served := make(chan error, 1)
		go func() { served <- transport.ServeStdio(ctx, srv, in, &out, transport.Options{}) }()
		if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel(cause)
		if err := <-served; err != cause {
			t.Errorf("ServeStdio: %v, want the cause of its context", err)
		}
		if !strings.Contains(out.String(), "done") {
			t.Errorf("the call in flight was not answered: %q", out.String())
		}
		_ = w.Close()
	})
}

func TestAFailedOutputEndsTheConnection(t *testing.T) {
	in, w := io.Pipe()
	defer w.Close()
	broken := errors.New("broken pipe")
	served := make(chan error, 1)
	go func() {
		served <- transport.ServeStdio(t.Context(), newServer(), in, writerFunc(func([]byte) (int, error) { return 0, broken }), transport.Options{})
	}()
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-served; !errors.Is(err, broken) {
		t.Errorf("ServeStdio: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestFaultyMessagesAreRefusedAndTheConnectionLives(t *testing.T) {
	for name, tc := range map[string]struct {
		line string
		code int
	}{
		"no JSON":            {`{"jsonrpc":`, mcp.PARSE_ERROR},
		"words":              {`hello`, mcp.PARSE_ERROR},
		"a batch":            {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, mcp.INVALID_REQUEST},
		"a number":           {`5`, mcp.INVALID_REQUEST},
		"an object for id":   {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, mcp.INVALID_REQUEST},
		"a wrong version":    {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, mcp.INVALID_REQUEST},
		"an unknown method":  {`{"jsonrpc":"2.0","id":7,"method":"no/such"}`, mcp.METHOD_NOT_FOUND},
		"params of no shape": {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}`, mcp.INVALID_REQUEST},
		"an unknown tool":    {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"no"}}`, mcp.INVALID_PARAMS},
	} {
		t.Run(name, func(t *testing.T) {
			c := mcptest.Pipe(t, newServer())
			c.Initialize(t.Context())
			seen := len(c.Messages())
			if err := c.SendRaw([]byte(tc.line + "\n\r\n  \n")); err != nil {
				t.Fatal(err)
			}
			m := c.WaitFor(seen, func(mcptest.Message) bool { return true })
			if m.Error == nil || m.Error.Code != tc.code {
				t.Errorf("answer: %s, want code %d", m.Raw, tc.code)
			}
			c.MustCall(t.Context(), "noop", nil)
			if got := len(c.Messages()) - seen; got != 2 {
				t.Errorf("%d messages, want a refusal and a result", got)
			}
		})
	}
}

func TestALineThatIsTooLongIsRefusedAndTheConnectionLives(t *testing.T) {
	c := mcptest.Pipe(t, newServer())
	c.Initialize(t.Context())
	seen := len(c.Messages())
	long := bytes.Repeat([]byte("x"), transport.MaxMessage)
	line := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`), long...)
	if err := c.SendRaw(append(line, `"}}`+"\n"...)); err != nil {
		t.Fatal(err)
	}
	m := c.WaitFor(seen, func(mcptest.Message) bool { return true })
	if m.Error == nil || m.Error.Code != mcp.PARSE_ERROR || string(m.ID) != "null" {
		t.Errorf("answer: %s", m.Raw)
	}
	c.MustCall(t.Context(), "noop", nil)
}

func TestAMessageOfManyMegabytesIsServed(t *testing.T) {
	c := mcptest.Pipe(t, newServer(tool("size", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(len(r.GetString("text", "")))), nil
	})))
	c.Initialize(t.Context())
	if got := c.MustCall(t.Context(), "size", map[string]any{"text": strings.Repeat("y", 3<<20)}).Text; got != fmt.Sprint(3<<20) {
		t.Errorf("the tool saw %s bytes", got)
	}
}

func TestFragmentsInEveryShapeAreOneMessage(t *testing.T) {
	input := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noop"}}` + "\r\n\n" +
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"byte by byte":          iotest.OneByteReader,
		"in halves":             iotest.HalfReader,
		"with the end of input": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := transport.ServeStdio(t.Context(), newServer(), wrap(strings.NewReader(input)), &out, transport.Options{}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(out.String(), `"result"`); got != 2 {
				t.Errorf("%d of 2 results in %s", got, out.String())
			}
		})
	}
}

func TestAPanicIsAnInternalErrorThatNamesItsLogEntry(t *testing.T) {
	var log syncBuffer
	c := mcptest.Pipe(t, newServer(
		tool("panic", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("the secret cause") }),
		tool("exit", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runtime.Goexit()
			return nil, nil
		}),
	), transport.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c.Initialize(t.Context())
	for _, name := range []string{"panic", "exit"} {
		_, err := c.Call(t.Context(), name, nil)
		var internal *mcptest.RPCError
		if !errors.As(err, &internal) || internal.Code != mcp.INTERNAL_ERROR || strings.Contains(internal.Message, "secret") {
			t.Fatalf("%s: %v", name, err)
		}
		_, rest, _ := strings.Cut(internal.Message, "incident ")
		incident, _, _ := strings.Cut(rest, ",")
		if incident == "" || !strings.Contains(log.String(), "incident="+incident) {
			t.Errorf("%s: incident %q is not in the log:\n%s", name, incident, log.String())
		}
	}
	if !strings.Contains(log.String(), "the secret cause") {
		t.Errorf("the log lacks the cause:\n%s", log.String())
	}
	c.MustCall(t.Context(), "noop", nil)
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestAResultWithoutJSONFormIsAnInternalError(t *testing.T) {
	c := mcptest.Pipe(t, newServer(tool("odd", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(map[string]any{"f": func() {}}, "odd"), nil
	})), transport.Options{Log: quiet()})
	c.Initialize(t.Context())
	_, err := c.Call(t.Context(), "odd", nil)
	var internal *mcptest.RPCError
	if !errors.As(err, &internal) || internal.Code != mcp.INTERNAL_ERROR {
		t.Errorf("call: %v", err)
	}
}

func TestTwoConnectionsShareAServer(t *testing.T) {
	srv := newServer()
	a, b := mcptest.Pipe(t, srv), mcptest.Pipe(t, srv)
	a.Initialize(t.Context())
	b.Initialize(t.Context())
	a.MustCall(t.Context(), "noop", nil)
	b.MustCall(t.Context(), "noop", nil)
}

func TestAClientThatDoesNotReadCanStillCancel(t *testing.T) {
	g := newGate()
	in, w := io.Pipe()
	reading := make(chan struct{})
	served := make(chan error, 1)
	out := writerFunc(func(p []byte) (int, error) { <-reading; return len(p), nil })
	go func() {
		served <- transport.ServeStdio(t.Context(), newServer(g.tool("wait")), in, out, transport.Options{})
	}()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `not JSON`, `[]`,
		`{"jsonrpc":"2.0","id":3,"method":"ping"}`,
	} {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-g.entered
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-g.left; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context: %v", err)
	}
	close(reading)
	_ = w.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestAClosedStandardOutputIsAnErrorNotADeath(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=ours")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	// Its input stays open: only the failed write can end the server.
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "write to the client") {
		t.Errorf("the server ended with %v: %s", cmd.ProcessState, stderr.String())
	}
}

func FuzzInputNeverBreaksTheServer(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noop"}}`,
		`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		"[]\n{}\n\x00\n\"\n{\"id\":null}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var out bytes.Buffer
		if err := transport.ServeStdio(t.Context(), newServer(), bytes.NewReader(input), &out, transport.Options{Log: quiet()}); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) || line[len(line)-1] != '\n' {
				t.Errorf("not a message: %q", line)
			}
		}
	})
}
