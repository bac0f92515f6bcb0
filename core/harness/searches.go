package harness

import (
	"context"
	"sync"
)

// searches lets each owner search output for one pattern at a time, by turns
// of a slice each, so that many of them leave the machine to the others. The
// zero value is ready.
type searches struct {
	mu     sync.Mutex
	owners map[string]*searchTurn
}

// searchTurn is the turn of one owner. It lives as long as somebody has it or
// waits for it.
type searchTurn struct {
	taken chan struct{} // has room for one
	users int           // under searches.mu
}

// begin waits for the owner's turn. It gives nil when ctx ends before; else
// what ends the turn.
func (s *searches) begin(ctx context.Context, owner string) (done func()) {
	s.mu.Lock()
	t := s.owners[owner]
	if t == nil {
		if s.owners == nil {
			s.owners = map[string]*searchTurn{}
		}
		t = &searchTurn{taken: make(chan struct{}, 1)}
		s.owners[owner] = t
	}
	t.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(s.owners, owner)
		}
	}
	select { // a free turn is taken even when there is no time left
	case t.taken <- struct{}{}:
		return func() { <-t.taken; leave() }
	default:
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; leave() }
	case <-ctx.Done():
		leave()
		return nil
	}
}
