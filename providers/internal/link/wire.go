package link

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// Wire is the framing between a Conn and its agent. Next belongs to the reader;
// any goroutine may call the other methods.
type Wire[F any] interface {
	// Next waits for a message of the agent and returns the step in which the
	// translator takes it.
	Next() (step func(), err error)
	// Post queues a frame and does not wait. written, unless nil, is called from
	// another goroutine once the whole frame is in the pipe.
	Post(f F, written func()) error
	// Written returns the step that follows when the whole frame is in the pipe,
	// nil for none.
	Written(f F) func()
	// Close ends the writer, and Done is closed when it has returned.
	Close()
	Done() <-chan struct{}
}

// Line is a value that is sent as one line of JSON.
type Line struct {
	Value   any
	Written func() // a step for when all of it is in the pipe; may be nil
}

// Lines returns the wire of an agent that exchanges lines of JSON. read is the
// translator's step for one line.
func Lines(child process.Child, read func(line []byte)) Wire[Line] {
	return lines{ndjson.NewReader(child.Stdout(), 0), ndjson.NewOutbox(child.Stdin(), ndjson.DefaultLimits), read}
}

type lines struct {
	in *ndjson.Reader
	*ndjson.Outbox
	read func(line []byte)
}

func (w lines) Next() (func(), error) {
	line, err := w.in.Next()
	return func() { w.read(line) }, err
}

func (w lines) Post(l Line, written func()) error { return w.Add(l.Value, written) }

func (w lines) Written(l Line) func() { return l.Written }

// Frame is a JSON-RPC message to the agent. Kind is Request, Notification or
// Response.
type Frame struct {
	Kind    jsonrpc.Kind
	Method  string
	Params  any             // or the result of a response
	Tag     any             // of a request: comes back with its response
	ID      json.RawMessage // of the request that a response answers
	Error   *jsonrpc.Error  // of a response that refuses
	Written func()          // a step for when all of it is in the pipe; may be nil
}

// Calls returns the wire of an agent that speaks JSON-RPC. message is the
// translator's step for one message; responses to Peer.Ask do not reach it.
func Calls(peer *jsonrpc.Peer, message func(jsonrpc.Message)) Wire[Frame] {
	return calls{peer, message}
}

type calls struct {
	*jsonrpc.Peer
	message func(jsonrpc.Message)
}

func (w calls) Next() (func(), error) {
	m, err := w.Recv()
	return func() {
		if !jsonrpc.Answered(m) {
			w.message(m)
		}
	}, err
}

func (w calls) Post(f Frame, written func()) error {
	switch {
	case f.Kind == jsonrpc.Request:
		return w.Call(f.Method, f.Params, f.Tag, written)
	case f.Kind == jsonrpc.Notification:
		return w.Notify(f.Method, f.Params, written)
	case f.Error != nil:
		return w.Refuse(f.ID, f.Error.Code, f.Error.Message)
	}
	return w.Reply(f.ID, f.Params, written)
}

func (w calls) Written(f Frame) func() { return f.Written }

// CallOutput is the Output of a translator that speaks JSON-RPC.
type CallOutput struct{ Output[Frame] }

// Call adds a request, whose response has the tag.
func (o *CallOutput) Call(method string, params, tag any) {
	o.Frame(Frame{Kind: jsonrpc.Request, Method: method, Params: params, Tag: tag})
}

// Reply adds the answer to a request of the agent's. written may be nil.
func (o *CallOutput) Reply(id json.RawMessage, result any, written func()) {
	o.Frame(Frame{Kind: jsonrpc.Response, ID: id, Params: result, Written: written})
}

// Refuse adds an error as the answer to a request of the agent's.
func (o *CallOutput) Refuse(id json.RawMessage, code int, why string) {
	o.Frame(Frame{Kind: jsonrpc.Response, ID: id, Error: &jsonrpc.Error{Code: code, Message: why}})
}

// LineOutput is the Output of a translator that sends lines.
type LineOutput struct{ Output[Line] }

// Send adds a line. op, unless 0, is done when all of the line is in the pipe,
// which is the only proof that such a protocol offers.
func (o *LineOutput) Send(value any, op core.OpID) {
	l := Line{Value: value}
	if op != 0 {
		l.Written = func() { o.OpDone(op, "", nil, nil) }
	}
	o.Frame(l)
}
