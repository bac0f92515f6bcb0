package transport

import (
	"github.com/mark3labs/mcp-go/mcp"
)

// missingCapabilities returns the capabilities that a result requires of the
// client and that the client has not declared. A server must not require more
// than was declared, and mcp-go passes on whatever a handler requests.
func missingCapabilities(response mcp.JSONRPCMessage, declared mcp.ClientCapabilities) map[string]any {
	r, ok := response.(mcp.JSONRPCResponse)
	if !ok {
		return nil
	}
	missing := make(map[string]any)
	for _, ask := range inputRequests(r.Result) {
		switch ask.Method {
		case mcp.MethodElicitationCreate:
			if declared.Elicitation == nil {
				missing["elicitation"] = map[string]any{}
			}
		case mcp.MethodSamplingCreateMessage:
			if declared.Sampling == nil {
				missing["sampling"] = map[string]any{}
			}
		case mcp.MethodListRoots:
			if declared.Roots == nil {
				missing["roots"] = map[string]any{}
			}
		}
	}
	return missing
}

func inputRequests(result any) mcp.InputRequests {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		return r.InputRequests
	case mcp.CallToolResult:
		return r.InputRequests
	case *mcp.GetPromptResult:
		return r.InputRequests
	case mcp.GetPromptResult:
		return r.InputRequests
	case *mcp.ReadResourceResult:
		return r.InputRequests
	case mcp.ReadResourceResult:
		return r.InputRequests
	}
	return nil
}

func missingCapabilityReply(id []byte, missing map[string]any) reply {
	r := errorReply(id, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, "the client has not declared a capability that this request needs")
	r.Error.Data = map[string]any{"requiredCapabilities": missing}
	return r
}
