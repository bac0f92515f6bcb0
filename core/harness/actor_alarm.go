package harness

import "time"

// park waits for work, a timer that is due or the order to retire. The caller
// holds the inbox, which others have meanwhile. wake is the loop's own.
func (a *actor) park(wake chan struct{}, now time.Time) {
	b := &a.inbox
	b.parked, b.since = wake, now
	a.arm(now)
	b.mu.Unlock()
	<-wake
	b.mu.Lock()
}

// arm sets the alarm for what comes first, the next timer or the retirement of
// a parked loop. One that goes off sooner stays as it is: then there is another
// look, so a busy session hardly ever moves it. The caller holds the inbox.
func (a *actor) arm(now time.Time) {
	b := &a.inbox
	at := b.due
	if b.parked != nil {
		if end := b.since.Add(loopLinger); at.IsZero() || end.Before(at) {
			at = end
		}
	}
	if at.IsZero() || !b.armed.IsZero() && !at.Before(b.armed) {
		return
	}
	b.armed = at
	a.host.clock.ring(a, at)
}

// alarmed is called by the clock. A loop that works looks itself before it parks.
func (a *actor) alarmed() {
	b := &a.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = time.Time{}
	if b.over || b.running && b.parked == nil {
		return
	}
	switch now := time.Now(); {
	case !b.due.IsZero() && !now.Before(b.due):
		b.due, b.poked = time.Time{}, true
		a.rouse()
	case b.parked != nil && now.Sub(b.since) >= loopLinger:
		b.retire = true
		a.rouse()
	default:
		a.arm(now)
	}
}
