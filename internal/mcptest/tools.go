package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Tool is one entry of tools/list.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  map[string]any  `json:"annotations"`
}

// Result is what a tool call returned.
type Result struct {
	Seq        int             // arrival number of the response
	IsError    bool            // the tool failed; Text says why
	Text       string          // text contents, joined by newlines
	Structured json.RawMessage // structuredContent
	Meta       json.RawMessage // _meta
	Raw        json.RawMessage // the whole result
	Progress   []Progress      // in order of arrival, up to the response
}

// Progress is one progress notification.
type Progress struct {
	Seq      int     `json:"-"` // arrival number
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"`
	Message  string  `json:"message"`
}

// Initialize performs the legacy handshake. It returns the server's result;
// the test fails if the server refuses.
func (c *Client) Initialize(ctx context.Context) json.RawMessage {
	c.t.Helper()
	var result json.RawMessage
	err := c.Do(ctx, "initialize", map[string]any{
		"protocolVersion": LegacyVersion, "clientInfo": c.Info, "capabilities": c.Capabilities,
	}, &result)
	if err == nil {
		err = c.Notify("notifications/initialized", nil)
	}
	if err != nil {
		c.t.Fatalf("initialize: %v%s", err, c.stderr())
	}
	return result
}

// Discover turns to the modern era: server/discover, and from then on every
// request introduces itself. It returns the server's result; the test fails
// if the server refuses.
func (c *Client) Discover(ctx context.Context) json.RawMessage {
	c.t.Helper()
	c.mu.Lock()
	c.modern = true
	c.mu.Unlock()
	var result json.RawMessage
	if err := c.Do(ctx, "server/discover", nil, &result); err != nil {
		c.t.Fatalf("server/discover: %v%s", err, c.stderr())
	}
	return result
}

// ListTools returns all tools, page by page.
func (c *Client) ListTools(ctx context.Context) ([]Tool, error) {
	var tools []Tool
	for cursor := ""; ; {
		var page struct {
			Tools      []Tool `json:"tools"`
			NextCursor string `json:"nextCursor"`
		}
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		if err := c.Do(ctx, "tools/list", params, &page); err != nil {
			return nil, err
		}
		tools = append(tools, page.Tools...)
		if cursor = page.NextCursor; cursor == "" {
			return tools, nil
		}
	}
}

// Running is a tool call whose result has not been waited for yet.
type Running struct {
	*Pending
	token string
}

// Begin starts a tool call with a progress token and returns at once.
func (c *Client) Begin(tool string, args map[string]any) (*Running, error) {
	token := fmt.Sprintf("p%d", c.tokens.Add(1))
	if args == nil {
		args = map[string]any{}
	}
	p, err := c.Request("tools/call", map[string]any{
		"name": tool, "arguments": args, "_meta": map[string]any{"progressToken": token},
	})
	if err != nil {
		return nil, err
	}
	return &Running{Pending: p, token: token}, nil
}

// Result waits for the result of the call. A failed tool is no error: see
// Result.IsError.
func (r *Running) Result(ctx context.Context) (Result, error) {
	m, err := r.Wait(ctx)
	if err != nil {
		return Result{Seq: m.Seq}, err
	}
	result, err := ParseResult(m.Result)
	result.Seq = m.Seq
	if err != nil {
		return result, err
	}
	for _, p := range r.ProgressSoFar() {
		if p.Seq < result.Seq {
			result.Progress = append(result.Progress, p)
		}
	}
	return result, nil
}

// ParseResult decodes the result of a tool call.
func ParseResult(raw json.RawMessage) (Result, error) {
	var wire struct {
		IsError bool `json:"isError"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		Meta       json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return Result{Raw: raw}, fmt.Errorf("tool result: %w", err)
	}
	var texts []string
	for _, content := range wire.Content {
		if content.Type == "text" {
			texts = append(texts, content.Text)
		}
	}
	return Result{
		IsError: wire.IsError, Text: strings.Join(texts, "\n"),
		Structured: wire.Structured, Meta: wire.Meta, Raw: raw,
	}, nil
}

// ProgressSoFar returns every progress notification of the call, also those
// that came after its response.
func (r *Running) ProgressSoFar() []Progress {
	var all []Progress
	for _, m := range r.client.Notifications("notifications/progress") {
		var p struct {
			Token any `json:"progressToken"`
			Progress
		}
		if json.Unmarshal(m.Params, &p) == nil && p.Token == r.token {
			p.Progress.Seq = m.Seq
			all = append(all, p.Progress)
		}
	}
	return all
}

// Call calls a tool and waits for its result. When ctx ends first the call is
// cancelled and the error is ctx's.
func (c *Client) Call(ctx context.Context, tool string, args map[string]any) (Result, error) {
	r, err := c.Begin(tool, args)
	if err != nil {
		return Result{}, err
	}
	result, err := r.Result(ctx)
	if err != nil && ctx.Err() != nil {
		_ = r.Cancel() // the connection may be over
	}
	return result, err
}

// MustCall is Call for calls that must succeed; else the test fails.
func (c *Client) MustCall(ctx context.Context, tool string, args map[string]any) Result {
	c.t.Helper()
	result, err := c.Call(ctx, tool, args)
	if err != nil {
		c.t.Fatalf("%s: %v%s", tool, err, c.stderr())
	}
	if result.IsError {
		c.t.Fatalf("%s failed: %s", tool, result.Text)
	}
	return result
}
