package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// envelope is what routing needs to know of a message. It is decoded once, in
// one pass that skips over arguments.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			ProtocolVersion string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// refusal is a message that cannot be routed, as the client is told.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return r.message }

// open decodes the envelope of a message. Wrong types inside an object are
// left to mcp-go, which names the field; what is no request object at all is
// refused here.
func decodeEnvelope(message []byte) (envelope, *refusal) {
	var e envelope
	if trimmed := bytes.TrimLeft(message, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		if !json.Valid(message) {
			return e, &refusal{mcp.PARSE_ERROR, "the message is not valid JSON"}
		}
		if trimmed[0] == '[' {
			return e, &refusal{mcp.INVALID_REQUEST, "batches are not supported: send one message at a time"}
		}
		return e, &refusal{mcp.INVALID_REQUEST, "a message must be a JSON object"}
	}
	err := json.Unmarshal(message, &e)
	var wrongType *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &wrongType) {
		return e, &refusal{mcp.PARSE_ERROR, "the message is not valid JSON: " + err.Error()}
	}
	if !e.idIsValid() {
		return e, &refusal{mcp.INVALID_REQUEST, "an id must be a string or a number, in UTF-8"}
	}
	return e, nil
}

func (e *envelope) hasID() bool { return len(e.ID) > 0 && e.ID[0] != 'n' }

func (e *envelope) idIsValid() bool {
	if !e.hasID() {
		return true
	}
	if !utf8.Valid(e.ID) { // it would come back so, in its own bytes
		return false
	}
	switch c := e.ID[0]; {
	case c == '"', c == '-', '0' <= c && c <= '9':
		return true
	}
	return false
}

// isAnswer reports whether the message answers a request of ours.
func (e *envelope) isAnswer() bool {
	return e.Method == "" && e.hasID() && (e.Result != nil || e.Error != nil)
}

// modern reports whether the request introduces itself, as protocol revisions
// from 2026-07-28 on require.
func (e *envelope) modern() bool { return mcp.IsModernProtocol(e.Params.Meta.ProtocolVersion) }

// reply is a response with the id in the very bytes the client wrote, so that
// numbers beyond the exact range of a float come back unharmed.
type reply struct {
	JSONRPC string                   `json:"jsonrpc"`
	ID      json.RawMessage          `json:"id"`
	Result  any                      `json:"result,omitempty"`
	Error   *mcp.JSONRPCErrorDetails `json:"error,omitempty"`
}

func errorReply(id json.RawMessage, code int, message string) reply {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: &mcp.JSONRPCErrorDetails{Code: code, Message: message}}
}

// withURI adds to the refusal of a resource which one it was, as the protocol
// recommends.
func (e *envelope) withURI(response any) any {
	r, ok := response.(reply)
	if !ok || r.Error == nil || r.Error.Data != nil || mcp.MCPMethod(e.Method) != mcp.MethodResourcesRead {
		return response
	}
	if r.Error.Code == mcp.INVALID_PARAMS || r.Error.Code == mcp.RESOURCE_NOT_FOUND {
		r.Error.Data = map[string]any{"uri": e.Params.URI}
	}
	return r
}

// addressed puts the client's own id on a response of mcp-go.
func withID(id json.RawMessage, response mcp.JSONRPCMessage) any {
	switch r := response.(type) {
	case mcp.JSONRPCResponse:
		if r.Result != nil && len(id) > 0 {
			return reply{JSONRPC: r.JSONRPC, ID: id, Result: r.Result}
		}
	case mcp.JSONRPCError:
		if len(id) > 0 {
			return reply{JSONRPC: r.JSONRPC, ID: id, Error: &r.Error}
		}
	}
	return response
}

func (e *envelope) decodeAnswer(method string, result any) error {
	if e.Error != nil && string(e.Error) != "null" {
		var refused mcp.JSONRPCErrorDetails
		if err := json.Unmarshal(e.Error, &refused); err != nil {
			return fmt.Errorf("%s: the client's error is malformed: %w", method, err)
		}
		return fmt.Errorf("%s: the client refused: %s (%d)", method, refused.Message, refused.Code)
	}
	if err := json.Unmarshal(e.Result, result); err != nil {
		return fmt.Errorf("%s: the client's answer is malformed: %w", method, err)
	}
	return nil
}
