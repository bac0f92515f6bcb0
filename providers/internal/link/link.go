// Package link is what every Conn does about its agent's process, whatever the
// agent speaks: a Child starts, explains and ends the process, and an Inbox
// holds the notices that wait for Recv. Adding to it never waits, so that an
// adapter may do it under its lock; the reader of the agent's output waits for
// room, which is the back-pressure.
//
// What an adapter keeps for itself is the order of things: its reader, its lock,
// its translator, and the steps by which it stops.
package link

// Limits bound an inbox. A single notice beyond Bytes is taken when nothing else
// waits.
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
