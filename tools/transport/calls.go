package transport

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// callClass is the way in which a call is limited.
type callClass int

const (
	classTool   callClass = iota // waits until fewer than MaxCalls run
	classQuick                   // never waits
	classStream                  // lasts as long as the client listens
	callClasses
)

// codeBusy is the JSON-RPC code of a call that was refused for lack of
// capacity, from the range that JSON-RPC reserves for implementations.
const codeBusy = -32000

// calls is the table of calls in flight of one client on stdio, or of one
// principal over HTTP: which calls are in flight, how many may run, which were
// cancelled. It is safe for concurrent use.
type calls struct {
	running chan struct{} // one token per running tool call

	mu       sync.Mutex
	inFlight map[string]*call
	count    [callClasses]int
	limit    [callClasses]int
	bytes    int
	closed   bool
	drained  chan struct{} // closed once closed and empty
}

var errEnding = &refusal{codeBusy, "the server is shutting down"}

// call is one request in flight, from the moment it was read until its response
// was written.
type call struct {
	ctx       context.Context
	cancel    context.CancelFunc
	table     *calls
	key       string
	class     callClass
	size      int
	cancelled atomic.Bool // by the client: no response is due
	hasTurn   bool
	started   atomic.Bool // set by waitTurn
	modern    bool        // of a bridge: cancelled by closing its response
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

// admit adds a call under its id. The caller must call end.
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

// waitTurn blocks until the call may run. It reports false if the call was
// cancelled first.
func (c *call) waitTurn() bool {
	if c.class == classTool {
		select {
		case c.table.running <- struct{}{}:
			c.hasTurn = true
		case <-c.ctx.Done():
		}
	}
	c.started.Store(true)
	return c.ctx.Err() == nil
}

// end removes the call from the table. Its response must have been written.
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

// cancel ends the context of the call with this id on behalf of the client. It
// reports whether there is such a call: it may just have finished.
func (t *calls) cancel(id string) bool {
	c := t.find(id)
	if c != nil {
		c.abort()
	}
	return c != nil
}

// find returns the call with this id, nil if there is none.
func (t *calls) find(id string) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inFlight[id]
}

// abort ends the call's context. Its client wants no response.
func (c *call) abort() {
	c.cancelled.Store(true)
	c.cancel()
}

// drain refuses new calls, ends the streams and waits up to grace for the other
// calls. Then it ends their contexts and waits up to abandonAfter. It returns
// the number of calls that are still running.
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

// reserveBytes reserves size bytes for requests that are being read, in
// addition to those of calls. It reports false if that exceeds maxHeldBytes.
func (t *calls) reserveBytes(size int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bytes+size > maxHeldBytes {
		return false
	}
	t.bytes += size
	return true
}

// releaseBytes undoes reserveBytes.
func (t *calls) releaseBytes(size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes -= size
}

// closeIfDrained closes drained once the table is closed and empty. t.mu is
// held.
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
