package jsonrpc

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// ErrTooMany means that a request was not sent.
var ErrTooMany = errors.New("jsonrpc: too many requests wait for a response")

// Options of a peer.
type Options struct {
	Version string // the jsonrpc member of our frames; "" leaves it out
	MaxLine int    // bytes of one line; 0 means ndjson.MaxLine
}

// Peer is one end of a conversation. Recv belongs to one goroutine; all other
// methods may be called from anywhere. What sends a frame returns the errors of
// ndjson.Outbox, and its written, if any, is the Outbox's.
type Peer struct {
	in      *ndjson.Reader
	out     *ndjson.Outbox
	version string

	mu     sync.Mutex
	calls  map[string]*Call
	lastID uint64
}

// NewPeer begins to write to out. The owner of out closes it; Close here ends
// the writer.
func NewPeer(in io.Reader, out io.Writer, opts Options) *Peer {
	return &Peer{
		in:      ndjson.NewReader(in, opts.MaxLine),
		out:     ndjson.NewOutbox(out, ndjson.DefaultLimits),
		version: opts.Version,
		calls:   make(map[string]*Call),
	}
}

// Recv returns the next message. Its error is that of the pipe, io.EOF at a
// clean end, or *ndjson.TooLongError; nothing can be read after it.
func (p *Peer) Recv() (Message, error) {
	line, err := p.in.Next()
	if err != nil {
		return Message{}, err
	}
	m := decode(line)
	if m.Kind == Response {
		p.mu.Lock()
		m.Call = p.calls[string(m.ID)]
		delete(p.calls, string(m.ID))
		p.mu.Unlock()
	}
	return m, nil
}

// Call sends a request. Its response comes from Recv with a Call that holds
// tag.
//
// Errors: ErrTooMany too.
func (p *Peer) Call(method string, params, tag any, written func()) error {
	raw, err := marshal(params)
	if err != nil {
		return err
	}
	p.mu.Lock() // until the call is known, or its response could be faster
	defer p.mu.Unlock()
	if len(p.calls) >= maxCalls {
		return ErrTooMany
	}
	p.lastID++
	id := strconv.FormatUint(p.lastID, 10)
	if err := p.post(envelope{ID: json.RawMessage(id), Method: method, Params: raw}, written); err != nil {
		return err
	}
	p.calls[id] = &Call{Method: method, Tag: tag}
	return nil
}

// Notify sends a notification; nil params are left out.
func (p *Peer) Notify(method string, params any, written func()) error {
	raw, err := marshal(params)
	if err != nil {
		return err
	}
	return p.post(envelope{Method: method, Params: raw}, written)
}

// Reply answers the request with the given id.
func (p *Peer) Reply(id json.RawMessage, result any, written func()) error {
	raw, err := marshal(result)
	if err != nil {
		return err
	}
	if raw == nil {
		raw = json.RawMessage("null")
	}
	return p.post(envelope{ID: id, Result: raw}, written)
}

// Refuse answers the request with an error.
func (p *Peer) Refuse(id json.RawMessage, code int, message string) error {
	return p.post(envelope{ID: id, Error: &Error{Code: code, Message: message}}, nil)
}

// Close ends the writer, as that of an Outbox; frames still waiting are not
// written.
func (p *Peer) Close() { p.out.Close() }

// Done is closed when the writer has returned.
func (p *Peer) Done() <-chan struct{} { return p.out.Done() }

func (p *Peer) post(e envelope, written func()) error {
	e.Version = p.version
	return p.out.Add(e, written)
}

// marshal encodes params or a result; nil stays nil.
func marshal(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return v, nil
	}
	line, err := ndjson.Encode(v)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(line[:len(line)-1]), nil
}
