package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

var errLineTooLong = errors.New("line too long")

// lineReader reads messages, one per line.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readBuffer), max: max}
}

// next returns the next line in memory of its own. The last line needs no
// newline; it is returned together with io.EOF. A line that is too long is
// skipped and reported as errLineTooLong; reading can continue.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case tooLong || len(line)+len(part) > l.max:
			tooLong, line = true, nil
		case line == nil:
			line = bytes.Clone(part)
		default:
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case tooLong && (err == nil || err == io.EOF):
			return nil, errLineTooLong // the next read returns io.EOF
		default:
			return line, err
		}
	}
}

// lineWriter writes messages, one per line. Messages never interleave. A single
// message is one write; messages that arrive during a write are written
// together by the next one, in order. It is safe for concurrent use.
type lineWriter struct {
	w      io.Writer
	failed chan struct{} // closed after a failed write

	mu       sync.Mutex
	room     sync.Cond
	pending  []byte
	spare    []byte
	flushing bool
	err      error
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w, failed: make(chan struct{})}
	l.room.L = &l.mu
	return l
}

// send encodes and writes a message. The first sender also writes what others
// add meanwhile; a sender waits while more than maxUnwritten bytes are pending.
func (l *lineWriter) send(message any) error {
	return l.encode(message, func() error { return l.drain() })
}

// post is send for callers that must not wait for the client to read: another
// goroutine writes. It waits only while more than maxUnwritten bytes are
// pending.
func (l *lineWriter) post(message any) error {
	return l.encode(message, func() error {
		go func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			_ = l.drain() // the next sender returns the error
		}()
		return nil
	})
}

func (l *lineWriter) encode(message any, write func() error) error {
	e, err := encode(message)
	if err != nil {
		return err
	}
	defer e.free()
	return l.add(e.buf.Bytes(), write)
}

// add appends a line. If no write is under way it calls write, with l.mu held;
// else the writer takes the line along.
func (l *lineWriter) add(line []byte, write func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.flushing && len(l.pending) > maxUnwritten && l.err == nil {
		l.room.Wait()
	}
	if l.err != nil {
		return l.err
	}
	l.pending = append(l.pending, line...)
	if l.flushing {
		return nil
	}
	l.flushing = true
	return write()
}

// drain writes until nothing is pending; l.mu is held.
func (l *lineWriter) drain() error {
	for len(l.pending) > 0 && l.err == nil {
		l.flush()
	}
	l.flushing = false
	l.room.Broadcast()
	return l.err
}

// flush writes what is pending; l.mu is held, but not during the write.
func (l *lineWriter) flush() {
	out := l.pending
	l.pending, l.spare = l.spare[:0], nil
	l.mu.Unlock()
	_, err := l.w.Write(out)
	l.mu.Lock()
	if cap(out) <= maxSpareBytes {
		l.spare = out[:0]
	}
	if err != nil && l.err == nil {
		l.err = err
		close(l.failed)
	}
	l.room.Broadcast()
}

// waitWritten waits until everything is written, the output has failed or d has
// passed.
func (l *lineWriter) waitWritten(d time.Duration) {
	late := false
	timer := time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		late = true
		l.room.Broadcast()
	})
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.flushing && l.err == nil && !late {
		l.room.Wait()
	}
}

// writeErr returns the error of the first failed write.
func (l *lineWriter) writeErr() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
