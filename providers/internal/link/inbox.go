package link

import (
	"context"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

// Inbox holds notices until Take takes them. One goroutine takes; any may add.
type Inbox struct {
	limits Limits
	ended  chan struct{} // closed with err
	more   chan struct{} // a token when there may be something to take
	space  chan struct{} // a token when there may be space

	mu    sync.Mutex
	list  []core.Notice
	bytes int
	err   error // what Take returns once the list is empty
}

// NewInbox returns an inbox whose WaitSpace waits beyond the limits.
func NewInbox(l Limits) *Inbox {
	return &Inbox{limits: l, ended: make(chan struct{}), more: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

// size is what a notice counts for: its frame, which is never much smaller
// than what was read from it.
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

// Add adds notices in order. After End it drops them: nothing follows the end.
func (b *Inbox) Add(list []core.Notice) {
	if len(list) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	for _, n := range list {
		b.bytes += size(n)
	}
	b.list = append(b.list, list...)
	signal(b.more)
}

// End sets the error that Take returns after the last notice. Later calls do
// nothing.
func (b *Inbox) End(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
		close(b.ended)
	}
	signal(b.more)
	signal(b.space)
}

// Ended returns a channel that End closes; Err returns the reason.
func (b *Inbox) Ended() <-chan struct{} { return b.ended }

// Err is what End was given, nil before it.
func (b *Inbox) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Holds reports whether the notices reach either of the limits.
func (b *Inbox) Holds(l Limits) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reaches(l)
}

func (b *Inbox) reaches(l Limits) bool {
	return l != Limits{} && (len(b.list) >= l.Count || b.bytes >= l.Bytes)
}

// SetLimits sets the limits beyond which WaitSpace waits.
func (b *Inbox) SetLimits(l Limits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limits = l
	signal(b.space)
}

// WaitSpace waits until the notices are below the limits. It returns false when
// the inbox has ended or stop is closed.
func (b *Inbox) WaitSpace(stop <-chan struct{}) bool {
	for {
		b.mu.Lock()
		ended, full := b.err != nil, b.reaches(b.limits)
		b.mu.Unlock()
		if ended || !full {
			return !ended
		}
		select {
		case <-b.space:
		case <-stop:
			return false
		}
	}
}

// Take returns the next notice, the error of End once there is none, or ctx's
// error.
func (b *Inbox) Take(ctx context.Context) (core.Notice, error) {
	for {
		b.mu.Lock()
		if len(b.list) > 0 {
			n := b.list[0]
			b.list[0] = nil // it may be large
			b.list = b.list[1:]
			b.bytes -= size(n)
			signal(b.space)
			b.mu.Unlock()
			return n, nil
		}
		err := b.err
		b.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-b.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
