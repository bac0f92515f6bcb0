// Command mutual lets two coding agents work for each other: Claude Code
// delegates a task to Codex, then Codex delegates one to Claude Code. Both are
// clients of one harness-mcp that is shared over HTTP. What the worker wants to
// do comes back to the agent that delegated, which approves it.
//
//	go build -o bin/harness-mcp ./cmd/harness-mcp
//	go run ./examples/mutual -server bin/harness-mcp -claude PATH -codex PATH
//
// The CLIs are real, their model is not: it is a server on the loopback address
// that does what the prompt says, so nothing is spent and no account is
// touched. With -own the CLIs use your own accounts, and the same calls are
// requested in plain words; that uses your accounts, and your settings decide what the
// agents do without asking.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/examples/internal/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.server, "server", "harness-mcp", "the server `program`")
	flag.StringVar(&o.claude, "claude", "claude", "the Claude Code `program`")
	flag.StringVar(&o.codex, "codex", "codex", "the Codex `program`")
	flag.BoolVar(&o.own, "own", false, "use your own accounts and models instead of the loopback one")
	flag.Parse()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutual:", err)
		os.Exit(1)
	}
}

type options struct {
	server, claude, codex string // programs
	own                   bool
}

// run starts the agents and the server, and delegates in both directions.
func run(ctx context.Context, w io.Writer, o options) (err error) {
	dir, err := os.MkdirTemp("", "mutual-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	claude, codex, end, err := newAgents(dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	s, err := startServer(ctx, dir, o, claude, codex)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	fmt.Fprintf(w, "One server for both: %s\n", s.url)
	for _, pair := range [][2]*agent{{claude, codex}, {codex, claude}} {
		if err := play(ctx, w, s, pair[0], pair[1], o.own); err != nil {
			return fmt.Errorf("%s delegates to %s: %w", pair[0].name, pair[1].name, err)
		}
	}
	return nil
}

// delegation is one delegation: from is the client, to does the work.
type delegation struct {
	ctx      context.Context
	w        io.Writer
	url      string
	from, to *agent
	own      bool
	watch    *harness.Client // sees what from's token may see
}

func (s *delegation) say(format string, a ...any) { fmt.Fprintf(s.w, format+"\n", a...) }

func play(ctx context.Context, w io.Writer, server *server, from, to *agent, own bool) (err error) {
	watch, err := harness.Dial(ctx, server.url, from.token)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, watch.Close()) }()
	s := &delegation{ctx, w, server.url, from, to, own, watch}
	s.say("\n== %s delegates to %s ==", from.name, to.name)
	file := filepath.Join(to.work, "made-for-"+from.name)
	if err := s.callThroughModel("delegate", harness.Args{
		"provider": to.name, "cwd": to.work, "env": to.env, "prompt": to.task(file), "wait_ms": 45_000,
	}); err != nil {
		return err
	}
	if err := s.approve(file); err != nil {
		return err
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("the work was not done: %w", err)
	}
	s.say("%s is there.", filepath.Base(file))
	return s.readBack()
}

// callThroughModel makes from's model call one tool of the server, and prints its
// answer. The loopback model reads directives, any other one plain words.
func (s *delegation) callThroughModel(tool string, args harness.Args) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	prompt := fmt.Sprintf("call %s %s\noutputs", s.from.toolName(tool), raw)
	if s.own {
		prompt = fmt.Sprintf("Call the tool %q of the MCP server \"harness\" once, with exactly these arguments, "+
			"and no other tool. Then tell me what it returned.\n\n%s", tool, raw)
	}
	s.say("you -> %s: call %s", s.from.name, tool)
	said, err := s.from.ask(s.ctx, s.url, prompt)
	if err != nil {
		return err
	}
	s.say("%s -> you:", s.from.name)
	for line := range strings.Lines(strings.TrimSpace(said)) {
		s.say("   | %s", short(strings.TrimRight(line, "\n")))
	}
	return nil
}

// short cuts what the loopback model repeats: whole replies, as JSON.
func short(line string) string {
	const most = 160
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + " ..."
	}
	return line
}

// approve has from answer what to asks, until the work is over. A real
// client's model does that by itself, from the reply of delegate; here each
// call has a prompt of its own.
func (s *delegation) approve(file string) error {
	for {
		var turns struct {
			Items []struct {
				ID string `json:"turn_id"`
			} `json:"items"`
		}
		if err := s.watch.Call(s.ctx, "list", harness.Args{"kind": "turns", "live": true}, &turns); err != nil {
			return err
		}
		if len(turns.Items) == 0 {
			return nil
		}
		var now harness.Awaited
		if err := s.watch.Call(s.ctx, "await", harness.Args{"ids": []string{turns.Items[0].ID}}, &now); err != nil {
			return err
		}
		for _, turn := range now.Results {
			for _, ask := range turn.Pending {
				_, missing := os.Stat(file)
				s.say("%s waits for %s: %s (%s); the file is there: %t", s.to.name, s.from.name, ask.Prompt, ask.Kind, missing == nil)
				if err := s.callThroughModel("respond", harness.Args{"request_id": ask.ID, "action": "approve", "wait_ms": 45_000}); err != nil {
					return err
				}
			}
		}
	}
}
