package transport_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// childEnv makes this test program a server, for tests and benchmarks that
// need one in a process of its own.
const childEnv = "TRANSPORT_TEST_CHILD"

func TestMain(m *testing.M) {
	if kind := os.Getenv(childEnv); kind != "" {
		if err := serveChild(kind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func serveChild(kind string) error {
	srv := newServer()
	switch kind {
	case "ours":
		return transport.ServeStdio(context.Background(), srv, os.Stdin, os.Stdout, transport.Options{})
	case "mcp-go":
		return server.NewStdioServer(srv).Listen(context.Background(), os.Stdin, os.Stdout)
	case "ours http", "mcp-go http":
		return serveHTTPChild(kind, srv)
	}
	return fmt.Errorf("no such child: %s", kind)
}

// newServer returns a server with the tool noop and those given.
func newServer(tools ...server.ServerTool) *server.MCPServer {
	srv := server.NewMCPServer("test", "1",
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithElicitation())
	srv.AddTools(append(tools, tool("noop", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("ok"), nil
	}))...)
	return srv
}

func tool(name string, handler server.ToolHandlerFunc) server.ServerTool {
	return server.ServerTool{Tool: mcp.NewTool(name, mcp.WithDescription(name)), Handler: handler}
}

// gate is a tool whose calls block until they are let go or their context
// ends.
type gate struct {
	entered chan string // ids, as calls begin
	open    chan struct{}
	left    chan error // the contexts' errors, as calls end
}

func newGate() *gate {
	return &gate{entered: make(chan string, 4096), open: make(chan struct{}), left: make(chan error, 4096)}
}

func (g *gate) tool(name string) server.ServerTool {
	return tool(name, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		g.entered <- r.GetString("id", "")
		select {
		case <-g.open:
		case <-ctx.Done():
		}
		g.left <- ctx.Err()
		return mcp.NewToolResultText("waited"), nil
	})
}

func progress(ctx context.Context, r mcp.CallToolRequest, n int) error {
	return server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
		"progressToken": r.Params.Meta.ProgressToken, "progress": n,
	})
}

// quiet is a logger for tests that provoke faults.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
