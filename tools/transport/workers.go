package transport

import "sync"

// workers runs functions, each at once on a goroutine of its own, and keeps up
// to idleWorkers idle goroutines for the next ones: a message needs a deep
// stack, and growing a new one costs more than a quick tool.
//
// It does not bound the number of running functions: calls does.
type workers struct {
	next chan func()
	stop chan struct{}

	mu   sync.Mutex
	idle int
}

func newWorkers() *workers {
	return &workers{next: make(chan func()), stop: make(chan struct{})}
}

func (w *workers) run(f func()) {
	select {
	case w.next <- f:
	default:
		go w.work(f)
	}
}

func (w *workers) work(f func()) {
	for {
		f()
		if !w.rest(+1) {
			return
		}
		select {
		case f = <-w.next:
			w.rest(-1)
		case <-w.stop:
			return
		}
	}
}

func (w *workers) rest(change int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle+change > idleWorkers {
		return false
	}
	w.idle += change
	return true
}

// close ends idle goroutines. Running ones end with their function.
func (w *workers) close() { close(w.stop) }
