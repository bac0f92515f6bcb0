package harness

import (
	"container/heap"
	"sync"
	"time"
)

// clock rings the alarms of all actors, one each at most. One goroutine does it:
// a timer for each of thousands of sessions would take more memory than what
// waits for it, and a goroutine when it fires.
type clock struct {
	mu    sync.Mutex
	set   alarms
	moved chan struct{} // has room for one: the first alarm is another
}

func newClock() *clock { return &clock{moved: make(chan struct{}, 1)} }

// ring sets the alarm of an actor, or moves it.
func (c *clock) ring(a *actor, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := a.inbox.place - 1; i >= 0 {
		c.set[i].at = at
		heap.Fix(&c.set, i)
	} else {
		heap.Push(&c.set, alarm{at, a})
	}
	if a.inbox.place == 1 {
		select {
		case c.moved <- struct{}{}:
		default:
		}
	}
}

// forget takes off the alarm of an actor.
func (c *clock) forget(a *actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := a.inbox.place - 1; i >= 0 {
		heap.Remove(&c.set, i)
	}
}

// due takes off the alarms whose time has come, and says when the next is; the
// zero time for none.
func (c *clock) due(now time.Time) (ring []*actor, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.set) > 0 {
		if next = c.set[0].at; next.After(now) {
			return ring, next
		}
		ring = append(ring, heap.Pop(&c.set).(alarm).of)
	}
	return ring, time.Time{}
}

// run rings until quit is closed.
func (c *clock) run(quit <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		ring, next := c.due(time.Now())
		for _, a := range ring {
			a.alarmed()
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-timer.C:
		case <-c.moved:
		case <-quit:
			return
		}
	}
}

// alarms is a heap, the earliest first. Each actor knows its place in it,
// counted from 1.
type alarms []alarm

type alarm struct {
	at time.Time
	of *actor
}

func (s alarms) Len() int           { return len(s) }
func (s alarms) Less(i, j int) bool { return s[i].at.Before(s[j].at) }

func (s alarms) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].of.inbox.place, s[j].of.inbox.place = i+1, j+1
}

func (s *alarms) Push(x any) {
	*s = append(*s, x.(alarm))
	x.(alarm).of.inbox.place = len(*s)
}

func (s *alarms) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	(*s)[last] = alarm{}
	*s = (*s)[:last]
	x.of.inbox.place = 0
	return x
}
