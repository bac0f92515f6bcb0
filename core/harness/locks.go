package harness

import (
	"context"
	"sync"
)

// locks is a mutex per resource whose wait ends with a context. A resource that
// nobody has or waits for takes no memory. The zero value is ready. It is safe
// for concurrent use.
type locks struct {
	mu   sync.Mutex
	held map[key]chan struct{}
}

// lock waits for k, or until ctx ends. A free k is taken also when ctx has ended.
// The caller unlocks it. Those that wait are not served in order.
func (l *locks) lock(ctx context.Context, k key) (unlock func(), err error) {
	for {
		l.mu.Lock()
		wait, taken := l.held[k]
		if !taken {
			mine := make(chan struct{})
			if l.held == nil {
				l.held = map[key]chan struct{}{}
			}
			l.held[k] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, k)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
