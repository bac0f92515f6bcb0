package link

import (
	"fmt"
	"io"
	"sync"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// Outbox holds lines until the pipe takes them. Any goroutine may use it.
type Outbox struct {
	out    io.Writer
	limits Limits
	done   chan struct{} // closed when the writer has returned

	mu     sync.Mutex
	wake   *sync.Cond
	list   []outLine
	bytes  int // the line being written included
	closed bool
	err    error // of the pipe
}

// outLine is one line. written, if any, is called once when it is in the pipe
// whole, and never otherwise.
type outLine struct {
	data    []byte
	written func()
}

// NewOutbox begins to write to out, in a goroutine that ends after Close. The
// owner of out closes it.
func NewOutbox(out io.Writer, l Limits) *Outbox {
	o := &Outbox{out: out, limits: l, done: make(chan struct{})}
	o.wake = sync.NewCond(&o.mu)
	go o.write()
	return o
}

// Add takes a value as the next line and returns at once. written, if any, is
// called from the writer once the whole line is in the pipe.
//
// Errors: ErrClosed, ErrFull, that of the pipe, or of the encoding.
func (o *Outbox) Add(v any, written func()) error {
	data, err := ndjson.Encode(v)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return o.err
	case o.closed:
		return ErrClosed
	case len(o.list) >= o.limits.Count, o.bytes > 0 && o.bytes+len(data) > o.limits.Bytes:
		return ErrFull
	}
	o.list = append(o.list, outLine{data, written})
	o.bytes += len(data)
	o.wake.Signal()
	return nil
}

// Close ends the writer; what still waits is not written. A write that the pipe
// holds up ends when the pipe's owner closes it, and Done says when.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake.Signal()
}

// Done is closed when the writer has returned.
func (o *Outbox) Done() <-chan struct{} { return o.done }

func (o *Outbox) write() {
	defer close(o.done)
	for {
		l, ok := o.next()
		if !ok {
			return
		}
		_, err := o.out.Write(l.data)
		o.wrote(l, err)
		if err == nil && l.written != nil {
			l.written()
		}
	}
}

func (o *Outbox) next() (outLine, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.list) == 0 && !o.closed && o.err == nil {
		o.wake.Wait()
	}
	if o.closed || o.err != nil {
		o.list = nil
		return outLine{}, false
	}
	l := o.list[0]
	o.list[0] = outLine{} // it may be large
	o.list = o.list[1:]
	return l, true
}

func (o *Outbox) wrote(l outLine, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= len(l.data)
	if err != nil {
		o.err = fmt.Errorf("write: %w", err)
	}
}
