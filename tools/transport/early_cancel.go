package transport

import (
	"slices"
	"sync"
	"time"
)

// earlyCancels holds cancellations of requests that have not been read. Over
// HTTP a request and its cancellation arrive on connections of their own, in
// any order; on stdio they arrive in order.
//
// Most of them are late, not early: the response was on its way to the client.
// Both look the same, so all are kept, at most maxEarly and for earlyFor. The
// protocol forbids to use an id twice in a session, so none of them cancels
// another request.
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

// add records a cancellation, in place of the oldest if there are maxEarly.
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

// take reports whether a request was cancelled early, and removes the
// cancellation.
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

// expire removes cancellations older than earlyFor. e.mu is held.
func (e *earlyCancels) expire() {
	e.ids = slices.DeleteFunc(e.ids, func(c earlyCancel) bool { return time.Since(c.came) > earlyFor })
}
