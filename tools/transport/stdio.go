package transport

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// ServeStdio serves one client over a pair of streams, one message a line.
// Nothing but protocol is written to out.
//
// It returns nil at end of input, the cause of ctx when ctx ends first, or
// the error of the stream that failed; in each case after the calls in flight
// had Options.Grace to finish. Handlers may run on for that long after the end
// of ctx; its values reach them.
//
// Several connections may be served on one srv at a time. A goroutine that
// blocks in in.Read outlives ServeStdio until the read returns; ServeStdio
// ends it through SetReadDeadline where in has it, else closing in is up to
// the caller.
//
// By default a Go program dies of the signal when it writes to a standard
// output that nobody reads any more. When out is os.Stdout, ServeStdio
// catches SIGPIPE from then on, so that a client that vanished is an error
// like any other and the program can put its house in order.
func ServeStdio(ctx context.Context, srv *server.MCPServer, in io.Reader, out io.Writer, opts Options) error {
	opts = opts.withDefaults()
	if out == io.Writer(os.Stdout) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // not ignored: children would inherit that
	}
	c := &stdio{
		srv:     srv,
		opts:    opts,
		log:     opts.Log,
		ctx:     context.WithoutCancel(ctx),
		in:      newLineReader(in, MaxMessage),
		out:     newLineWriter(out),
		client:  newClient("stdio-" + rand.Text()),
		calls:   newCalls(opts.MaxCalls),
		workers: newWorkers(),
	}
	f := newFeed(c.client, c.out, c.log)
	defer f.close()
	if err := srv.RegisterSession(c.ctx, f); err != nil {
		return fmt.Errorf("register session: %w", err)
	}
	defer srv.UnregisterSession(c.ctx, c.client.id)
	defer c.workers.close()
	return c.serve(ctx, in)
}

type stdio struct {
	srv     *server.MCPServer
	opts    Options
	log     *slog.Logger
	ctx     context.Context // of calls: it does not end with the connection's
	in      *lineReader
	out     *lineWriter
	client  *client
	calls   *calls
	workers *workers
}

func (c *stdio) serve(ctx context.Context, in io.Reader) error {
	read := make(chan error, 1)
	go func() { read <- c.read(ctx) }()

	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.out.failed:
		err = fmt.Errorf("write to the client: %w", c.out.failure())
	}
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && ctx.Err() != nil {
		_ = d.SetReadDeadline(time.Unix(1, 0)) // files that do not support it are left blocked
	}
	c.finish()
	return err
}

// finish lets the calls in flight end and their responses leave.
func (c *stdio) finish() {
	c.client.asks.close()
	grace := c.opts.Grace
	if c.out.failure() != nil {
		grace = 0 // nobody can hear of their results
	}
	if left := c.calls.drain(grace); left > 0 {
		c.log.Warn("calls still running at the end of the connection", "calls", left)
	}
	c.out.settle(abandonAfter)
}

// read takes messages until the end of input.
func (c *stdio) read(ctx context.Context) error {
	for {
		line, err := c.in.next()
		if ctx.Err() != nil {
			return nil // nobody is left to answer
		}
		if errors.Is(err, errLineTooLong) {
			c.refuse(nil, &refusal{mcp.PARSE_ERROR, fmt.Sprintf("the message is longer than %d bytes", MaxMessage)})
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			c.receive(line)
		}
		switch {
		case err == nil:
		case err == io.EOF:
			return nil
		default:
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

// receive routes one message. What is quick and must keep its place, like the
// handshake and notifications, is handled here; requests get a goroutine.
func (c *stdio) receive(line []byte) {
	e, refused := open(line)
	switch {
	case refused != nil:
		c.refuse(nil, refused)
	case e.isAnswer():
		c.client.asks.answer(e)
	case e.Method == "notifications/cancelled":
		c.calls.cancel(string(e.Params.RequestID))
	case !e.hasID(), e.inPlace():
		c.handle(c.ctx, &e, line, c.out.post)
	default:
		c.dispatch(&e, line)
	}
}

func (e *envelope) inPlace() bool {
	switch mcp.MCPMethod(e.Method) {
	case mcp.MethodInitialize, mcp.MethodPing, mcp.MethodSetLogLevel:
		return true
	}
	return false
}

func (c *stdio) lane(e *envelope) lane {
	switch mcp.MCPMethod(e.Method) {
	case mcp.MethodSubscriptionsListen:
		return laneStream
	case mcp.MethodToolsCall:
		if !c.opts.Control(e.Params.Name) {
			return laneTool
		}
	}
	return laneQuick
}

func (c *stdio) dispatch(e *envelope, line []byte) {
	call, refused := c.calls.admit(c.ctx, string(e.ID), c.lane(e), len(line))
	if refused != nil {
		c.refuse(e.ID, refused)
		return
	}
	c.workers.run(func() {
		defer call.end()
		if call.await() {
			c.handle(call.ctx, e, line, func(response any) error {
				if call.cancelled.Load() {
					return nil
				}
				return c.out.send(response)
			})
		} else if !call.cancelled.Load() {
			c.refuse(e.ID, &refusal{codeBusy, "the server is shutting down"})
		}
	})
}

// handle serves one message: its notifications leave, then its response goes
// to send, also when the handler ended its goroutine.
func (c *stdio) handle(ctx context.Context, e *envelope, line []byte, send func(any) error) {
	s := newSession(ctx, c.client, c.out, e)
	var response any
	defer func() {
		s.close()
		if response != nil {
			c.respond(e.ID, response, send)
		}
	}()
	c.call(c.srv.WithContext(ctx, s), e, line, &response)
}

// call hands the message to mcp-go. A panic, and a handler that ends its
// goroutine, become an internal error that names an incident in the log.
func (c *stdio) call(ctx context.Context, e *envelope, line []byte, response *any) {
	finished := false
	defer func() {
		if finished {
			return
		}
		reason := recover()
		incident := rand.Text()[:10]
		c.log.Error("a handler panicked", "incident", incident, "method", e.Method, "tool", e.Params.Name,
			"panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		if e.hasID() {
			*response = errorReply(e.ID, mcp.INTERNAL_ERROR, "internal error (incident "+incident+", see the server's log)")
		}
	}()
	if message := c.srv.HandleMessage(ctx, line); message != nil {
		*response = addressed(e.ID, message)
	}
	finished = true
}

func (c *stdio) respond(id json.RawMessage, response any, send func(any) error) {
	err := send(response)
	var bad *unencodable
	if errors.As(err, &bad) {
		c.log.Error("a response has no JSON form", "error", bad.err)
		_ = send(errorReply(id, mcp.INTERNAL_ERROR, "internal error: the result cannot be encoded"))
	} // any other error ends the connection
}

// refuse answers without waiting for the client to read: the read loop calls
// it, and cancellations must still be read.
func (c *stdio) refuse(id json.RawMessage, r *refusal) {
	_ = c.out.post(errorReply(id, r.code, r.message)) // a failed write ends the connection
}
