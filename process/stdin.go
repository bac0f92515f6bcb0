package process

import (
	"os"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

// stdinWriter is the input of a managed process: a queue of at most core.MaxInput
// bytes that the process has not read yet. Its methods may be called concurrently;
// one goroutine writes the queue to the pipe or terminal.
type stdinWriter struct {
	mu     sync.Mutex
	more   sync.Cond
	file   *os.File
	tty    bool
	queue  [][]byte
	held   int
	ending bool // the end of input is in the queue, behind the rest
	closed bool // put is refused
}

// endOfTransmission ends the input on a terminal.
const endOfTransmission = 0x04

// newStdinWriter returns a writer to file and starts its goroutine, which ends after
// the end of input, after end, or when the process closes its input.
func newStdinWriter(file *os.File, tty bool) *stdinWriter {
	f := &stdinWriter{file: file, tty: tty}
	f.more.L = &f.mu
	go f.write()
	return f
}

// put queues data and, behind it, the end of input if eof is set; it does not wait.
// Nothing of a refused call is written. Errors: CodeStdinClosed, CodeStdinBusy.
func (f *stdinWriter) put(data []byte, eof bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed || f.ending:
		return core.Errorf(core.CodeStdinClosed, "the input of the process has ended").
			WithHint("Its output can still be read. Start another process for more input.")
	case len(data) > 0 && f.held+len(data) > core.MaxInput:
		return core.Errorf(core.CodeStdinBusy, "the process has not read %d bytes of earlier input, and at most %d are held", f.held, core.MaxInput).
			WithHint("Nothing of this input was written. Retry when the process has read more, or send a signal.").
			WithDetail("held", f.held).WithDetail("limit", core.MaxInput).Retry()
	}
	if eof && f.tty {
		data = append(data[:len(data):len(data)], endOfTransmission)
	} else if eof {
		f.ending = true
	}
	if len(data) > 0 {
		f.queue = append(f.queue, data)
		f.held += len(data)
	}
	f.more.Signal()
	return nil
}

// end drops the queue and refuses further input. The goroutine ends when its write
// returns, so the caller closes the file before.
func (f *stdinWriter) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed, f.queue, f.held = true, nil, 0
	f.more.Signal()
}

// write is the goroutine: it writes until the end of input, or until an error, which
// means that the process no longer reads.
func (f *stdinWriter) write() {
	for {
		b, ok := f.next()
		if !ok {
			return
		}
		n, err := f.file.Write(b)
		f.mu.Lock()
		f.held = max(0, f.held-n)
		f.mu.Unlock()
		if err != nil {
			f.end()
			return
		}
	}
}

// next waits for the next part, of at most writePart bytes, so that held stays close
// to what the process has not read. ok is false at the end.
func (f *stdinWriter) next() (part []byte, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) == 0 && !f.closed && !f.ending {
		f.more.Wait()
	}
	if f.closed {
		return nil, false
	}
	if len(f.queue) == 0 {
		f.closed = true
		f.file.Close()
		return nil, false
	}
	b := f.queue[0]
	if len(b) > writePart {
		f.queue[0] = b[writePart:]
		return b[:writePart], true
	}
	f.queue = f.queue[1:]
	return b, true
}
