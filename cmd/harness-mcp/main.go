// Command harness-mcp is an MCP server that lets any MCP client delegate work
// to coding-agent CLIs and supervise what they do. This package reads flags,
// wires the parts together and turns outcomes into exit codes; it decides
// nothing.
//
// Exit codes: 0 for a clean end, 1 for a failure, 2 for a wrong command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/harness-mcp/harness-mcp/core/redact"
	"github.com/harness-mcp/harness-mcp/process"
)

// Exit codes.
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

func main() {
	process.Init() // this program is also the guard of the commands it starts
	// A broken pipe to the client must not end the server before the agents are
	// stopped.
	// (Not signal.Ignore: children would inherit that.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// stdio holds the streams of a command.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// run executes one command line.
func run(ctx context.Context, args []string, std stdio) int {
	args = asked(args)
	var c cli
	exited := -1
	opts := []kong.Option{
		kong.Name("harness-mcp"),
		kong.Description(describe),
		kong.DefaultEnvars("HARNESS_MCP"),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { exited = code }),
		kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.Vars{"state": defaultDB(), "config": configPath()},
	}
	if path, named := configFile(args); path != "" {
		r, err := fromFile(path)
		switch {
		case err == nil:
			opts = append(opts, kong.Resolvers(r))
		case named || !errors.Is(err, os.ErrNotExist):
			fmt.Fprintf(std.err, "harness-mcp: %v\n%s\n", err, tryHelp)
			return exitUsage
		}
	}
	parser, err := kong.New(&c, opts...)
	if err != nil {
		fmt.Fprintln(std.err, "harness-mcp:", err)
		return exitFail
	}
	kctx, err := parser.Parse(args)
	switch {
	case exited >= 0: // --help
		return exited
	case err != nil:
		fmt.Fprintf(std.err, "harness-mcp: %v\n%s\n", err, tryHelp)
		return exitUsage
	}
	kctx.BindTo(ctx, (*context.Context)(nil))
	if err = c.makeDirsAbsolute(); err == nil {
		err = c.dbKnown(kctx.Command())
	}
	if err == nil {
		err = kctx.Run(&c.Common, std)
	}
	if err != nil {
		text, code := outcomeOf(err)
		if !errors.Is(err, errSilent) {
			fmt.Fprintln(std.err, "harness-mcp:", redact.Plain(text))
		}
		return code
	}
	return exitOK
}

// errSilent is the error of a command that has already printed why it failed.
var errSilent = errors.New("failed")
