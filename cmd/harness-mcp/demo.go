package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/modelserver"
	"github.com/harness-mcp/harness-mcp/providers"
)

type demoCmd struct {
	Provider string `default:"demo" placeholder:"P" help:"Play it with this provider: an installed CLI on a built-in model, without account or cost."`
	CWD      string `name:"cwd" placeholder:"D" help:"Where the agent works (a temporary folder)."`
	Live     bool   `help:"With a real provider: its own account and model, which may cost something."`
}

// Run executes the main scenario through the MCP surface, on a temporary journal, and
// prints every call and reply as a client gets them.
func (k demoCmd) Run(ctx context.Context, c *Common, std stdio) (err error) {
	dir, err := os.MkdirTemp("", "harness-mcp-demo-")
	if err != nil {
		return fmt.Errorf("making a folder for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	script, end, err := k.script(c, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	own := *c
	own.DB = filepath.Join(dir, "journal.db")
	h, err := newApp(ctx, &own, std.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	cl, stop, err := h.local(ctx, &own)
	if err != nil {
		return err
	}
	d := &demonstration{client: cl, out: std.out, script: script}
	return errors.Join(d.play(ctx), stop())
}

// script holds the prompts of a demonstration.
type script struct {
	provider, about, cwd string
	env                  map[string]string
	work, second, last   string
}

// script chooses the prompts: directives for the built-in agent and the
// built-in model, plain words for a real one.
func (k demoCmd) script(c *Common, dir string) (s script, end func() error, err error) {
	end = func() error { return nil }
	s = script{provider: k.Provider, cwd: k.CWD}
	if s.cwd == "" {
		s.cwd = filepath.Join(dir, "work")
		if err := os.Mkdir(s.cwd, 0o700); err != nil {
			return s, end, err
		}
	}
	if k.Provider == "demo" {
		s.about = "the built-in scripted agent"
		s.work = "think The tests first, then the fix.\nsay I will look around and then fix the greeting.\nrun\napprove\npatch\nsay Done: the greeting is fixed."
		s.second, s.last = "stream 12", "recall"
		return s, end, nil
	}
	known, err := names(c)
	if err != nil {
		return s, end, err
	}
	if !slices.Contains(known, k.Provider) {
		return s, end, usageErrorf("Providers: "+strings.Join(known, ", ")+". harness-mcp check shows which are ready.", "there is no provider %q", k.Provider)
	}
	if k.Live {
		s.about = "the real " + k.Provider + ", with its own account"
		s.work = "Create a file greeting.txt that contains the word hello, with a shell command. Then say in one sentence what you did."
		s.second, s.last = "Say in one sentence what a heron is.", "Say in one sentence what I asked you first."
		return s, end, nil
	}
	l, ok := providers.Loopbacks[k.Provider]
	if !ok {
		return s, end, usageErrorf("Give --live to play with its own account, which may cost something. "+tryHelp, "%s: %w", k.Provider, errNoLoopback)
	}
	model, err := modelserver.Start()
	if err != nil {
		return s, end, err
	}
	end = model.Close
	s.about = "the installed " + k.Provider + " on a built-in model: no account, no cost"
	s.work = "think The tests first, then the fix.\nsay I will make the greeting.\n" + l.Approval("touch greeting.txt") + "\nsay Done: the greeting is there."
	s.second, s.last = "stream 12", "remember"
	s.env, err = l.Env(dir, model.URL())
	return s, end, err
}

// names returns the names of the providers.
func names(c *Common) (out []string, err error) {
	agents, err := c.agents()
	if err != nil {
		return nil, err
	}
	for _, p := range providers.All(providers.Options{Config: agents}) {
		out = append(out, p.Spec().Name)
	}
	return out, nil
}

// demonstration is a scripted caller that prints its calls.
type demonstration struct {
	*client
	out    io.Writer
	script script
}

// handle has the fields of a reply that the next call needs.
type handle struct {
	SessionID string `json:"session_id"`
	TurnID    string `json:"turn_id"`
	Outcome   string `json:"outcome"`
	Results   []struct {
		Pending []struct {
			ID   string `json:"request_id"`
			Kind string `json:"kind"`
		} `json:"pending_requests"`
	} `json:"results"`
}

func (d *demonstration) play(ctx context.Context) error {
	begin := time.Now()
	fmt.Fprintf(d.out, "harness-mcp demo: a client delegates work to %s.\n", d.script.about)
	fmt.Fprintln(d.out, "Each step is a real MCP call; what follows it is the reply's text.")
	open := args{"provider": d.script.provider, "cwd": d.script.cwd, "title": "a small show"}
	if d.script.env != nil {
		open["env"] = d.script.env
	}
	s, err := d.step(ctx, "Open a conversation with an agent.", "start_session", open)
	if err != nil {
		return err
	}
	send := func(why, tool, prompt string) (handle, error) {
		return d.step(ctx, why, tool, args{"session_id": s.SessionID, "prompt": prompt})
	}
	work, err := send("Give it work. The call returns at once.", "send_message", d.script.work)
	if err != nil {
		return err
	}
	got, err := d.step(ctx, "Wait. When the agent asks for an approval, the wait returns early.", "await", args{"ids": []string{work.TurnID}})
	if err != nil {
		return err
	}
	if _, err = send("Queue more work behind it.", "follow_up", d.script.second); err != nil {
		return err
	}
	last, err := send("And more; turns run in this order.", "follow_up", d.script.last)
	if err != nil {
		return err
	}
	for got.Outcome == "request_pending" {
		if _, err = d.step(ctx, "Approve the command; then wait for what the turn does next.", "respond",
			args{"request_id": got.Results[0].Pending[0].ID, "action": "approve", "wait_ms": 10000}); err != nil {
			return err
		}
		if got, err = d.step(ctx, "Wait for the last turn.", "await", args{"ids": []string{last.TurnID}}); err != nil {
			return err
		}
	}
	if _, err = d.step(ctx, "Read back every step, in order, from the journal.", "replay", args{"id": s.SessionID, "view": "summary"}); err != nil {
		return err
	}
	if _, err = d.step(ctx, "End the session.", "close", args{"id": s.SessionID}); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nThat was the main job, in %.1f s. Next: put harness-mcp into your MCP client (harness-mcp config CLIENT).\n", time.Since(begin).Seconds())
	return nil
}

type args = map[string]any

// step prints why, calls the tool, and prints call and reply.
func (d *demonstration) step(ctx context.Context, why, tool string, a args) (handle, error) {
	shown, err := json.Marshal(a)
	if err != nil {
		return handle{}, err
	}
	fmt.Fprintf(d.out, "\n# %s\n> %s %s\n", why, tool, shown)
	r, err := d.call(ctx, tool, a)
	if err != nil {
		return handle{}, fmt.Errorf("%s: %w", tool, err)
	}
	for line := range strings.Lines(r.text()) {
		fmt.Fprintf(d.out, "  %s\n", strings.TrimSuffix(line, "\n"))
	}
	var h handle
	if err := json.Unmarshal(r.Structured, &h); err != nil {
		return h, fmt.Errorf("reading the reply of %s: %w", tool, err)
	}
	return h, nil
}
