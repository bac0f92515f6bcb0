package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// Bounds of a peer.
const (
	maxOutboxFrames = 1024
	maxOutboxBytes  = 64 << 20
	maxCalls        = 1024 // requests of ours without a response
)

// Why a frame was not taken.
var (
	ErrClosed  = errors.New("jsonrpc: the connection is closed")
	ErrFull    = errors.New("jsonrpc: the peer does not read: the outbox is full")
	ErrTooMany = errors.New("jsonrpc: too many requests wait for a response")
)

// Options of a peer.
type Options struct {
	Version string // the jsonrpc member of our frames; "" leaves it out
	MaxLine int    // bytes of one line; 0 means ndjson.MaxLine
}

// Peer is one end of a conversation. Recv belongs to one goroutine; all other
// methods may be called from anywhere.
type Peer struct {
	in      *ndjson.Reader
	out     io.Writer
	version string
	done    chan struct{} // closed when the writer has returned

	mu     sync.Mutex
	wake   *sync.Cond // the writer waits here
	outbox []frame
	bytes  int // in the outbox, the frame being written included
	calls  map[string]*Call
	lastID uint64
	closed bool
	err    error // of the writer
}

// frame is one line to write. written, if any, hears that all of it is in the
// pipe, or why it is not.
type frame struct {
	line    []byte
	written func(error)
}

// NewPeer begins to write to out. The owner of out closes it; Close here ends
// the writer.
func NewPeer(in io.Reader, out io.Writer, opts Options) *Peer {
	p := &Peer{
		in:      ndjson.NewReader(in, opts.MaxLine),
		out:     out,
		version: opts.Version,
		done:    make(chan struct{}),
		calls:   make(map[string]*Call),
	}
	p.wake = sync.NewCond(&p.mu)
	go p.write()
	return p
}

// Recv gives the next message. Its error is that of the pipe, io.EOF at a
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
// tag. written, if not nil, is called once by the writer.
func (p *Peer) Call(method string, params, tag any, written func(error)) error {
	raw, err := marshal(params)
	if err != nil {
		return err
	}
	p.mu.Lock()
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
func (p *Peer) Notify(method string, params any) error {
	return p.NotifyThen(method, params, nil)
}

// NotifyThen sends a notification like Notify. written, if not nil, is called
// once by the writer.
func (p *Peer) NotifyThen(method string, params any, written func(error)) error {
	raw, err := marshal(params)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.post(envelope{Method: method, Params: raw}, written)
}

// Reply answers the request with the given id.
func (p *Peer) Reply(id json.RawMessage, result any, written func(error)) error {
	raw, err := marshal(result)
	if err != nil {
		return err
	}
	if raw == nil {
		raw = json.RawMessage("null")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.post(envelope{ID: id, Result: raw}, written)
}

// Refuse answers the request with an error.
func (p *Peer) Refuse(id json.RawMessage, code int, message string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.post(envelope{ID: id, Error: &Error{Code: code, Message: message}}, nil)
}

// Close ends the writer; frames still in the outbox are not written. It waits
// for nothing: a write that the pipe holds up ends when the pipe's owner
// closes it, and Done says when.
func (p *Peer) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.wake.Signal()
}

// Done is closed when the writer has returned.
func (p *Peer) Done() <-chan struct{} { return p.done }

// post puts a frame into the outbox; mu is held.
func (p *Peer) post(e envelope, written func(error)) error {
	e.Version = p.version
	line, err := ndjson.Encode(e)
	if err != nil {
		return err
	}
	switch {
	case p.err != nil:
		return fmt.Errorf("%w: %w", ErrClosed, p.err)
	case p.closed:
		return ErrClosed
	case len(p.outbox) >= maxOutboxFrames, p.bytes > 0 && p.bytes+len(line) > maxOutboxBytes:
		return ErrFull
	}
	p.outbox = append(p.outbox, frame{line, written})
	p.bytes += len(line)
	p.wake.Signal()
	return nil
}

// write is the writer: it ends with Close or with the first error.
func (p *Peer) write() {
	defer close(p.done)
	for {
		f, ok := p.next()
		if !ok {
			return
		}
		_, err := p.out.Write(f.line)
		p.wrote(f, err)
		if f.written != nil {
			f.written(err)
		}
	}
}

// next waits for a frame. When there will be none, it tells those that wait in
// the outbox.
func (p *Peer) next() (frame, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.outbox) == 0 && !p.closed && p.err == nil {
		p.wake.Wait()
	}
	if !p.closed && p.err == nil {
		f := p.outbox[0]
		p.outbox = p.outbox[1:]
		return f, true
	}
	left := p.outbox
	p.outbox = nil
	p.mu.Unlock() // for the callbacks
	for _, f := range left {
		if f.written != nil {
			f.written(ErrClosed)
		}
	}
	p.mu.Lock()
	return frame{}, false
}

func (p *Peer) wrote(f frame, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes -= len(f.line)
	if err != nil {
		p.err = fmt.Errorf("jsonrpc: write: %w", err)
	}
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
