package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type demoCmd struct{}

// Run plays the main job through the real MCP surface, on a journal of its
// own, and prints every call and reply as a client gets them.
func (demoCmd) Run(ctx context.Context, c *Common, std stdio) (err error) {
	dir, err := os.MkdirTemp("", "harness-mcp-demo-")
	if err != nil {
		return fmt.Errorf("making a folder for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	own := *c
	own.DB = filepath.Join(dir, "journal.db")
	h, err := build(ctx, &own, std.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := h.serve(ctx, &own, toServer, fromServer)
		fromServer.Close()
		served <- err
	}()
	d := &demonstration{client: newClient(toClient, fromClient), out: std.out, dir: dir}
	err = d.play(ctx)
	fromClient.Close()
	return errors.Join(err, <-served)
}

// demonstration is a scripted caller that shows what it does.
type demonstration struct {
	*client
	out io.Writer
	dir string
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
	fmt.Fprintln(d.out, "harness-mcp demo: a client delegates work to the built-in scripted agent.")
	fmt.Fprintln(d.out, "Each step is a real MCP call; what follows it is the reply's text.")
	if err := d.initialize(ctx); err != nil {
		return err
	}
	s, err := d.step(ctx, "Open a conversation with an agent.", "start_session",
		args{"provider": "demo", "cwd": d.dir, "title": "a small show"})
	if err != nil {
		return err
	}
	work, err := d.step(ctx, "Give it work. The call returns at once.", "send_message",
		args{"session_id": s.SessionID, "prompt": "think The tests first, then the fix.\nsay I will look around and then fix the greeting.\nrun\napprove\npatch\nsay Done: the greeting is fixed."})
	if err != nil {
		return err
	}
	got, err := d.step(ctx, "Wait. The agent stops to ask for an approval, and the wait returns early.", "await",
		args{"ids": []string{work.TurnID}})
	if err != nil {
		return err
	}
	if got.Outcome != "request_pending" {
		return fmt.Errorf("the agent asked for nothing: await said %q", got.Outcome)
	}
	request := got.Results[0].Pending[0].ID
	if _, err = d.step(ctx, "Queue more work behind it.", "follow_up",
		args{"session_id": s.SessionID, "prompt": "stream 12"}); err != nil {
		return err
	}
	last, err := d.step(ctx, "And more; turns run in this order.", "follow_up",
		args{"session_id": s.SessionID, "prompt": "recall"})
	if err != nil {
		return err
	}
	if _, err = d.step(ctx, "Approve the command; then wait for what the turn does next.", "respond",
		args{"request_id": request, "action": "approve", "wait_ms": 10000}); err != nil {
		return err
	}
	if _, err = d.step(ctx, "Wait for the last turn.", "await", args{"ids": []string{last.TurnID}}); err != nil {
		return err
	}
	if _, err = d.step(ctx, "Read back every step, in order, from the journal.", "replay",
		args{"id": s.SessionID, "view": "summary"}); err != nil {
		return err
	}
	if _, err = d.step(ctx, "End the session.", "close", args{"id": s.SessionID}); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nThat was the main job, in %.1f s. Next: put harness-mcp into your MCP client (see README.md).\n", time.Since(begin).Seconds())
	return nil
}

type args = map[string]any

// step says what is done, does it and shows what came back.
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
