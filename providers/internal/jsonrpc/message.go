// Package jsonrpc is one end of a bidirectional JSON-RPC conversation over
// newline-delimited JSON, as coding agents speak it on stdin and stdout.
//
// Both sides ask and both sides answer, and each side numbers its own
// requests: the same id may be open in both directions at once. Ids of the
// other side are kept as they came, number or string, and go back byte for
// byte. The other side's order is kept: Recv returns messages one by one and
// runs nothing, so whoever reads decides what happens before the next message.
//
// Sending never waits: a frame goes into a bounded outbox.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// Kind is the kind of a message.
type Kind int

// The kinds of messages that Recv returns.
const (
	Invalid      Kind = iota // not a JSON-RPC message; Raw is nil, Line has it
	Request                  // asks for an answer with the same ID
	Notification             // wants none
	Response                 // answers Call, or nothing we asked when Call is nil
)

// Message is what the other side sent.
type Message struct {
	Kind   Kind
	ID     json.RawMessage // of a request or a response, as it came
	Method string
	Params json.RawMessage // a part of Raw, as Result is: a copy is kept, never these
	Result json.RawMessage
	Error  *Error
	Call   *Call           // what a response answers
	Raw    json.RawMessage // the whole frame
	Line   []byte          // an invalid line
}

// Call is a request of ours that waits, or waited, for its response. Tag is
// the caller's own.
type Call struct {
	Method string
	Tag    any
}

// Error is the error object of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns code and message.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Codes of JSON-RPC errors.
const (
	CodeMethodNotFound = -32601
	CodeInternal       = -32603
)

// envelope is any frame. Pointers distinguish null from absent where it matters.
type envelope struct {
	Version string          `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// received is envelope for a frame that came: its large members are parts of
// the line. The ID is none, for it is kept.
type received struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  ndjson.Part     `json:"params"`
	Result  ndjson.Part     `json:"result"`
	Error   *Error          `json:"error"`
}

// decode reads a line; it does not look up calls.
func decode(line []byte) Message {
	var e received
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &e) != nil {
		return Message{Kind: Invalid, Line: line}
	}
	m := Message{ID: e.ID, Method: e.Method, Params: json.RawMessage(e.Params), Result: json.RawMessage(e.Result), Error: e.Error, Raw: line}
	hasID := len(e.ID) > 0 && !bytes.Equal(e.ID, []byte("null"))
	switch {
	case e.Method != "" && hasID:
		m.Kind = Request
	case e.Method != "":
		m.Kind = Notification
	case hasID && (e.Error != nil || e.Result != nil):
		m.Kind = Response
	default:
		return Message{Kind: Invalid, Line: line}
	}
	return m
}
