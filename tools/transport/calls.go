package transport

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// callClass says how a call is limited.
type callClass int

const (
	classTool   callClass = iota // waits its turn
	classQuick                   // never waits
	classStream                  // lives as long as the client listens
	callClasses
)

// codeBusy is the JSON-RPC code of a call refused for want of room: one of the
// range that JSON-RPC leaves to implementations.
const codeBusy = -32000

// calls is the table of calls in flight of one client, or of one principal: who is in it, who may
// run, who was cancelled. It is safe for concurrent use.
type calls struct {
	running chan struct{} // one token a running tool call

	mu       sync.Mutex
	inFlight map[string]*call
	count    [callClasses]int
	limit    [callClasses]int
	bytes    int
	closed   bool
	drained  chan struct{} // closed once closed and empty
}

var errEnding = &refusal{codeBusy, "the server is shutting down"}

// call is one request in flight, from the moment it was read until its
// response was written.
type call struct {
	ctx       context.Context
	cancel    context.CancelFunc
	table     *calls
	key       string
	class     callClass
	size      int
	cancelled atomic.Bool // by the client: no response is due
	hasTurn   bool
	begun     atomic.Bool // its turn has come
}

func newCalls(maxCalls, streams int) *calls {
	t := &calls{
		running:  make(chan struct{}, maxCalls),
		inFlight: make(map[string]*call),
		drained:  make(chan struct{}),
	}
	t.limit[classTool] = maxCalls + maxQueuedCalls
	t.limit[classQuick] = maxQuickCalls
	t.limit[classStream] = streams
	return t
}

// admit enters a call under its id. The caller must end it.
func (t *calls) admit(ctx context.Context, id string, l callClass, size int) (*call, *refusal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return nil, errEnding
	case t.inFlight[id] != nil:
		return nil, &refusal{mcp.INVALID_REQUEST, "a request with this id is still in flight"}
	case t.count[l] >= t.limit[l]:
		return nil, &refusal{codeBusy, fmt.Sprintf("too many calls in flight (%d): wait for some to finish", t.count[l])}
	case t.bytes+size > maxHeldBytes:
		return nil, &refusal{codeBusy, fmt.Sprintf("the calls in flight hold %d bytes: wait for some to finish", t.bytes)}
	}
	c := &call{table: t, key: id, class: l, size: size}
	c.ctx, c.cancel = context.WithCancel(ctx)
	t.inFlight[id] = c
	t.count[l]++
	t.bytes += size
	return c, nil
}

// await blocks until it is the call's turn. It reports false when the call
// was cancelled first.
func (c *call) waitTurn() bool {
	if c.class == classTool {
		select {
		case c.table.running <- struct{}{}:
			c.hasTurn = true
		case <-c.ctx.Done():
		}
	}
	c.begun.Store(true)
	return c.ctx.Err() == nil
}

// end takes the call out of the table. Its response must have been written.
func (c *call) end() {
	c.cancel()
	if c.hasTurn {
		<-c.table.running
	}
	t := c.table
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.inFlight, c.key)
	t.count[c.class]--
	t.bytes -= c.size
	t.closeIfDrained()
}

// cancel ends the context of the call with this id, on behalf of the client.
// It reports whether there is such a call: it may just have finished.
func (t *calls) cancel(id string) bool {
	t.mu.Lock()
	c := t.inFlight[id]
	t.mu.Unlock()
	if c == nil {
		return false
	}
	c.abort()
	return true
}

// abort ends the call's context because its client wants no response.
func (c *call) abort() {
	c.cancelled.Store(true)
	c.cancel()
}

// drain refuses new calls, ends the streams and waits for the other calls, as
// long as the grace lasts. Then it ends their contexts and waits a little
// longer. It returns the number of calls that would not go.
func (t *calls) drain(grace time.Duration) int {
	t.mu.Lock()
	t.closed = true
	t.closeIfDrained()
	for _, c := range t.inFlight {
		if c.class == classStream {
			c.cancel()
		}
	}
	t.mu.Unlock()
	if t.wait(grace) {
		return 0
	}
	t.mu.Lock()
	for _, c := range t.inFlight {
		c.cancel()
	}
	t.mu.Unlock()
	if t.wait(abandonAfter) {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.inFlight)
}

func (t *calls) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.drained:
		return true
	case <-timer.C:
		return false
	}
}

// hold reserves room for size bytes of requests that are being read, beside
// those that calls hold. It reports false when there is none.
func (t *calls) reserveBytes(size int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bytes+size > maxHeldBytes {
		return false
	}
	t.bytes += size
	return true
}

// release undoes hold.
func (t *calls) releaseBytes(size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes -= size
}

// signalRoom closes drained once nothing is left; t.mu is held.
func (t *calls) closeIfDrained() {
	if !t.closed || len(t.inFlight) > 0 {
		return
	}
	select {
	case <-t.drained:
	default:
		close(t.drained)
	}
}
