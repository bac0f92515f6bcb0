package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/alecthomas/kong"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/tools"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

type serveCmd struct{ httpFlags }

// Run serves MCP on stdin and stdout until the input ends, the parent is gone
// or a signal comes; or over HTTP until a signal comes.
func (k *serveCmd) Run(ctx context.Context, c *Common, std stdio, kctx *kong.Context) error {
	if err := k.check(flagsOnCommandLine(kctx)); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" { // its owner knows better
		debug.SetGCPercent(gcPercent)
	}
	if k.HTTP != "" {
		return k.serveHTTP(ctx, c, std.err, settings(kctx))
	}
	h, err := newApp(ctx, c, std.err)
	if err != nil {
		return err
	}
	ctx, stop := transport.WatchParent(ctx)
	defer stop()
	err = h.serve(ctx, c, std.in, std.out)
	return errors.Join(err, h.close())
}

// server returns the MCP server of the app.
func (h *app) server(c *Common) *server.MCPServer {
	return tools.NewServer(h.harness, tools.Options{
		Version: version(), Wait: time.Duration(c.Wait) * time.Millisecond, Core: c.Tools == "core",
		Logger: h.log, AnswerByUser: c.AnswerBy == "user", Owner: h.caller, Compat: c.Compat, Telemetry: h.telemetryOrNil(),
	})
}

// serve speaks MCP on a pair of streams.
func (h *app) serve(ctx context.Context, c *Common, in io.Reader, out io.Writer) error {
	err := transport.ServeStdio(ctx, h.server(c), in, out, transport.Options{Control: tools.IsControl, Log: h.log})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving MCP: %w", err)
	}
	return nil
}

// caller says on whose behalf a call comes: the bearer's of its token, over
// HTTP, and in whose directory.
func (h *app) caller(ctx context.Context) core.Caller {
	if h.owner != "" {
		return core.Caller{Owner: h.owner}
	}
	dir, elsewhere := transport.Directory(ctx)
	return core.Caller{Owner: transport.Principal(ctx), Directory: dir, Elsewhere: elsewhere}
}
