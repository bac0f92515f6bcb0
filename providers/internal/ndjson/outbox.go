package ndjson

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Why a line was not taken.
var (
	ErrClosed = errors.New("the connection is closed")
	ErrFull   = errors.New("it does not read its input: the queue for it is full")
)

// Outbox holds lines until the pipe takes them, so that adding one never waits:
// a peer that reads nothing fills it and then gets an error.
// Every line is encoded here, so that none is sent that is not JSON. Any
// goroutine may use it.
type Outbox struct {
	out    io.Writer
	limits Limits
	done   chan struct{} // closed when the writer has returned

	mu     sync.Mutex
	wake   *sync.Cond // the writer waits here
	list   []outLine
	bytes  int // the line being written included
	closed bool
	err    error // of the pipe
}

// outLine is one line. written, if any, is called once all of it is in the pipe,
// and never otherwise.
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
// called once from the writer when the whole line is in the pipe, and never when
// it is not.
//
// Errors: ErrClosed, with that of the pipe if it broke; ErrFull; that of the
// encoding.
func (o *Outbox) Add(v any, written func()) error {
	data, err := Encode(v)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return fmt.Errorf("%w: %w", ErrClosed, o.err)
	case o.closed:
		return ErrClosed
	case len(o.list) >= o.limits.Lines, o.bytes > 0 && o.bytes+len(data) > o.limits.Bytes:
		return ErrFull
	}
	o.list = append(o.list, outLine{data, written})
	o.bytes += len(data)
	o.wake.Signal()
	return nil
}

// Close ends the writer; what still waits is not written. It waits for nothing:
// a write that the pipe holds up ends when the pipe's owner closes it, which
// closes Done.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake.Signal()
}

// Done is closed when the writer has returned.
func (o *Outbox) Done() <-chan struct{} { return o.done }

// write is the writer: it ends with Close or with the first error.
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

// next waits for a line; it is false when there will be none.
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
