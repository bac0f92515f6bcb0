package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// serverEnv makes this test program a server; its value says of which kind.
const serverEnv = "MCPTEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(serverEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case "noisy":
		fmt.Println("listening on stdio") // what a server must never do
	case "gone":
		fmt.Fprintln(os.Stderr, "no license")
		os.Exit(3)
	}
	if err := transport.ServeStdio(context.Background(), newServer(), os.Stdin, os.Stdout, transport.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func newServer() *server.MCPServer {
	srv := server.NewMCPServer("mcptest", "1", server.WithToolCapabilities(true), server.WithPaginationLimit(2))
	add := func(name string, handler server.ToolHandlerFunc) {
		srv.AddTool(mcp.NewTool(name, mcp.WithDescription(name)), handler)
	}
	add("echo", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(r.GetArguments(), r.GetString("text", "")), nil
	})
	add("fail", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("it failed"), nil
	})
	add("steps", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			if err := srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": r.Params.Meta.ProgressToken, "progress": i + 1,
			}); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	add("wait", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	return srv
}

func program(t *testing.T, kind string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{serverEnv + "=" + kind}
	return cmd
}

func TestAProgramAndAServerInProcessLookAlike(t *testing.T) {
	for name, connect := range map[string]func(*testing.T) *mcptest.Client{
		"program":    func(t *testing.T) *mcptest.Client { return mcptest.Start(t, program(t, "plain")) },
		"in process": func(t *testing.T) *mcptest.Client { return mcptest.Pipe(t, newServer()) },
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			c.Initialize(t.Context())
			tools, err := c.ListTools(t.Context())
			if err != nil || len(tools) != 4 {
				t.Errorf("%d tools over two pages, %v", len(tools), err)
			}
			if got := c.MustCall(t.Context(), "echo", map[string]any{"text": "hi"}); got.Text != "hi" || string(got.Structured) != `{"text":"hi"}` {
				t.Errorf("echo: %+v", got)
			}
			if got, err := c.Call(t.Context(), "fail", nil); err != nil || !got.IsError || got.Text != "it failed" {
				t.Errorf("fail: %+v, %v", got, err)
			}
			if got := c.MustCall(t.Context(), "steps", nil); len(got.Progress) != 3 || got.Progress[2].Progress != 3 {
				t.Errorf("steps: %+v", got.Progress)
			}
			if junk := c.Junk(); len(junk) != 0 {
				t.Errorf("lines that are no protocol: %q", junk)
			}
		})
	}
}

func TestACallThatItsCallerLeavesIsCancelled(t *testing.T) {
	c := mcptest.Pipe(t, newServer())
	c.Initialize(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Call(ctx, "wait", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("call: %v", err)
	}
	c.MustCall(t.Context(), "echo", nil)
}

func TestLinesThatAreNoProtocolAreReported(t *testing.T) {
	c := mcptest.Start(t, program(t, "noisy"))
	c.Initialize(t.Context())
	if junk := c.Junk(); len(junk) != 1 || junk[0] != "listening on stdio" {
		t.Errorf("junk: %q", junk)
	}
}

func TestCallsOfAServerThatIsGoneFail(t *testing.T) {
	c := mcptest.Start(t, program(t, "gone"))
	<-c.Closed()
	if _, err := c.Call(t.Context(), "echo", nil); err == nil {
		t.Error("a call of a server that is gone succeeded")
	}
}

func TestAForgetfulClientKeepsNoAnswers(t *testing.T) {
	c := mcptest.Pipe(t, newServer())
	c.Forgetful = true
	c.Initialize(t.Context())
	if got := c.MustCall(t.Context(), "echo", map[string]any{"text": "hello"}).Text; got != "hello" {
		t.Errorf("the call was answered %q", got)
	}
	for _, m := range c.Messages() {
		if len(m.Raw)+len(m.Result) > 0 {
			t.Errorf("it keeps %s", m.Raw)
		}
	}
	if len(c.Messages()) < 2 {
		t.Errorf("%d messages were counted", len(c.Messages()))
	}
}
