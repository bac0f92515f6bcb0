package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// Connect serves one client over a pair of streams, as ServeStdio does, from
// a server that runs somewhere else and outlives the client. Both eras pass.
//
// The server may go away and come back meanwhile. Connect then introduces the
// client again as it introduced itself, subscribes again to what it had
// subscribed to, reports those resources as changed, and opens its streams
// again. A request that has not reached the server is sent again. One whose
// response was lost is sent again if that can do no harm: if it is no tool
// call, or one of a tool whose annotations say that it only reads or is
// idempotent. Any other is answered with an error that says so.
//
// It returns nil at end of input, the cause of ctx, or ErrNoServer where there
// never was a server, after the request that found none was answered.
func Connect(ctx context.Context, in io.Reader, out io.Writer, opts ConnectOptions) error {
	opts = opts.withDefaults()
	defer opts.Transport.CloseIdleConnections()
	fresh := opts.Transport.Clone()
	fresh.DisableKeepAlives = true
	b := &bridge{
		opts:      opts,
		http:      &http.Client{Transport: opts.Transport},
		fresh:     &http.Client{Transport: fresh},
		in:        newLineReader(in, MaxMessage),
		out:       newLineWriter(out),
		inFlight:  make(map[string]*forwardedRequest),
		safeTools: make(map[string]bool),
		uris:      make(map[string]struct{}),
		fatal:     make(chan error, 1),
	}
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer b.cancel()
	return b.serve(ctx, in)
}

// bridge is one client in front of a server elsewhere.
type bridge struct {
	opts   ConnectOptions
	http   *http.Client
	fresh  *http.Client // with a connection for each request, for those that must not be lost
	in     *lineReader
	out    *lineWriter
	ctx    context.Context // of requests
	cancel context.CancelFunc
	work   sync.WaitGroup

	reached     atomic.Bool // the server has answered once
	unreachable atomic.Bool // it could not be reached since
	fatal       chan error  // why there is no sense in going on

	starting     sync.Mutex // held while the server is waited for
	listingTools sync.Mutex // held while its tools are asked for
	initializing sync.Mutex // held while the client is introduced

	mu                sync.Mutex
	inFlight          map[string]*forwardedRequest
	ended             bool
	safeTools         map[string]bool     // tools that may be called again
	toolsListed       bool                // safe has been told by a list
	initializeMessage []byte              // the client's initialize
	epoch             int                 // how often it was introduced
	session           string              // of the last introduction
	version           string              // that it agreed on
	uris              map[string]struct{} // subscribed to
	level             []byte              // the last logging/setLevel
}

// forwardedRequest is a request on its way.
type forwardedRequest struct {
	envelope *envelope
	message  []byte
	ctx      context.Context
	cancel   context.CancelFunc

	cancelled  atomic.Bool // by the client: no response is due
	subscribed bool        // by a stream that has something to say
	internal   bool        // ours, not the client's: its response is for us
}

func (b *bridge) serve(ctx context.Context, in io.Reader) error {
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	read := make(chan error, 1)
	go func() { read <- b.read(reading) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-b.out.failed:
		err = fmt.Errorf("write to the client: %w", b.out.writeErr())
	case err = <-b.fatal:
	}
	stopReading()
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = d.SetReadDeadline(time.Unix(1, 0))
	}
	b.finish()
	return err
}

// finish lets the requests in flight end, and says goodbye.
func (b *bridge) finish() {
	b.mu.Lock()
	b.ended = true
	for _, r := range b.inFlight {
		if mcp.MCPMethod(r.envelope.Method) == mcp.MethodSubscriptionsListen {
			r.cancel()
		}
	}
	empty := len(b.inFlight) == 0
	b.mu.Unlock()
	grace := b.opts.Grace
	if b.out.writeErr() != nil || empty {
		grace = 0
	}
	if !b.waitEmpty(grace) {
		b.cancel()
		b.waitEmpty(abandonAfter)
	}
	b.endSession()
	b.cancel()
	b.work.Wait()
	b.out.waitWritten(abandonAfter)
}

// waitEmpty waits until no request is in flight, at most so long.
func (b *bridge) waitEmpty(d time.Duration) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		b.mu.Lock()
		left := len(b.inFlight)
		b.mu.Unlock()
		if left == 0 {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
}

func (b *bridge) read(ctx context.Context) error {
	for {
		line, err := b.in.next()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, errLineTooLong) {
			b.refuse(nil, mcp.PARSE_ERROR, fmt.Sprintf("the message is longer than %d bytes", MaxMessage))
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			b.receive(bytes.TrimSpace(line))
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

// receive passes one message of the client on. The introduction and
// notifications keep their place; requests do not wait for each other.
func (b *bridge) receive(line []byte) {
	e, refused := decodeEnvelope(line)
	switch {
	case refused != nil:
		b.refuse(nil, refused.code, refused.message)
	case e.isAnswer():
		b.goWork(func() { b.forwardAnswer(&e, line) })
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

// goWork runs something that finish waits for. After the end it runs nothing.
func (b *bridge) goWork(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.work.Go(f)
	}
}

// request sends a request and passes on what comes back.
func (b *bridge) request(e *envelope, line []byte) {
	b.recordState(e, line)
	ctx, cancel := context.WithCancel(b.ctx)
	r := &forwardedRequest{envelope: e, message: line, ctx: ctx, cancel: cancel}
	key := string(e.ID)
	b.mu.Lock()
	if b.ended {
		b.mu.Unlock()
		cancel()
		return
	}
	taken, full := b.inFlight[key] != nil, len(b.inFlight) >= maxQueuedCalls+maxQuickCalls
	if !taken && !full {
		b.inFlight[key] = r
	}
	b.mu.Unlock()
	switch {
	case taken:
		cancel()
		b.refuse(e.ID, mcp.INVALID_REQUEST, "a request with this id is still in flight")
		return
	case full:
		cancel()
		b.refuse(e.ID, codeBusy, "too many calls in flight: wait for some to finish")
		return
	}
	b.goWork(func() { // may come to nothing, but then nobody waits for the table
		defer cancel()
		if err := b.deliver(ctx, r); err != nil && ctx.Err() == nil && !r.cancelled.Load() {
			b.fail(e.ID, err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.inFlight, key)
	})
}

// cancelled passes a cancellation on: in the modern era by closing the
// response. Before, the server is told and ends the response itself, after what
// it still has to say in it: that it does not wait for an answer of the
// client's any more.
func (b *bridge) forwardCancelled(e *envelope, line []byte) {
	b.mu.Lock()
	r := b.inFlight[string(e.Params.RequestID)]
	b.mu.Unlock()
	if r == nil {
		return
	}
	r.cancelled.Store(true)
	if r.envelope.modern() {
		r.cancel()
		return
	}
	b.goWork(func() {
		if b.forwardNotification(e, line) {
			_ = pause(r.ctx, withdrawTime)
		}
		r.cancel()
	})
}

// fail answers a request that did not get through. If there never was a server
// it is the last one.
func (b *bridge) fail(id []byte, err error) {
	b.refuse(id, codeBusy, err.Error())
	if !errors.Is(err, ErrNoServer) {
		return
	}
	select {
	case b.fatal <- err:
	default: // somebody was first
	}
}

// refuse answers for the server.
func (b *bridge) refuse(id []byte, code int, message string) {
	_ = b.out.post(errorReply(id, code, message)) // a failed write ends the connection
}
