package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/tools"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

type serveCmd struct{}

// Run serves MCP on stdin and stdout until the input ends, the parent is gone
// or a signal comes.
func (serveCmd) Run(ctx context.Context, c *Common, std stdio) error {
	h, err := build(ctx, c, std.err)
	if err != nil {
		return err
	}
	ctx, stop := transport.WatchParent(ctx)
	defer stop()
	err = h.serve(ctx, c, std.in, std.out)
	return errors.Join(err, h.close())
}

// serve speaks MCP on a pair of streams.
func (h *house) serve(ctx context.Context, c *Common, in io.Reader, out io.Writer) error {
	srv := tools.NewServer(h.harness, tools.Options{
		Version: version(), Wait: time.Duration(c.Wait) * time.Millisecond, Core: c.Tools == "core",
		Logger: h.log, AnswerByUser: c.AnswerBy == "user", Owner: h.caller,
	})
	err := transport.ServeStdio(ctx, srv, in, out, transport.Options{Control: tools.IsControl, Log: h.log})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving MCP: %w", err)
	}
	return nil
}

// caller says on whose behalf a call on stdio comes.
func (h *house) caller(context.Context) core.Caller {
	if h.owner == "" {
		return core.Caller{Owner: tools.LocalOwner}
	}
	return core.Caller{Owner: h.owner}
}
