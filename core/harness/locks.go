package harness

import (
	"context"
	"sync"
)

// locks is a mutex per resource. The zero value is ready. It is safe for
// concurrent use.
type locks struct {
	mu   sync.Mutex
	held map[key]chan struct{}
}

// lock waits for k, or until ctx ends. The caller unlocks it.
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
