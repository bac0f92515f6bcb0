package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// Connect serves one client over a pair of streams, as ServeStdio does, from a
// server that runs elsewhere and outlives the client. Both protocol eras pass.
//
// If the server ends and another one starts in its place, Connect sends the
// client's initialize again, subscribes again to its resources, reports those
// as changed, and opens its streams again. A request that did not reach the
// server is sent again. A request whose response was lost is sent again if that
// is harmless: if it is not a tool call, or calls a tool that is annotated as
// read-only or idempotent. Otherwise the response is an error that says that
// the call may have taken effect.
//
// It returns nil at end of input, the cause of ctx, or ErrNoServer if there
// never was a server, after the request that found none was answered.
func Connect(ctx context.Context, in io.Reader, out io.Writer, opts ConnectOptions) error {
	opts = opts.withDefaults()
	defer opts.Transport.CloseIdleConnections()
	fresh := opts.Transport.Clone()
	fresh.DisableKeepAlives = true
	b := &bridge{
		opts:        opts,
		http:        &http.Client{Transport: opts.Transport},
		noKeepAlive: &http.Client{Transport: fresh},
		out:         newLineWriter(out),
		calls:       newCalls(maxQuickCalls, maxQueuedCalls+maxQuickCalls),
		safeTools:   make(map[string]bool),
		uris:        make(map[string]struct{}),
		fatal:       make(chan error, 1),
	}
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer b.cancel()
	return b.serve(ctx, in)
}

// bridge connects one client to a remote server.
type bridge struct {
	opts        ConnectOptions
	http        *http.Client
	noKeepAlive *http.Client // with a connection per request, for requests that must not be lost
	out         *lineWriter
	ctx         context.Context // of requests
	cancel      context.CancelFunc
	calls       *calls // requests in flight
	work        sync.WaitGroup

	reached     atomic.Bool // the server has answered at least once
	unreachable atomic.Bool // the server could not be reached since
	fatal       chan error  // an error that ends the bridge

	starting     sync.Mutex // held while the server is awaited
	listingTools sync.Mutex // held while its tools are listed
	initializing sync.Mutex // held during an initialize

	mu                sync.Mutex
	ended             bool
	safeTools         map[string]bool     // tools that may be called again
	toolsListed       bool                // safeTools is complete
	initializeMessage []byte              // the client's initialize
	epoch             int                 // number of initializes
	session           string              // of the last initialize
	version           string              // that it agreed on
	uris              map[string]struct{} // subscribed to
	level             []byte              // the last logging/setLevel
}

// forwardedRequest is a request of the client, or of the bridge itself, that
// waits for its response.
type forwardedRequest struct {
	*call
	envelope   *envelope
	message    []byte
	subscribed bool // the stream was acknowledged with a filter
	internal   bool // of the bridge itself: its response is not forwarded
}

func (b *bridge) serve(ctx context.Context, in io.Reader) error {
	err := serveLines(ctx, in, b.out, b.fatal, b.receive)
	b.finish()
	return err
}

// finish lets the requests in flight end, within Grace, and ends the session.
func (b *bridge) finish() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	grace := b.opts.Grace
	if b.out.writeErr() != nil {
		grace = 0
	}
	b.calls.drain(grace)
	b.endSession()
	b.cancel()
	b.work.Wait()
	b.out.waitWritten(abandonAfter)
}

// receive forwards one message of the client. initialize and notifications keep
// their order; requests do not wait for each other.
func (b *bridge) receive(line []byte) {
	e, refused := decodeEnvelope(line)
	switch {
	case refused != nil:
		b.reject(nil, refused.code, refused.message)
	case e.isResponse():
		b.goWork(func() { b.forwardResponse(&e, line) })
	case e.Method == "notifications/cancelled":
		b.forwardCancelled(&e, line)
	case !e.hasID():
		b.forwardNotification(&e, line)
	case mcp.MCPMethod(e.Method) == mcp.MethodInitialize:
		b.forwardInitialize(&e, line)
	default:
		b.request(&e, line)
	}
}

// goWork runs f in a goroutine that finish waits for. After the end it runs
// nothing and returns false.
func (b *bridge) goWork(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.work.Go(f)
	}
	return !b.ended
}

// request forwards a request and its response.
func (b *bridge) request(e *envelope, line []byte) {
	b.recordState(e, line)
	class := classTool
	if mcp.MCPMethod(e.Method) == mcp.MethodSubscriptionsListen {
		class = classStream
	}
	c, refused := b.calls.admit(b.ctx, string(e.ID), class, 0)
	if refused != nil {
		if refused != errEnding {
			b.reject(e.ID, refused.code, refused.message)
		}
		return
	}
	c.modern = e.modern()
	running := b.goWork(func() {
		defer c.end()
		err := b.deliver(c.ctx, &forwardedRequest{call: c, envelope: e, message: line})
		if err != nil && c.ctx.Err() == nil && !c.cancelled.Load() {
			b.fail(e.ID, err)
		}
	})
	if !running {
		c.end()
	}
}

// forwardCancelled forwards a cancellation: in the modern era by closing the
// response. Before, the server gets the notification and ends the response
// itself, after what it still sends in it: the cancellation of its own requests
// to the client.
func (b *bridge) forwardCancelled(e *envelope, line []byte) {
	c := b.calls.find(string(e.Params.RequestID))
	switch {
	case c == nil:
	case c.modern:
		c.abort()
	default:
		c.cancelled.Store(true)
		b.goWork(func() {
			if b.forwardNotification(e, line) {
				_ = pause(c.ctx, withdrawTime)
			}
			c.cancel()
		})
	}
}

// fail answers a request that was not delivered. If there never was a server it
// is the last one.
func (b *bridge) fail(id []byte, err error) {
	b.reject(id, codeBusy, err.Error())
	if !errors.Is(err, ErrNoServer) {
		return
	}
	select {
	case b.fatal <- err:
	default: // an earlier error is there
	}
}

// reject answers a request with an error of the bridge.
func (b *bridge) reject(id []byte, code int, message string) {
	_ = b.out.post(errorReply(id, code, message)) // a failed write ends the connection
}
