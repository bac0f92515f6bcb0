package transport

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
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
		dispatcher: dispatcher{srv: srv, log: opts.Log},
		opts:       opts,
		ctx:        context.WithoutCancel(ctx),
		in:         newLineReader(in, MaxMessage),
		out:        newLineWriter(out),
		client:     newClient("stdio-" + rand.Text()),
		calls:      newCalls(opts.MaxCalls, maxStreams),
		workers:    newWorkers(),
	}
	f := newBroadcastQueue(c.client, c.log)
	defer f.start(c.out)()
	if err := srv.RegisterSession(c.ctx, f); err != nil {
		return fmt.Errorf("register session: %w", err)
	}
	defer srv.UnregisterSession(c.ctx, c.client.id)
	defer c.workers.close()
	return c.serve(ctx, in)
}

// stdio is one connection: a client that is served over a pair of streams.
type stdio struct {
	dispatcher
	opts    Options
	ctx     context.Context // of calls: it does not end with the connection's
	in      *lineReader
	out     *lineWriter
	client  *client
	calls   *calls
	workers *workers
}

func (c *stdio) serve(ctx context.Context, in io.Reader) error {
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	read := make(chan error, 1)
	go func() { read <- c.read(reading) }()

	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.out.failed:
		err = fmt.Errorf("write to the client: %w", c.out.writeErr())
	}
	stopReading()
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = d.SetReadDeadline(time.Unix(1, 0)) // files that do not support it are left blocked
	}
	c.finish()
	return err
}

// finish lets the calls in flight end and their responses leave.
func (c *stdio) finish() {
	c.client.requests.close()
	grace := c.opts.Grace
	if c.out.writeErr() != nil {
		grace = 0 // nobody can hear of their results
	}
	if left := c.calls.drain(grace); left > 0 {
		c.log.Warn("calls still running at the end of the connection", "calls", left)
	}
	c.out.waitWritten(abandonAfter)
}

// read takes messages until the end of input. After the end of ctx it takes
// none.
func (c *stdio) read(ctx context.Context) error {
	for {
		line, err := c.in.next()
		if ctx.Err() != nil {
			return context.Cause(ctx)
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
	e, refused := decodeEnvelope(line)
	switch {
	case refused != nil:
		c.refuse(nil, refused)
	case e.isAnswer():
		c.client.requests.answer(e)
	case e.Method == "notifications/cancelled":
		c.calls.cancel(string(e.Params.RequestID))
	case !e.hasID(), e.handledInline():
		c.handle(c.ctx, c.client, &e, line, c.out, c.out.post)
	default:
		c.dispatch(&e, line)
	}
}

func (e *envelope) handledInline() bool {
	switch mcp.MCPMethod(e.Method) {
	case mcp.MethodInitialize, mcp.MethodPing, mcp.MethodSetLogLevel:
		return true
	}
	return false
}

func (c *stdio) dispatch(e *envelope, line []byte) {
	call, refused := c.calls.admit(c.ctx, string(e.ID), c.opts.callClass(e), len(line))
	if refused != nil {
		c.refuse(e.ID, refused)
		return
	}
	c.workers.run(func() {
		defer call.end()
		if call.waitTurn() {
			c.handle(call.ctx, c.client, e, line, c.out, func(response any) error {
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

// refuse answers without waiting for the client to read: the read loop calls
// it, and cancellations must still be read.
func (c *stdio) refuse(id json.RawMessage, r *refusal) {
	_ = c.out.post(errorReply(id, r.code, r.message)) // a failed write ends the connection
}
