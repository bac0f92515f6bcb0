package harness

import (
	"context"
	"sync"
	"time"
)

// inbox is where an actor's work lies until its loop takes it: commands, and
// what the provider and its helpers report. It keeps the loop going as long as
// there is work, and for loopLinger behind it; then the loop's goroutine ends
// and the first thing that comes starts another. So a quiet session has no loop
// and an inbox that takes no memory.
//
// mu guards all of it. A loop that ends gives it up last and the next one takes
// it first: what one of them did to the actor the other sees.
type inbox struct {
	mu      sync.Mutex
	calls   queue[call] // never behind reports
	reports queue[mail]

	hosted  bool // the actor has its place: work may start the loop
	poked   bool // something is to be looked at that lies in no queue
	over    bool // the actor has ended
	running bool // there is a loop
	retire  bool // which has waited long enough

	parked chan struct{} // the loop waits here since; nil while it does not
	since  time.Time
	done   chan struct{} // closed by the end; made for whoever waits for that

	due   time.Time // when the next timer of the session is due; as of parking
	armed time.Time // when the alarm goes off; zero when it is not to
	place int       // in the clock, whose lock guards it; 0 for none
}

// put hands a command over. It waits while there is no room for it.
//
// Errors: errRetired; ctx's, when the command was not taken before it ended.
func (a *actor) put(ctx context.Context, c call) error {
	a.inbox.mu.Lock()
	if a.inbox.over {
		a.inbox.mu.Unlock()
		return errRetired
	}
	in := a.inbox.calls.put(c, inboxCalls)
	a.rouse()
	a.inbox.mu.Unlock()
	if in == nil {
		return nil
	}
	ok := false
	select {
	case ok = <-in:
	case <-ctx.Done():
		a.inbox.mu.Lock()
		left := a.inbox.calls.leave(in)
		a.inbox.mu.Unlock()
		if left {
			return ctx.Err()
		}
		ok = <-in // it was taken at the last moment
	}
	if !ok {
		return errRetired
	}
	return nil
}

// post delivers a report. A full inbox makes the reporter wait, which is the
// back-pressure on the agent.
func (a *actor) post(m mail) {
	a.inbox.mu.Lock()
	if a.inbox.over {
		a.inbox.mu.Unlock()
		return
	}
	in := a.inbox.reports.put(m, inboxReports)
	a.rouse()
	a.inbox.mu.Unlock()
	if in != nil {
		<-in
	}
}

// poke has the loop look at what lies in no queue: a timer that is due, an
// attempt to reach the store that has come to something, the server's end.
func (a *actor) poke() {
	a.inbox.mu.Lock()
	defer a.inbox.mu.Unlock()
	if !a.inbox.over {
		a.inbox.poked = true
		a.rouse()
	}
}

// serve lets work start the loop. The caller has put the actor into the table.
func (a *actor) serve() {
	a.host.wg.Add(1) // until end, so that loops may come and go
	a.inbox.mu.Lock()
	defer a.inbox.mu.Unlock()
	a.inbox.hosted = true
	if a.inbox.work() {
		a.rouse()
	}
}

func (b *inbox) work() bool { return b.poked || len(b.calls.lies)+len(b.reports.lies) > 0 }

// rouse has a loop meet what lies there. The caller holds the inbox.
func (a *actor) rouse() {
	b := &a.inbox
	switch {
	case !b.hosted:
	case !b.running:
		b.running = true
		a.host.wg.Go(a.loop)
	case b.parked != nil:
		b.parked <- struct{}{}
		b.parked = nil
	}
}

// take moves what lies there, up to n inputs and the size of one commit.
func (b *inbox) take(calls []call, reports []mail, n int) ([]call, []mail) {
	for room := n; room > 0 && len(b.calls.lies) > 0; room = n - len(calls) {
		calls = b.calls.take(min(room, len(b.calls.lies)), calls)
	}
	bytes := 0
	for room := n - len(calls); room > 0 && len(b.reports.lies) > 0 && bytes < drainBytes; room = n - len(calls) - len(reports) {
		some := 0
		for _, m := range b.reports.lies[:min(room, len(b.reports.lies))] {
			some++
			if bytes += inputBytes(m.in); bytes >= drainBytes {
				break
			}
		}
		reports = b.reports.take(some, reports)
	}
	return calls, reports
}

// shut ends the inbox: nobody waits for room in it any more. It gives the
// commands that lay there.
func (a *actor) shut() []call {
	b := &a.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	a.host.clock.forget(a)
	if b.done != nil {
		close(b.done)
	}
	b.reports.close()
	return b.calls.close()
}

// ended gives a channel that is closed when the actor has ended.
func (a *actor) ended() <-chan struct{} {
	b := &a.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done == nil {
		b.done = make(chan struct{})
		if b.over {
			close(b.done)
		}
	}
	return b.done
}
