package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// ErrClosed is the error of calls after the driver has gone.
var ErrClosed = errors.New("e2e: the client is closed")

// CallError is a failure as the SDK reports it: a JSON-RPC error, its own
// timeout, or a lost connection.
type CallError struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
}

func (e *CallError) Error() string { return fmt.Sprintf("the SDK reports: %s (%d)", e.Message, e.Code) }

// Config is what Start may be told beyond the server's command.
type Config struct {
	// Dir is the server's working directory; empty means the test's.
	Dir string

	// Elicit, if set, makes the client declare elicitation and answer every
	// request with it: {"action": "accept", "content": {...}}.
	Elicit map[string]any

	// ElicitAfter is how long the client's user takes to answer.
	ElicitAfter time.Duration

	// Modern takes version 2 of the SDK, which speaks 2026-07-28.
	Modern bool
}

// Ready is what the handshake told the SDK.
type Ready struct {
	PID          int             `json:"pid"` // of the server
	Server       json.RawMessage `json:"server"`
	Capabilities json.RawMessage `json:"capabilities"`
	Instructions string          `json:"instructions"`
}

// Client is a TypeScript client with its server. It is safe for concurrent
// use.
type Client struct {
	Ready Ready

	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr *bytes.Buffer // read only after the driver's end
	ready  chan struct{}
	gone   chan struct{} // the server is gone
	done   chan struct{} // the driver's output has ended

	wmu sync.Mutex

	mu       sync.Mutex
	last     int
	seq      int
	waiting  map[int]chan event
	progress map[int][]mcptest.Progress
	notes    []Notification
	faults   []string
	changed  chan struct{} // closed and replaced with every event
	ended    bool
}

// Notification is one that belongs to no call.
type Notification struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type event struct {
	Event  string          `json:"event"`
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *CallError      `json:"error"`
	seq    int
}

func (c *Client) receive(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		c.fault(fmt.Sprintf("the driver wrote %q", line))
		return
	}
	switch e.Event {
	case "ready":
		if err := json.Unmarshal(line, &c.Ready); err != nil {
			c.fault(err.Error())
		}
		close(c.ready)
	case "closed":
		close(c.gone)
	case "result", "progress", "notification":
		c.record(e, line)
	case "error":
		var fault struct{ Message string }
		_ = json.Unmarshal(line, &fault) // it was JSON above
		c.fault(fault.Message)
	}
}

func (c *Client) record(e event, line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	defer c.announce()
	switch e.Event {
	case "result":
		e.seq = c.seq
		if ch := c.waiting[e.ID]; ch != nil {
			delete(c.waiting, e.ID)
			ch <- e
		}
	case "progress":
		var p mcptest.Progress
		if json.Unmarshal(line, &p) == nil {
			p.Seq = c.seq
			c.progress[e.ID] = append(c.progress[e.ID], p)
		}
	case "notification":
		var n Notification
		if json.Unmarshal(line, &n) == nil {
			c.notes = append(c.notes, n)
		}
	}
}

// announce wakes those who wait for an event; c.mu is held.
func (c *Client) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until a condition holds, which it tests with c.mu held after
// every event.
func (c *Client) await(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	for {
		c.mu.Lock()
		ok, ended, changed := holds(), c.ended, c.changed
		c.mu.Unlock()
		switch {
		case ok:
			return nil
		case ended:
			return ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("e2e: the awaited event did not come: %w", ctx.Err())
		}
	}
}

// AwaitNotification waits for one that belongs to no call.
func (c *Client) AwaitNotification(ctx context.Context, match func(Notification) bool) error {
	return c.await(ctx, func() bool { return slices.ContainsFunc(c.notes, match) })
}

func (c *Client) fault(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, message)
}

// Faults returns what the SDK complained of: lines that are no protocol, for
// example.
func (c *Client) Faults() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.faults...)
}

// Notifications returns those that belong to no call, in order of arrival.
func (c *Client) Notifications() []Notification {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Notification(nil), c.notes...)
}

// ServerGone is closed once the SDK noticed that the server has ended.
func (c *Client) ServerGone() <-chan struct{} { return c.gone }
