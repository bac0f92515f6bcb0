package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools"
)

// TestWrongResourcesAndPromptsHaveTheCodesOfTheProtocol compares the codes that
// a client of each protocol era gets.
func TestWrongResourcesAndPromptsHaveTheCodesOfTheProtocol(t *testing.T) {
	for era, greet := range map[string]func(context.Context, *mcptest.Client){
		"2025-11-25": func(ctx context.Context, c *mcptest.Client) { c.Initialize(ctx) },
		"2026-07-28": func(ctx context.Context, c *mcptest.Client) { c.Discover(ctx) },
	} {
		withClient(t, tools.Options{}, func(c *client) {
			client := mcptest.Pipe(c.t, c.srv)
			greet(c.t.Context(), client)
			notFound := mcp.INVALID_PARAMS
			if era == mcptest.LegacyVersion {
				notFound = mcp.RESOURCE_NOT_FOUND
			}
			ses := c.start(nil)
			wrong := func(method string, params map[string]any, code int, says string) {
				t.Helper()
				var refused *mcptest.RPCError
				if err := client.Do(c.t.Context(), method, params, nil); !errors.As(err, &refused) {
					t.Errorf("%s: %s %v: %v", era, method, params, err)
				} else if refused.Code != code || !strings.Contains(refused.Message, says) {
					t.Errorf("%s: %s %v: %v, want %d with %q", era, method, params, refused, code, says)
				}
			}
			for _, uri := range []string{
				"harness://sessions/ses_none", "harness://turns/trn_none", "harness://turns/trn_none/text", "harness://requests/req_none",
				"harness://processes/prc_none", "harness://processes/prc_none/events", "harness://processes/prc_none/output",
				"harness://sessions/ses_none/events", "harness://turns/" + ses, "harness://nothing", "other://sessions",
				"harness://sessions/" + ses + "/nothing",
			} {
				wrong("resources/read", map[string]any{"uri": uri}, notFound, "")
				if era == mcptest.LegacyVersion {
					wrong("resources/subscribe", map[string]any{"uri": uri}, notFound, "not_found: ")
				} else {
					wrong("subscriptions/listen", map[string]any{"notifications": map[string]any{
						"resourceSubscriptions": []string{"harness://sessions/" + ses, uri}}}, notFound, "not_found: ")
				}
			}
			wrong("resources/read", map[string]any{"uri": "harness://sessions/" + ses + "/events?after=x"}, mcp.INVALID_PARAMS, "after must be")
			wrong("resources/read", map[string]any{"uri": "harness://sessions/" + ses + "/events?limit=99999999999999999999"}, mcp.INVALID_PARAMS, "limit must be")
			wrong("prompts/get", map[string]any{"name": "delegate"}, mcp.INVALID_PARAMS, "is required")
			wrong("prompts/get", map[string]any{"name": "nothing"}, mcp.INVALID_PARAMS, "not found")
			for _, uri := range []string{"harness://sessions", "harness://providers", "harness://sessions/" + ses, "harness://sessions/" + ses + "/events"} {
				if era == mcptest.LegacyVersion {
					if err := client.Do(c.t.Context(), "resources/subscribe", map[string]any{"uri": uri}, nil); err != nil {
						t.Errorf("%s: %v", uri, err)
					}
				}
			}
		})
	}
}
