package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/internal/e2e"
	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// serverEnv makes this test program the server under test.
const serverEnv = "E2E_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		if err := transport.ServeStdio(context.Background(), newServer(), os.Stdin, os.Stdout, transport.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func newServer() *server.MCPServer {
	srv := server.NewMCPServer("e2e", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithElicitation())
	add := func(name string, handler server.ToolHandlerFunc) {
		srv.AddTool(mcp.NewTool(name, mcp.WithDescription(name)), handler)
	}
	seen := make(chan struct{})
	add("echo", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(r.GetArguments(), r.GetString("text", "")), nil
	})
	add("steps", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			err := srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": r.Params.Meta.ProgressToken, "progress": i + 1, "message": fmt.Sprint("step ", i+1),
			})
			if err != nil {
				return nil, err
			}
		}
		// The SDK drops progress that arrives in one piece with the response,
		// so the client says when it has seen it.
		select {
		case <-seen:
		case <-ctx.Done():
		}
		return mcp.NewToolResultText("done"), nil
	})
	add("seen", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(seen)
		return mcp.NewToolResultText("noted"), nil
	})
	add("wait", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": r.Params.Meta.ProgressToken, "progress": 1,
		})
		if err != nil {
			return nil, err
		}
		<-ctx.Done()
		srv.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": "test://cancelled"})
		return nil, ctx.Err()
	})
	add("ask", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer := server.ElicitationResponse(r.Params.InputResponses, "q"); answer != nil {
			return mcp.NewToolResultText(string(answer.Action)), nil
		}
		return server.NewInputRequestBuilder("").Elicit("q", mcp.ElicitationParams{
			Message:         "really?",
			RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
		}).ToolResult(), nil
	})
	return srv
}

func start(t *testing.T, config ...e2e.Config) *e2e.Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return e2e.Start(t, []string{self}, []string{serverEnv + "=1"}, config...)
}

func TestTheTypeScriptClientCallsTools(t *testing.T) {
	c := start(t)
	if c.Ready.PID == 0 || len(c.Ready.Server) == 0 {
		t.Errorf("handshake: %+v", c.Ready)
	}
	tools, err := c.ListTools(t.Context())
	if err != nil || len(tools) != 5 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	got, err := c.Call(t.Context(), "echo", map[string]any{"text": "hello"})
	if err != nil || got.Text != "hello" || string(got.Structured) != `{"text":"hello"}` {
		t.Errorf("echo: %+v, %v", got, err)
	}
	var refused *e2e.CallError
	if _, err := c.Call(t.Context(), "no such tool", nil); !errors.As(err, &refused) || refused.Code != mcp.INVALID_PARAMS {
		t.Errorf("an unknown tool: %v", err)
	}
	if faults := c.Faults(); len(faults) > 0 {
		t.Errorf("the SDK complained: %v", faults)
	}
}

func TestTheTypeScriptClientSeesProgressInOrder(t *testing.T) {
	c := start(t)
	var running []*e2e.Running
	for range 20 {
		r, err := c.Begin("steps", nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, r)
	}
	for _, r := range running {
		if err := r.AwaitProgress(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Call(t.Context(), "seen", nil); err != nil {
		t.Fatal(err)
	}
	for _, r := range running {
		got, err := r.Result(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Progress) != 3 || got.Progress[2].Message != "step 3" || got.Progress[2].Seq > got.Seq {
			t.Errorf("progress %+v, response at %d", got.Progress, got.Seq)
		}
	}
}

func TestTheTypeScriptClientCancels(t *testing.T) {
	c := start(t)
	if err := c.Request(t.Context(), "resources/subscribe", map[string]any{"uri": "test://cancelled"}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := c.Begin("wait", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AwaitProgress(t.Context(), 1); err != nil { // it runs
		t.Fatal(err)
	}
	if err := r.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	var aborted *e2e.CallError
	if _, err := r.Result(t.Context()); !errors.As(err, &aborted) {
		t.Errorf("the cancelled call: %v", err)
	}
	if err := c.AwaitNotification(t.Context(), func(n e2e.Notification) bool {
		return n.Method == mcp.MethodNotificationResourceUpdated
	}); err != nil {
		t.Errorf("the handler did not learn of the cancellation: %v", err)
	}
}

func TestTheTypeScriptClientAnswersElicitations(t *testing.T) {
	c := start(t, e2e.Config{Elicit: map[string]any{"action": "accept", "content": map[string]any{}}})
	got, err := c.Call(t.Context(), "ask", nil)
	if err != nil || got.Text != "accept" {
		t.Errorf("ask: %+v, %v", got, err)
	}
}

func TestAKilledServerIsNoticed(t *testing.T) {
	c := start(t)
	r, err := c.Begin("wait", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Signal(t.Context(), "SIGKILL"); err != nil {
		t.Fatal(err)
	}
	<-c.ServerGone()
	var lost *e2e.CallError
	if _, err := r.Result(t.Context()); !errors.As(err, &lost) {
		t.Errorf("the call of a killed server: %v", err)
	}
}

// Both clients decode results into one shape.
var _ func(context.Context, string, map[string]any) (mcptest.Result, error) = (*e2e.Client)(nil).Call
