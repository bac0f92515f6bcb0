package main

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The smallest picture and the smallest sound.
const (
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
)

// addTool adds a tool that takes no arguments unless options say so.
func addTool(srv *server.MCPServer, name, about string, handle server.ToolHandlerFunc, options ...mcp.ToolOption) {
	srv.AddTool(mcp.NewTool(name, append(options, mcp.WithDescription(about))...), handle)
}

// addContentTools adds the tools that answer with each kind of content.
func addContentTools(srv *server.MCPServer) {
	fixed := func(name, about string, result *mcp.CallToolResult) {
		addTool(srv, name, about, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			copied := *result // the server writes into what it gets
			return &copied, nil
		})
	}
	content := func(parts ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: parts} }
	embedded := func(uri, kind, text string) mcp.Content {
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: text})
	}
	fixed("test_simple_text", "Answers with text", mcp.NewToolResultText("This is a simple text response for testing."))
	fixed("test_image_content", "Answers with a picture", content(mcp.NewImageContent(pixel, "image/png")))
	fixed("test_audio_content", "Answers with a sound", content(mcp.NewAudioContent(silence, "audio/wav")))
	fixed("test_embedded_resource", "Answers with a resource",
		content(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")))
	fixed("test_multiple_content_types", "Answers with several kinds of content", content(
		mcp.NewTextContent("Multiple content types test:"),
		mcp.NewImageContent(pixel, "image/png"),
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))
	fixed("test_error_handling", "Fails", mcp.NewToolResultError("This tool intentionally returns an error for testing"))

	srv.AddTool(mcp.Tool{
		Name: "json_schema_2020_12_tool", Description: "Has a schema with keywords of JSON Schema 2020-12",
		RawInputSchema: schema2020,
	}, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("called"), nil
	})
}

// addHeaderTool adds a tool with an argument that travels in a header as well.
func addHeaderTool(srv *server.MCPServer) {
	srv.AddTool(mcp.Tool{
		Name: "test_custom_headers", Description: "Has an argument that travels in a header as well",
		RawInputSchema: json.RawMessage(`{"type": "object", "properties": {
			"region": {"type": "string", "description": "Where", "x-mcp-header": "Region"}}}`),
	}, func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("region: " + r.GetString("region", "none")), nil
	})
}

var schema2020 = json.RawMessage(`{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object",
		"properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`)

func addResources(srv *server.MCPServer) {
	text := func(uri, kind, text string) []mcp.ResourceContents {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: text}}
	}
	srv.AddResource(mcp.NewResource("test://static-text", "static-text",
		mcp.WithResourceDescription("A text that never changes"), mcp.WithMIMEType("text/plain")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return text("test://static-text", "text/plain", "This is the content of the static text resource."), nil
		})
	srv.AddResource(mcp.NewResource("test://static-binary", "static-binary",
		mcp.WithResourceDescription("A picture that never changes"), mcp.WithMIMEType("image/png")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel}}, nil
		})
	srv.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template",
		mcp.WithTemplateDescription("A resource for every id"), mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := ""
			if ids, ok := r.Params.Arguments["id"].([]string); ok && len(ids) == 1 {
				id = ids[0]
			}
			body, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return text(r.Params.URI, "application/json", string(body)), err
		})
}

func addPrompts(srv *server.MCPServer) {
	said := func(content mcp.Content) mcp.PromptMessage {
		return mcp.PromptMessage{Role: mcp.RoleUser, Content: content}
	}
	prompt := func(messages ...mcp.PromptMessage) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: messages}, nil
	}
	srv.AddPrompt(mcp.NewPrompt("test_simple_prompt", mcp.WithPromptDescription("A prompt without arguments")),
		func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return prompt(said(mcp.NewTextContent("This is a simple prompt for testing.")))
		})
	srv.AddPrompt(mcp.NewPrompt("test_prompt_with_arguments", mcp.WithPromptDescription("A prompt with arguments"),
		mcp.WithArgument("arg1", mcp.ArgumentDescription("The first"), mcp.RequiredArgument()),
		mcp.WithArgument("arg2", mcp.ArgumentDescription("The second"), mcp.RequiredArgument())),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			a := r.Params.Arguments
			return prompt(said(mcp.NewTextContent("Prompt with arguments: arg1='" + a["arg1"] + "', arg2='" + a["arg2"] + "'")))
		})
	srv.AddPrompt(mcp.NewPrompt("test_prompt_with_embedded_resource", mcp.WithPromptDescription("A prompt with a resource"),
		mcp.WithArgument("resourceUri", mcp.ArgumentDescription("Which resource"), mcp.RequiredArgument())),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return prompt(
				said(mcp.NewEmbeddedResource(mcp.TextResourceContents{
					URI: r.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."})),
				said(mcp.NewTextContent("Please process the embedded resource above.")))
		})
	srv.AddPrompt(mcp.NewPrompt("test_prompt_with_image", mcp.WithPromptDescription("A prompt with a picture")),
		func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return prompt(said(mcp.NewImageContent(pixel, "image/png")), said(mcp.NewTextContent("Please analyze the image above.")))
		})
	srv.AddPrompt(mcp.NewPrompt("test_input_required_result_prompt", mcp.WithPromptDescription("A prompt that asks the user first")),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			context, ok := accepted[string](r.Params.InputResponses, "user_context", "context")
			if !ok {
				return server.NewInputRequestBuilder("").Elicit("user_context",
					form("What context should the prompt use?", "context", "string")).PromptResult(), nil
			}
			return prompt(said(mcp.NewTextContent("Use this context: " + context)))
		})
}
