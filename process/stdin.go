package process

import (
	"os"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

// stdinWriter is the input of a managed process: what callers gave and the process
// has not taken yet, at most core.MaxInput bytes. One goroutine writes it. The
// zero value takes nothing.
type stdinWriter struct {
	mu     sync.Mutex
	more   sync.Cond
	file   *os.File
	tty    bool
	queue  [][]byte
	held   int
	ending bool // the end of input is in the queue, behind the rest
	closed bool // nothing is taken any more
}

// endOfTransmission ends the input on a terminal.
const endOfTransmission = 0x04

// newStdinWriter makes the input of a process and begins to write. It ends with end,
// or when the process takes no more.
func newStdinWriter(file *os.File, tty bool) *stdinWriter {
	f := &stdinWriter{file: file, tty: tty}
	f.more.L = &f.mu
	go f.write()
	return f
}

// put takes data and, behind it, the end of input. Of what is refused nothing
// is written.
func (f *stdinWriter) put(data []byte, eof bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed || f.ending:
		return core.Errorf(core.CodeStdinClosed, "the input of the process has ended").
			WithHint("Its output can still be read. Start another process for more input.")
	case len(data) > 0 && f.held+len(data) > core.MaxInput:
		return core.Errorf(core.CodeStdinBusy, "the process has not read %d bytes of earlier input, and at most %d are held", f.held, core.MaxInput).
			WithHint("Nothing of this input was written. Try again when it has read on, or send a signal.").
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

// end takes no more and lets the writer go once its write returns: the file
// must be closed by then.
func (f *stdinWriter) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed, f.queue, f.held = true, nil, 0
	f.more.Signal()
}

// write writes until the end of input or an error, which is that the process
// reads no more.
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

// next waits for the next part to write, which is small enough for the count of
// what is held to be true.
func (f *stdinWriter) next() ([]byte, bool) {
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
