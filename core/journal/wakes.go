package journal

import "sync"

// Wakes wakes the watchers of a resource that has changed. Wakes merge: a watcher
// reads the journal again from its cursor and so misses nothing. The zero value
// is ready. It is safe for concurrent use.
type Wakes struct {
	mu       sync.Mutex
	watchers map[chan<- struct{}]struct{}
}

// Watch registers a channel, which needs room for one wake. stop removes it.
func (w *Wakes) Watch(ch chan<- struct{}) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watchers == nil {
		w.watchers = map[chan<- struct{}]struct{}{}
	}
	w.watchers[ch] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watchers, ch)
	}
}

// Wake wakes all watchers. It never waits: a watcher whose channel is full has a
// wake already.
func (w *Wakes) Wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.watchers {
		select {
		case ch <- struct{}{}:
		default: // a wake is already there
		}
	}
}
