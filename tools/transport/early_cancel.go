package transport

import (
	"slices"
	"sync"
	"time"
)

// earlyCancels are cancellations of requests that have not been read. Over
// HTTP a request and its cancellation come on connections of their own, so
// that either may be the first; on stdio they cannot overtake each other.
//
// Most are not early but late: the response was on its way to the client. Both
// look alike, so all are kept, a few and for a short time. The protocol forbids
// to use an id twice in a session, and so none of them hits another request.
//
// The zero value is ready to use. It is safe for concurrent use.
type earlyCancels struct {
	mu  sync.Mutex
	ids []earlyCancel // the oldest first
}

type earlyCancel struct {
	id   string
	came time.Time
}

// add keeps a cancellation; the oldest makes room.
func (e *earlyCancels) add(id string) {
	if id == "" || len(id) > maxEarlyID {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expire()
	if len(e.ids) >= maxEarly {
		e.ids = slices.Delete(e.ids, 0, 1)
	}
	e.ids = append(e.ids, earlyCancel{id, time.Now()})
}

// take reports whether a request was cancelled early. It counts once.
func (e *earlyCancels) take(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expire()
	i := slices.IndexFunc(e.ids, func(c earlyCancel) bool { return c.id == id })
	if i < 0 {
		return false
	}
	e.ids = slices.Delete(e.ids, i, i+1)
	return true
}

// expire drops what came too long ago; e.mu is held.
func (e *earlyCancels) expire() {
	e.ids = slices.DeleteFunc(e.ids, func(c earlyCancel) bool { return time.Since(c.came) > earlyFor })
}
