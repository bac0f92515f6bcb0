package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// client is the smallest MCP client: one request at a time over a pair of
// streams. Commands use it, so that they print what any client gets.
type client struct {
	w    io.Writer
	r    *bufio.Scanner
	next int
}

func newClient(r io.Reader, w io.Writer) *client {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxReply)
	return &client{w: w, r: s}
}

// reply is the result of a tool call.
type reply struct {
	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
}

func (c *client) initialize(ctx context.Context) error {
	err := c.do(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "harness-mcp demo", "version": version()},
	}, nil)
	if err != nil {
		return fmt.Errorf("introducing the client: %w", err)
	}
	return c.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

// call calls a tool; a refused call is an error with the tool's text.
func (c *client) call(ctx context.Context, tool string, args any) (reply, error) {
	var r reply
	err := c.do(ctx, "tools/call", map[string]any{"name": tool, "arguments": args}, &r)
	if err == nil && r.IsError {
		said, _, _ := strings.Cut(r.text(), "\nNext: ") // which is for callers of tools
		err = errors.New(said)
	}
	return r, err
}

func (r reply) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

func (c *client) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.w.Write(append(b, '\n'))
	return err
}

// do sends a request and reads messages until its response.
func (c *client) do(ctx context.Context, method string, params, result any) error {
	c.next++
	if err := c.write(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params}); err != nil {
		return err
	}
	for c.r.Scan() {
		var m struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(c.r.Bytes(), &m); err != nil {
			return fmt.Errorf("reading a message: %w", err)
		}
		switch {
		case m.ID != c.next:
			continue // a notification
		case m.Error != nil:
			return errors.New(m.Error.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errors.New("the server ended"), c.r.Err())
}
