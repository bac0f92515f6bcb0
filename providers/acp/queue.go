package acp

import (
	"context"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

// queue holds notices until Recv takes them. Adding never waits; whoever reads
// from the agent waits for room before it reads more.
type queue struct {
	mu    sync.Mutex
	list  []core.Notice
	bytes int
	err   error         // what Recv gives once the list is empty
	more  chan struct{} // a token when there may be something to take
	room  chan struct{} // a token when there may be room
}

func newQueue() *queue {
	return &queue{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// size is what a notice counts for.
func size(n core.Notice) int {
	switch n := n.(type) {
	case core.Content:
		return len(n.Raw)
	case core.RequestRaised:
		return len(n.Raw)
	case core.TurnEnded:
		return len(n.Raw)
	}
	return 0
}

// full says whether the queue holds more than the given bounds.
func (q *queue) full(count, bytes int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list) >= count || q.bytes >= bytes
}

func (q *queue) add(list []core.Notice) {
	if len(list) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return // nobody is told anything after the end
	}
	for _, n := range list {
		q.bytes += size(n)
	}
	q.list = append(q.list, list...)
	signal(q.more)
}

// end sets what Recv gives after the last notice; the first end stays.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	signal(q.more)
	signal(q.room)
}

// waitRoom returns false when the queue has ended or stop is closed.
func (q *queue) waitRoom(stop <-chan struct{}) bool {
	for {
		q.mu.Lock()
		ended, full := q.err != nil, len(q.list) >= maxQueued || q.bytes >= maxQueuedBytes
		q.mu.Unlock()
		if ended || !full {
			return !ended
		}
		select {
		case <-q.room:
		case <-stop:
			return false
		}
	}
}

func (q *queue) take(ctx context.Context) (core.Notice, error) {
	for {
		q.mu.Lock()
		if len(q.list) > 0 {
			n := q.list[0]
			q.list[0] = nil // it may be large
			q.list = q.list[1:]
			q.bytes -= size(n)
			signal(q.room)
			q.mu.Unlock()
			return n, nil
		}
		err := q.err
		q.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-q.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
