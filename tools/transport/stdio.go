package transport

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// ServeStdio serves one client over a pair of streams, one message per line. It
// writes only protocol messages to out.
//
// It returns nil at end of input, the cause of ctx if ctx ends first, or the
// error of the stream that failed; in each case after the calls in flight had
// Options.Grace to finish. Handlers may run for that long after the end of ctx;
// they see its values.
//
// Several connections may be served on one srv at a time. A goroutine that
// blocks in in.Read outlives ServeStdio until the read returns; ServeStdio ends
// it through SetReadDeadline where in has it, else the caller must close in.
//
// By default a Go program is killed by SIGPIPE when it writes to a standard
// output that has no reader. If out is os.Stdout, ServeStdio catches SIGPIPE
// from then on, so that a lost client is an ordinary error and the program can
// end in order.
func ServeStdio(ctx context.Context, srv *server.MCPServer, in io.Reader, out io.Writer, opts Options) error {
	opts = opts.withDefaults()
	if out == io.Writer(os.Stdout) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // not ignored: children would inherit that
	}
	c := &stdio{
		dispatcher: dispatcher{srv: srv, log: opts.Log},
		opts:       opts,
		ctx:        context.WithoutCancel(ctx),
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

// stdio is one connection: a client served over a pair of streams.
type stdio struct {
	dispatcher
	opts    Options
	ctx     context.Context // of calls: it does not end with the connection's
	out     *lineWriter
	client  *client
	calls   *calls
	workers *workers
}

func (c *stdio) serve(ctx context.Context, in io.Reader) error {
	err := serveLines(ctx, in, c.out, nil, c.receive)
	c.finish()
	return err
}

// finish lets the calls in flight end and their responses be written.
func (c *stdio) finish() {
	c.client.requests.close()
	grace := c.opts.Grace
	if c.out.writeErr() != nil {
		grace = 0 // their responses cannot be written
	}
	if left := c.calls.drain(grace); left > 0 {
		c.log.Warn("calls still running at the end of the connection", "calls", left)
	}
	c.out.waitWritten(abandonAfter)
}

// receive routes one message. Messages that are quick and must keep their
// order, such as the handshake and notifications, are handled here; requests
// get a goroutine.
func (c *stdio) receive(line []byte) {
	e, refused := decodeEnvelope(line)
	switch {
	case refused != nil:
		c.reject(nil, refused)
	case e.isResponse():
		c.client.requests.resolve(e)
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
		c.reject(e.ID, refused)
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
			c.reject(e.ID, &refusal{codeBusy, "the server is shutting down"})
		}
	})
}

// reject writes an error response without waiting for the client to read: the
// read loop calls it, and cancellations must still be read.
func (c *stdio) reject(id json.RawMessage, r *refusal) {
	_ = c.out.post(errorReply(id, r.code, r.message)) // a failed write ends the connection
}
