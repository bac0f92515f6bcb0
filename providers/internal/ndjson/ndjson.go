// Package ndjson frames newline-delimited JSON, the way in which coding agents
// speak over a pipe: one JSON value a line.
//
// A line has a limit, because the peer is another program: what it sends must
// not decide how much memory we use. A line beyond the limit ends the stream,
// since what follows may begin in the middle of a value. Within the limit
// memory grows with the line and is given up after a large one.
package ndjson

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// TooLongError reports that a line exceeds the limit.
type TooLongError struct {
	Seen  int // bytes read of the line so far
	Limit int
}

// Error names both sizes.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("a line of more than %d bytes (limit %d)", e.Seen, e.Limit)
}

// Reader reads lines. One goroutine uses it.
type Reader struct {
	in    *bufio.Reader
	limit int
	err   error // sticky
}

// NewReader reads lines of at most limit bytes, MaxLine for 0.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = MaxLine
	}
	return &Reader{in: bufio.NewReaderSize(r, bufferSize), limit: limit}
}

// Next returns the next line that is not blank, without its end, in memory that
// the caller keeps. A last line without an end counts. It returns io.EOF at
// the end, a *TooLongError, or the error of the source; then always the same.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.line()
		if len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// line reads up to the next newline. It may return a line and keep an error for
// the next call.
func (r *Reader) line() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	var line []byte
	for {
		piece, err := r.in.ReadSlice('\n')
		if err == nil || errors.Is(err, io.EOF) {
			piece = bytes.TrimRight(piece, "\r\n")
		}
		if len(line)+len(piece) > r.limit {
			r.err = &TooLongError{Seen: len(line) + len(piece), Limit: r.limit}
			return nil, r.err
		}
		line = extend(line, piece)
		switch {
		case err == nil:
			if len(line) >= longLine {
				freeLater()
			}
			return bytes.TrimSpace(line), nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			r.err = io.EOF
			return bytes.TrimSpace(line), r.err
		default:
			r.err = fmt.Errorf("ndjson: read: %w", err)
			return nil, r.err // what was read of the line may be half a value
		}
	}
}

// extend appends a piece to a line. A long line grows in large steps: what it
// leaves behind then is a third of it, and not several times it. What is not
// written to of its memory costs nothing.
func extend(line, piece []byte) []byte {
	const step = 4
	if n := len(line) + len(piece); n > cap(line) && cap(line) >= bufferSize {
		grown := make([]byte, len(line), max(n, step*cap(line)))
		copy(grown, line)
		line = grown
	}
	return append(line, piece...)
}

// Encode returns v as one line with its end. Characters that only HTML cares
// about stay as they are.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("ndjson: encode: %w", err)
	}
	return b.Bytes(), nil
}
