package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

func TestProgressComesBeforeTheResponseAndNoneIsLost(t *testing.T) {
	onEachTransport(t, testProgressComesBeforeTheResponseAndNoneIsLost)
}

func testProgressComesBeforeTheResponseAndNoneIsLost(t *testing.T, dial dialer) {
	const calls, burst = 1000, 5
	c := dial(t, newServer(tool("burst", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
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
	onEachTransport(t, testALongBurstKeepsEveryProgress)
}

func testALongBurstKeepsEveryProgress(t *testing.T, dial dialer) {
	const burst = 5000
	c := dial(t, newServer(tool("burst", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
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
	onEachTransport(t, testNoNotificationFollowsTheResponse)
}

func testNoNotificationFollowsTheResponse(t *testing.T, dial dialer) {
	late := make(chan error, 1)
	responded := make(chan struct{})
	c := dial(t, newServer(tool("leave", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
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
	onEachTransport(t, testAControlCallIsAnsweredWhileAllOthersBlock)
}

func testAControlCallIsAnsweredWhileAllOthersBlock(t *testing.T, dial dialer) {
	g := newGate()
	srv := newServer(g.tool("wait"), tool("respond", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("noted"), nil
	}))
	c := dial(t, srv, transport.Options{
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

func TestSixtyFourWaitsRunAtOnce(t *testing.T) { onEachTransport(t, testSixtyFourWaitsRunAtOnce) }

func testSixtyFourWaitsRunAtOnce(t *testing.T, dial dialer) {
	g := newGate()
	c := dial(t, newServer(g.tool("wait")))
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
	onEachTransport(t, testARunningCallCanBeCancelledAndIsNotAnswered)
}

func testARunningCallCanBeCancelledAndIsNotAnswered(t *testing.T, dial dialer) {
	g := newGate()
	c := dial(t, newServer(g.tool("wait")))
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
	onEachTransport(t, testARequestIDInFlightIsRefusedTwice)
}

func testARequestIDInFlightIsRefusedTwice(t *testing.T, dial dialer) {
	g := newGate()
	c := dial(t, newServer(g.tool("wait")))
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

func TestIDsComeBackAsTheyWere(t *testing.T) { onEachTransport(t, testIDsComeBackAsTheyWere) }

func testIDsComeBackAsTheyWere(t *testing.T, dial dialer) {
	c := dial(t, newServer())
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

func TestTwoConnectionsShareAServer(t *testing.T) {
	srv := newServer()
	a, b := mcptest.Pipe(t, srv), mcptest.Pipe(t, srv)
	a.Initialize(t.Context())
	b.Initialize(t.Context())
	a.MustCall(t.Context(), "noop", nil)
	b.MustCall(t.Context(), "noop", nil)
}
