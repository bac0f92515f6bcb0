package transport

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// callNotifications passes the notifications of one call to its sink, in order.
//
// mcp-go hands a notification over with a send that does not wait, so a full
// queue would lose it, and the last progress of a burst is the important one.
// Therefore the producer waits when it asks for the channel, until the queue
// has room: for as long as the client does not read, at most until the end of
// the call's context.
//
// Its one goroutine, run, starts with the first notification, since most calls
// have none, and ends with close.
type callNotifications struct {
	to func(mcp.JSONRPCNotification)

	mu     sync.Mutex
	ch     chan mcp.JSONRPCNotification
	room   chan struct{} // holds a token after the queue shrank
	stop   chan struct{}
	done   chan struct{}
	closed bool
}

// channel returns the queue once it has room. It returns nil, on which every
// send fails, after close and after the end of ctx.
func (n *callNotifications) channel(ctx context.Context, patient bool) chan<- mcp.JSONRPCNotification {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	if n.ch == nil {
		n.ch = make(chan mcp.JSONRPCNotification, notificationBuffer)
		n.room = make(chan struct{}, 1)
		n.stop = make(chan struct{})
		n.done = make(chan struct{})
		go n.run()
	}
	n.mu.Unlock()
	for patient && len(n.ch) > notificationBuffer-notificationHeadroom {
		select {
		case <-n.room:
		case <-n.stop:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	n.signalRoom() // others may wait for the same room
	return n.ch
}

func (n *callNotifications) signalRoom() {
	select {
	case n.room <- struct{}{}:
	default:
	}
}

func (n *callNotifications) run() {
	defer close(n.done)
	for {
		select {
		case note := <-n.ch:
			n.to(note)
			n.signalRoom()
		case <-n.stop:
			n.drain()
			return
		}
	}
}

func (n *callNotifications) drain() {
	for {
		select {
		case note := <-n.ch:
			n.to(note)
		default:
			return
		}
	}
}

// close sends what is queued and ends the queue. When it returns nothing of
// this call follows, so the response may be sent.
func (n *callNotifications) close() {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return
	}
	n.closed = true
	running := n.ch != nil
	n.mu.Unlock()
	if running {
		close(n.stop)
		<-n.done
	}
}
