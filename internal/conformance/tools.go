package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// pause is the time between the notifications of a call: the suite wants to see them
// one by one.
const pause = 50 * time.Millisecond

// addCallingTools adds the tools that talk with their client while they run.
func addCallingTools(srv *server.MCPServer) {
	addTool(srv, "test_tool_with_logging", "Logs while it runs", logging(srv,
		"Tool execution started", "Tool processing data", "Tool execution completed"))
	addTool(srv, "test_logging_tool", "Logs while it runs, if it was asked to", logging(srv, "Tool is running"))
	addTool(srv, "test_tool_with_progress", "Reports progress", progressing(srv))
	addTool(srv, "test_sampling", "Asks the client's model", sampling,
		mcp.WithString("prompt", mcp.Description("What to ask"), mcp.Required()))
	addTool(srv, "test_elicitation", "Asks the user", eliciting(srv, "User response", map[string]any{
		"type": "object",
		"properties": map[string]any{
			"username": map[string]any{"type": "string", "description": "User's response"},
			"email":    map[string]any{"type": "string", "description": "User's email address"},
		},
		"required": []string{"username", "email"},
	}), mcp.WithString("message", mcp.Description("What to tell the user"), mcp.Required()))
	addTool(srv, "test_elicitation_sep1034_defaults", "Asks the user, with defaults", eliciting(srv, "Elicitation completed", properties(map[string]any{
		"name":     map[string]any{"type": "string", "default": "John Doe"},
		"age":      map[string]any{"type": "integer", "default": 30},
		"score":    map[string]any{"type": "number", "default": 95.5},
		"status":   map[string]any{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
		"verified": map[string]any{"type": "boolean", "default": true},
	})))
	addTool(srv, "test_elicitation_sep1330_enums", "Asks the user, with choices", eliciting(srv, "Elicitation completed", properties(map[string]any{
		"untitledSingle": map[string]any{"type": "string", "enum": []string{"option1", "option2", "option3"}},
		"titledSingle":   map[string]any{"type": "string", "oneOf": titled},
		"legacyEnum":     map[string]any{"type": "string", "enum": []string{"opt1", "opt2"}, "enumNames": []string{"Option One", "Option Two"}},
		"untitledMulti":  map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": []string{"option1", "option2", "option3"}}},
		"titledMulti":    map[string]any{"type": "array", "items": map[string]any{"anyOf": titled}},
	})))
	addTool(srv, "test_trigger_tool_change", "Changes the list of tools", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		addTool(srv, "test_added", "Was added by a call", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("added"), nil
		})
		srv.DeleteTools("test_added")
		return mcp.NewToolResultText("changed"), nil
	})
	addTool(srv, "test_trigger_prompt_change", "Changes the list of prompts", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		srv.AddPrompt(mcp.NewPrompt("test_added", mcp.WithPromptDescription("Was added by a call")),
			func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			})
		srv.DeletePrompts("test_added")
		return mcp.NewToolResultText("changed"), nil
	})
}

var titled = []any{
	map[string]any{"const": "value1", "title": "First Option"},
	map[string]any{"const": "value2", "title": "Second Option"},
	map[string]any{"const": "value3", "title": "Third Option"},
}

func properties(p map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": p, "required": []string{}}
}

func logging(srv *server.MCPServer, lines ...string) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i, line := range lines {
			if i > 0 {
				time.Sleep(pause)
			}
			note := mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "conformance", line)
			if err := srv.SendLogMessageToClient(ctx, note); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("logged"), nil
	}
}

func progressing(srv *server.MCPServer) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
			return mcp.NewToolResultText("nobody asked for progress"), nil
		}
		for _, n := range []int{0, 50, 100} {
			err := srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": r.Params.Meta.ProgressToken, "progress": n, "total": 100,
				"message": fmt.Sprintf("Completed step %d of 100", n),
			})
			if err != nil {
				return nil, err
			}
			time.Sleep(pause)
		}
		return mcp.NewToolResultText("progressed"), nil
	}
}

// sampling asks the client's model: by a request of the server up to
// 2025-11-25, by a second round of the call from then on.
func sampling(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer := server.SamplingResponse(r.Params.InputResponses, "model")
	if answer == nil {
		return server.NewInputRequestBuilder("").Sample("model", ask(r.GetString("prompt", ""), 100)).ToolResult(), nil
	}
	text, _ := answer.Content.(mcp.TextContent)
	return mcp.NewToolResultText("LLM response: " + text.Text), nil
}

func eliciting(srv *server.MCPServer, prefix string, schema map[string]any) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := srv.RequestElicitation(ctx, mcp.ElicitationRequest{
			Request: mcp.Request{Method: string(mcp.MethodElicitationCreate)},
			Params:  mcp.ElicitationParams{Message: r.GetString("message", "Please answer"), RequestedSchema: schema},
		})
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(fmt.Sprintf("%s: action=%s, content=%v", prefix, result.Action, result.Content)), nil
	}
}
