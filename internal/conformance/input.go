package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// ask is a question for the client's model.
func ask(prompt string, tokens int) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(prompt)}},
		MaxTokens: tokens,
	}
}

// form is a question for the user with one field.
func form(message, field, kind string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{field: map[string]any{"type": kind}}, "required": []string{field},
	}}
}

// accepted returns a field of the user's answer, if there is one of the right
// type.
func accepted[T any](answers mcp.InputResponses, id, field string) (value T, ok bool) {
	answer := server.ElicitationResponse(answers, id)
	if answer == nil || answer.Action != mcp.ElicitationResponseActionAccept {
		return value, false
	}
	fields, _ := answer.Content.(map[string]any)
	value, ok = fields[field].(T)
	return value, ok
}

// seal marks a state as ours, so that a client cannot change it.
type seal []byte

func (s seal) sign(state string) string {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

var errTampered = errors.New("the request state is not one of this server's")

func (s seal) open(signed string) (string, error) {
	state, _, _ := strings.Cut(signed, ".")
	if !hmac.Equal([]byte(s.sign(state)), []byte(signed)) {
		return "", errTampered
	}
	return state, nil
}

// addInputTools adds the tools that need the client's input to complete: they
// are called again with the answers.
func addInputTools(srv *server.MCPServer) {
	key := make(seal, 32)
	_, _ = rand.Read(key) // never fails
	text := func(format string, a ...any) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprintf(format, a...)), nil
	}
	need := server.NewInputRequestBuilder
	whatName := form("What is your name?", "name", "string")

	addTool(srv, "test_input_required_result_elicitation", "Asks the user", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name, ok := accepted[string](r.Params.InputResponses, "user_name", "name")
		if !ok {
			return need("").Elicit("user_name", whatName).ToolResult(), nil
		}
		return text("Hello, %s!", name)
	})
	addTool(srv, "test_streaming_elicitation", "Asks the user", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name, ok := accepted[string](r.Params.InputResponses, "user_name", "name")
		if !ok {
			return need("").Elicit("user_name", whatName).ToolResult(), nil
		}
		return text("Hello, %s!", name)
	})
	addTool(srv, "test_input_required_result_sampling", "Asks the client's model", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := server.SamplingResponse(r.Params.InputResponses, "capital_question")
		if answer == nil {
			return need("").Sample("capital_question", ask("What is the capital of France?", 100)).ToolResult(), nil
		}
		return text("The model said: %v", answer.Content)
	})
	addTool(srv, "test_input_required_result_list_roots", "Asks for the client's roots", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := server.RootsResponse(r.Params.InputResponses, "client_roots")
		if answer == nil {
			return need("").Roots("client_roots").ToolResult(), nil
		}
		return text("Roots: %v", answer.Roots)
	})
	addTool(srv, "test_missing_capability", "Needs the client's model", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer := server.SamplingResponse(r.Params.InputResponses, "question"); answer != nil {
			return text("The model said: %v", answer.Content)
		}
		return need("").Sample("question", ask("Are you there?", 100)).ToolResult(), nil
	})
	confirm := func(done string) server.ToolHandlerFunc {
		return func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if r.Params.RequestState != "" {
				if _, err := key.open(r.Params.RequestState); err != nil {
					return nil, err
				}
			}
			if _, ok := accepted[bool](r.Params.InputResponses, "confirm", "ok"); !ok || r.Params.RequestState == "" {
				return need(key.sign("confirming")).Elicit("confirm", form("Please confirm", "ok", "boolean")).ToolResult(), nil
			}
			return text("%s", done)
		}
	}
	addTool(srv, "test_input_required_result_request_state", "Asks the user and keeps a state meanwhile", confirm("state-ok"))
	addTool(srv, "test_input_required_result_tampered_state", "Asks the user and refuses a changed state", confirm("untouched"))
	addTool(srv, "test_input_required_result_multiple_inputs", "Asks for several things at once", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answers := r.Params.InputResponses
		name, ok := accepted[string](answers, "user_name", "name")
		greeting, roots := server.SamplingResponse(answers, "greeting"), server.RootsResponse(answers, "client_roots")
		if !ok || greeting == nil || roots == nil {
			return need(key.sign("several")).Elicit("user_name", whatName).
				Sample("greeting", ask("Generate a greeting", 50)).Roots("client_roots").ToolResult(), nil
		}
		return text("%v, %s: %v", greeting.Content, name, roots.Roots)
	})
	addTool(srv, "test_input_required_result_multi_round", "Asks twice", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		first := func() (*mcp.CallToolResult, error) {
			return need(key.sign("first")).Elicit("step1", form("Step 1: What is your name?", "name", "string")).ToolResult(), nil
		}
		if r.Params.RequestState == "" {
			return first()
		}
		state, err := key.open(r.Params.RequestState)
		if err != nil {
			return nil, err
		}
		name, named := accepted[string](r.Params.InputResponses, "step1", "name")
		color, colored := accepted[string](r.Params.InputResponses, "step2", "color")
		switch {
		case state == "first" && !named:
			return first()
		case state == "first":
			state = "second " + hex.EncodeToString([]byte(name))
			fallthrough
		case !colored:
			return need(key.sign(state)).Elicit("step2", form("Step 2: What is your favorite color?", "color", "string")).ToolResult(), nil
		}
		before, err := hex.DecodeString(strings.TrimPrefix(state, "second "))
		if err != nil {
			return nil, errTampered
		}
		return text("%s likes %s", before, color)
	})
	addTool(srv, "test_input_required_result_capabilities", "Asks for what the client can give", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(r.Params.InputResponses) > 0 {
			return text("asked")
		}
		client := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo).GetClientCapabilities()
		b := need("")
		if client.Sampling != nil {
			b.Sample("question", ask("Are you there?", 100))
		}
		if client.Elicitation != nil {
			b.Elicit("user_name", whatName)
		}
		return b.ToolResult(), nil
	})
}
