package transport

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// recordSafeTools records, from a list of tools, which of them may be called
// twice.
func (b *bridge) recordSafeTools(e *envelope, body []byte) {
	if mcp.MCPMethod(e.Method) != mcp.MethodToolsList {
		return
	}
	var list struct {
		Result struct {
			Tools []struct {
				Name        string `json:"name"`
				Annotations struct {
					ReadOnly   bool `json:"readOnlyHint"`
					Idempotent bool `json:"idempotentHint"`
				} `json:"annotations"`
			} `json:"tools"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &list) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.toolsListed = true
	for _, t := range list.Result.Tools {
		if safe := t.Annotations.ReadOnly || t.Annotations.Idempotent; safe || b.safeTools[t.Name] {
			b.safeTools[t.Name] = safe
		}
	}
}

// listAndCheckRepeatable lists the server's tools, if the client never has, and
// reports whether the lost call may be made again.
func (b *bridge) listAndCheckRepeatable(ctx context.Context, lost *forwardedRequest) bool {
	b.listingTools.Lock()
	defer b.listingTools.Unlock()
	b.mu.Lock()
	learned := b.toolsListed
	b.mu.Unlock()
	if !learned {
		var body struct {
			Params struct {
				Meta json.RawMessage `json:"_meta,omitempty"`
			} `json:"params"`
		}
		_ = json.Unmarshal(lost.message, &body) // decodeEnvelope has parsed it
		line, err := json.Marshal(map[string]any{
			"jsonrpc": mcp.JSONRPC_VERSION, "id": "connect tools", "method": mcp.MethodToolsList, "params": body.Params})
		if err != nil {
			return false
		}
		e, refused := decodeEnvelope(line)
		if refused != nil {
			return false
		}
		if err := b.deliver(ctx, &forwardedRequest{call: new(call), envelope: &e, message: line, internal: true}); err != nil {
			return false
		}
	}
	return b.repeatable(lost.envelope)
}

// repeatable reports whether a request may be sent twice.
func (b *bridge) repeatable(e *envelope) bool {
	if mcp.MCPMethod(e.Method) != mcp.MethodToolsCall {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.safeTools[e.Params.Name]
}
