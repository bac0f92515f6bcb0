// Package link holds the two bounded queues of a Conn whose agent speaks lines
// of JSON: notices that wait for Recv, and lines that wait for the pipe. Adding
// to either never waits, so that an adapter may do both under one lock; the
// reader of the agent's output waits for room, which is the back-pressure.
package link

import "errors"

// Why a line was not taken.
var (
	ErrClosed = errors.New("the connection is closed")
	ErrFull   = errors.New("it does not read: too much waits for it")
)

// Limits bound one queue. A single notice or line beyond Bytes is taken when
// nothing else waits.
type Limits struct {
	Count int
	Bytes int
}

// signal leaves a token in a channel of one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
