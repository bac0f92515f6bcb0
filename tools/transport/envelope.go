package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// The codes at the beginning of a handler's error that have a code in the
// protocol.
const (
	codeNotFound        = "not_found"
	codeInvalidArgument = "invalid_argument"
)

// envelope is the part of a message that routing needs. It is decoded once, in
// one pass that skips arguments.
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

// refusal is the error response to a message that cannot be routed.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return r.message }

// decodeEnvelope decodes the envelope of a message. Wrong types inside an
// object are left to mcp-go, whose error names the field; a message that is not
// a request object is refused.
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
	if !utf8.Valid(e.ID) { // it is returned in its own bytes
		return false
	}
	switch c := e.ID[0]; {
	case c == '"', c == '-', '0' <= c && c <= '9':
		return true
	}
	return false
}

// isResponse reports whether the message is the response to a request of the
// server.
func (e *envelope) isResponse() bool {
	return e.Method == "" && e.hasID() && (e.Result != nil || e.Error != nil)
}

// modern reports whether the request carries its protocol version, as revisions
// from 2026-07-28 on require.
func (e *envelope) modern() bool { return mcp.IsModernProtocol(e.Params.Meta.ProtocolVersion) }

// reply is a response with the id in the bytes of the client, so that numbers
// beyond the exact range of a float are unchanged.
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

// withErrorCode sets the code that the protocol prescribes for the error of a
// resource or a prompt: mcp-go answers every error of a handler with
// INTERNAL_ERROR. The message of such an error begins with our own code. A
// resource that is not found has a code of its own up to 2025-11-25.
func (e *envelope) withErrorCode(response any) any {
	r, ok := response.(reply)
	if !ok || r.Error == nil || r.Error.Code != mcp.INTERNAL_ERROR {
		return response
	}
	switch mcp.MCPMethod(e.Method) {
	case mcp.MethodResourcesRead, mcp.MethodPromptsGet:
	default:
		return response
	}
	code, _, _ := strings.Cut(r.Error.Message, ": ")
	switch {
	case code == codeNotFound && !e.modern():
		r.Error.Code = mcp.RESOURCE_NOT_FOUND
	case code == codeNotFound, code == codeInvalidArgument:
		r.Error.Code = mcp.INVALID_PARAMS
	}
	return r
}

// withURI adds the URI to the error of a resources/read, as the protocol
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

// withID replaces the id of a response of mcp-go by the client's own bytes.
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

func (e *envelope) decodeResponse(method string, result any) error {
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
