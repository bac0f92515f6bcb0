package mcptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// LegacyVersion and ModernVersion are the newest protocol revisions of
	// the two eras.
	LegacyVersion = "2025-11-25"
	ModernVersion = "2026-07-28"

	// DefaultTimeout bounds calls whose context has no deadline.
	DefaultTimeout = 30 * time.Second

	maxLine = 64 << 20
)

// ErrClosed is the error of calls on a connection whose server has ended.
var ErrClosed = errors.New("mcptest: the server closed the connection")

// Message is one line from the server.
type Message struct {
	Seq    int             `json:"-"` // arrival number, from 1
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *RPCError       `json:"error"`
	Raw    json.RawMessage `json:"-"` // the whole line
}

// RPCError is a JSON-RPC error response.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("JSON-RPC error %d: %s", e.Code, e.Message) }

// Client is one connection to a server. It is safe for concurrent use.
type Client struct {
	// Info and Capabilities are what the client declares. Set them before
	// Initialize.
	Info         map[string]any
	Capabilities map[string]any

	// Answer handles requests of the server: it returns a result or an error.
	// It runs on a goroutine of its own. Set it before Initialize; nil
	// refuses every request.
	Answer func(method string, params json.RawMessage) (any, error)

	// Forgetful leaves responses out of Messages, for a client that makes
	// many calls. Set it before Initialize.
	Forgetful bool

	t      testing.TB
	out    io.WriteCloser
	stderr func() string

	tokens atomic.Int64
	wmu    sync.Mutex

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced with every message
	last     int
	modern   bool
	waiting  map[string]chan Message
	messages []Message
	junk     []string
	closed   bool
	done     chan struct{}
}

func newClient(t testing.TB, in io.Reader, out io.WriteCloser) *Client {
	c := &Client{
		Info:         map[string]any{"name": "mcptest", "version": "1"},
		Capabilities: map[string]any{},
		t:            t,
		out:          out,
		stderr:       func() string { return "" },
		changed:      make(chan struct{}),
		waiting:      make(map[string]chan Message),
		done:         make(chan struct{}),
	}
	go c.read(in)
	return c
}

func (c *Client) read(in io.Reader) {
	defer close(c.done)
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		c.receive(bytes.Clone(lines.Bytes()))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for id, ch := range c.waiting {
		close(ch)
		delete(c.waiting, id)
	}
	c.announce()
}

// announce wakes the goroutines that wait for a message. c.mu is held.
func (c *Client) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Client) receive(line []byte) {
	m := Message{Raw: line}
	if err := json.Unmarshal(line, &m); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.junk = append(c.junk, string(line))
		return
	}
	c.mu.Lock()
	m.Seq = len(c.messages) + 1
	ch, kept := c.waiting[string(m.ID)], m
	if c.Forgetful && m.Method == "" {
		kept.Raw, kept.Result = nil, nil
	}
	c.messages = append(c.messages, kept)
	if m.Method == "" && ch != nil {
		delete(c.waiting, string(m.ID))
		ch <- m
	}
	c.announce()
	c.mu.Unlock()
	if m.Method != "" && len(m.ID) > 0 {
		go c.answer(m)
	}
}

func (c *Client) answer(m Message) {
	reply := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	if c.Answer == nil {
		reply["error"] = map[string]any{"code": -32601, "message": "not supported"}
	} else if result, err := c.Answer(m.Method, m.Params); err != nil {
		reply["error"] = map[string]any{"code": -32000, "message": err.Error()}
	} else {
		reply["result"] = result
	}
	_ = c.Send(reply) // the connection may be closed
}

// Send writes one message unchanged.
func (c *Client) Send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return c.SendRaw(append(line, '\n'))
}

// SendRaw writes bytes, which need not be a message.
func (c *Client) SendRaw(b []byte) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_, err := c.out.Write(b)
	return err
}

// CloseInput ends the server's input. Responses can still arrive.
func (c *Client) CloseInput() error { return c.out.Close() }

// Messages returns every message so far, in order of arrival.
func (c *Client) Messages() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Message(nil), c.messages...)
}

// Junk returns the lines from the server that were not JSON.
func (c *Client) Junk() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.junk...)
}

// Notifications returns the notifications with this method, in order of
// arrival.
func (c *Client) Notifications(method string) []Message {
	var found []Message
	for _, m := range c.Messages() {
		if m.Method == method && len(m.ID) == 0 {
			found = append(found, m)
		}
	}
	return found
}

// WaitFor returns the first message after the given arrival number that
// matches; the test fails if none comes within DefaultTimeout.
func (c *Client) WaitFor(after int, match func(Message) bool) Message {
	c.t.Helper()
	deadline := time.NewTimer(DefaultTimeout)
	defer deadline.Stop()
	for {
		c.mu.Lock()
		for _, m := range c.messages[min(after, len(c.messages)):] {
			if match(m) {
				c.mu.Unlock()
				return m
			}
		}
		after = max(after, len(c.messages))
		changed, closed := c.changed, c.closed
		c.mu.Unlock()
		if closed {
			c.t.Fatalf("mcptest: the server closed the connection before the message came%s", c.stderr())
		}
		select {
		case <-changed:
		case <-deadline.C:
			c.t.Fatalf("mcptest: no such message within %v%s", DefaultTimeout, c.stderr())
		}
	}
}

// Closed is closed once the server closed its output.
func (c *Client) Closed() <-chan struct{} { return c.done }

// Pending is a request whose response has not been waited for yet.
type Pending struct {
	ID json.RawMessage

	client *Client
	ch     chan Message
}

// Request sends a request and returns without waiting. In the modern era, and
// where params carry none, it adds the metadata of the client that every request
// must have.
func (c *Client) Request(method string, params map[string]any) (*Pending, error) {
	c.mu.Lock()
	c.last++
	p := &Pending{ID: json.RawMessage(fmt.Sprint(c.last)), client: c, ch: make(chan Message, 1)}
	modern := c.modern
	if c.closed {
		close(p.ch)
	} else {
		c.waiting[string(p.ID)] = p.ch
	}
	c.mu.Unlock()
	if modern {
		params = c.withClientMeta(params)
	}
	message := map[string]any{"jsonrpc": "2.0", "id": p.ID, "method": method}
	if params != nil {
		message["params"] = params
	}
	if err := c.Send(message); err != nil {
		return nil, fmt.Errorf("send %s: %w", method, err)
	}
	return p, nil
}

func (c *Client) withClientMeta(params map[string]any) map[string]any {
	meta := map[string]any{
		"io.modelcontextprotocol/protocolVersion":    ModernVersion,
		"io.modelcontextprotocol/clientInfo":         c.Info,
		"io.modelcontextprotocol/clientCapabilities": c.Capabilities,
	}
	all := map[string]any{"_meta": meta}
	for k, v := range params {
		if k == "_meta" {
			for mk, mv := range v.(map[string]any) {
				meta[mk] = mv
			}
			continue
		}
		all[k] = v
	}
	return all
}

// Wait waits for the response. A JSON-RPC error is an *RPCError.
func (p *Pending) Wait(ctx context.Context) (Message, error) {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	select {
	case m, ok := <-p.ch:
		if !ok {
			return Message{}, ErrClosed
		}
		if m.Error != nil {
			return m, m.Error
		}
		return m, nil
	case <-ctx.Done():
		return Message{}, fmt.Errorf("mcptest: no response to request %s: %w", p.ID, ctx.Err())
	}
}

// Cancel sends notifications/cancelled for the request.
func (p *Pending) Cancel() error {
	return p.client.Notify("notifications/cancelled", map[string]any{"requestId": p.ID})
}

func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, DefaultTimeout)
}

// Notify sends a notification.
func (c *Client) Notify(method string, params map[string]any) error {
	message := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		message["params"] = params
	}
	return c.Send(message)
}

// Do sends a request, waits for the response and decodes its result.
func (c *Client) Do(ctx context.Context, method string, params map[string]any, result any) error {
	p, err := c.Request(method, params)
	if err != nil {
		return err
	}
	m, err := p.Wait(ctx)
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(m.Result, result)
}

// Stderr is the end of what a server program has written to stderr, "" for one
// in this process.
func (c *Client) Stderr() string { return c.stderr() }
