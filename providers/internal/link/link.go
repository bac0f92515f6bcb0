// Package link is what every connection to an agent has in common, whatever the
// agent speaks. Options finds and starts the agent's program; Child reads its
// stderr, explains its end and stops it once; Inbox holds the notices that wait
// for Recv; Conn puts them together around a wire (the framing) and a translator
// (the protocol, without I/O). An adapter adds its wire types, its translator and
// the steps of its opening.
package link

// signal puts a token into a channel of capacity one, unless it has one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
