package claude

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// Why a line was not taken.
var (
	errClosed = errors.New("the connection is closed")
	errFull   = errors.New("it does not read: too much waits for it")
)

// outbox holds lines until the pipe takes them. Adding never waits. Every line
// is encoded here, since the CLI ends at the first one that is not JSON.
type outbox struct {
	out  io.Writer
	done chan struct{} // closed when the writer has returned

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

// newOutbox begins to write to out. The owner of out closes it.
func newOutbox(out io.Writer) *outbox {
	o := &outbox{out: out, done: make(chan struct{})}
	o.wake = sync.NewCond(&o.mu)
	go o.write()
	return o
}

// add takes a value as the next line.
func (o *outbox) add(v any, written func()) error {
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
		return errClosed
	case len(o.list) >= maxOutbox, o.bytes > 0 && o.bytes+len(data) > maxOutboxBytes:
		return errFull
	}
	o.list = append(o.list, outLine{data, written})
	o.bytes += len(data)
	o.wake.Signal()
	return nil
}

// close ends the writer; what still waits is not written. A write that the pipe
// holds up ends when the pipe's owner closes it, and done says when.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake.Signal()
}

func (o *outbox) write() {
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

func (o *outbox) next() (outLine, bool) {
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

func (o *outbox) wrote(l outLine, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= len(l.data)
	if err != nil {
		o.err = fmt.Errorf("write: %w", err)
	}
}
