package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// Running is a command whose result has not been waited for yet.
type Running struct {
	id     int
	client *Client
	ch     chan event
}

// command sends one command to the driver.
func (c *Client) command(op string, fields map[string]any) (*Running, error) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.last++
	r := &Running{id: c.last, client: c, ch: make(chan event, 1)}
	c.waiting[r.id] = r.ch
	c.mu.Unlock()
	line := map[string]any{"id": r.id, "op": op}
	for k, v := range fields {
		line[k] = v
	}
	encoded, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if _, err := c.in.Write(append(encoded, '\n')); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return r, nil
}

func (r *Running) wait(ctx context.Context) (event, error) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	select {
	case e, ok := <-r.ch:
		switch {
		case !ok:
			return event{}, ErrClosed
		case e.Error != nil:
			return e, e.Error
		}
		return e, nil
	case <-ctx.Done():
		return event{}, fmt.Errorf("e2e: no result: %w", ctx.Err())
	}
}

// Begin starts a tool call and returns at once. timeout is the SDK's own, which
// progress resets; 0 means a minute.
func (c *Client) Begin(tool string, args map[string]any, timeout time.Duration) (*Running, error) {
	fields := map[string]any{"tool": tool, "args": args}
	if timeout > 0 {
		fields["timeout_ms"] = timeout.Milliseconds()
	}
	return c.command("call", fields)
}

// Result waits for the result of a tool call. Seq numbers count the driver's
// events, not lines of the connection.
func (r *Running) Result(ctx context.Context) (mcptest.Result, error) {
	e, err := r.wait(ctx)
	if err != nil {
		return mcptest.Result{Seq: e.seq}, err
	}
	result, err := mcptest.ParseResult(e.Result)
	result.Seq = e.seq
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	result.Progress = append([]mcptest.Progress(nil), r.client.progress[r.id]...)
	return result, err
}

// AwaitProgress waits until the call has reported progress so many times.
func (r *Running) AwaitProgress(ctx context.Context, times int) error {
	return r.client.await(ctx, func() bool { return len(r.client.progress[r.id]) >= times })
}

// Cancel aborts the call as SDK users do; its Result is then a CallError.
func (r *Running) Cancel(ctx context.Context) error {
	cancel, err := r.client.command("cancel", map[string]any{"target": r.id})
	if err != nil {
		return err
	}
	_, err = cancel.wait(ctx)
	return err
}

// Call calls a tool and waits for its result.
func (c *Client) Call(ctx context.Context, tool string, args map[string]any) (mcptest.Result, error) {
	r, err := c.Begin(tool, args, 0)
	if err != nil {
		return mcptest.Result{}, err
	}
	return r.Result(ctx)
}

// ListTools returns all tools.
func (c *Client) ListTools(ctx context.Context) ([]mcptest.Tool, error) {
	var list struct {
		Tools []mcptest.Tool `json:"tools"`
	}
	err := c.do(ctx, "listTools", nil, &list)
	return list.Tools, err
}

// Request sends any request and decodes its result.
func (c *Client) Request(ctx context.Context, method string, params map[string]any, result any) error {
	return c.do(ctx, "request", map[string]any{"method": method, "params": params}, result)
}

// Signal sends the server a signal by its name, SIGKILL for example.
func (c *Client) Signal(ctx context.Context, name string) error {
	return c.do(ctx, "kill", map[string]any{"signal": name}, nil)
}

func (c *Client) do(ctx context.Context, op string, fields map[string]any, result any) error {
	r, err := c.command(op, fields)
	if err != nil {
		return err
	}
	e, err := r.wait(ctx)
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(e.Result, result)
}
