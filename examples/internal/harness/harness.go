// Package harness is a small client of harness-mcp for Go programs:
// it starts the server as a child or dials one that runs, and calls its tools. Any MCP client would
// do; this one is mcp-go's.
package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// Client is a running server. Calls may be made at the same time.
type Client struct{ mcp *client.Client }

// Start runs "command serve" with more arguments, in this program's environment
// with env over it, and shakes hands.
func Start(ctx context.Context, command string, env []string, args ...string) (*Client, error) {
	c, err := client.NewStdioMCPClient(command, env, append([]string{"serve"}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command, err)
	}
	return greet(ctx, c)
}

// Dial shakes hands with a server that runs already, over HTTP, as the owner of
// a token. Close leaves that server running.
func Dial(ctx context.Context, url, token string) (*Client, error) {
	c, err := client.NewStreamableHttpClient(url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	if err := c.Start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s: %w", url, err), c.Close())
	}
	return greet(ctx, c)
}

func greet(ctx context.Context, c *client.Client) (*Client, error) {
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "example", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		_ = c.Close() // the first error says more
		return nil, fmt.Errorf("initialize: %w", err)
	}
	return &Client{c}, nil
}

// Close ends a server that Start started, and with it every agent that it runs.
func (c *Client) Close() error { return c.mcp.Close() }

// Args are the arguments of a tool.
type Args = map[string]any

// Error is a tool's refusal. Code is for programs, the rest for people.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

func (e *Error) Error() string { return strings.TrimSpace(e.Code + ": " + e.Message + " " + e.Hint) }

// Call calls a tool and decodes the structured half of its reply into out,
// unless that is nil. A refusal is an *Error.
func (c *Client) Call(ctx context.Context, tool string, args Args, out any) error {
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = tool, args
	res, err := c.mcp.CallTool(ctx, req)
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	if res.IsError {
		refused := struct {
			Error *Error `json:"error"`
		}{&Error{Code: "unknown"}}
		if err := json.Unmarshal(raw, &refused); err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
		return fmt.Errorf("%s: %w", tool, refused.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	return nil
}

// Turn is one piece of work, as far as the examples read it.
type Turn struct {
	ID      string    `json:"turn_id"`
	Session string    `json:"session_id"`
	Status  string    `json:"status"`
	Text    string    `json:"text"`
	Pending []Request `json:"pending_requests"`
	Error   *Error    `json:"error"`
}

// Request is a question of an agent's.
type Request struct {
	ID        string     `json:"request_id"`
	Kind      string     `json:"kind"`
	Prompt    string     `json:"prompt"`
	Questions []Question `json:"questions"`
}

// Question is one of a request's.
type Question struct {
	ID      string   `json:"id"`
	Prompt  string   `json:"prompt"`
	Choices []Choice `json:"choices"`
}

// Choice is an answer that a question offers.
type Choice struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// Awaited is the result of await.
type Awaited struct {
	Outcome string `json:"outcome"` // done, request_pending or timeout
	Results []Turn `json:"results"` // finished first
}
