package transport

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"
)

// httpSession is a client of the revisions up to 2025-11-25: the state of
// initialize, kept from one request to the next. It belongs to the principal
// that made it; its id is valid for that principal only.
type httpSession struct {
	id         string
	owner      *principal
	client     *client
	broadcasts *broadcastQueue
	ctx        context.Context // ends with the session
	cancel     context.CancelFunc
	early      earlyCancels

	mu    sync.Mutex
	busy  int       // requests and streams
	since time.Time // of the end of the last one
	ended bool
}

func (h *Handler) newSession(p *principal) *httpSession {
	s := &httpSession{id: rand.Text(), owner: p, client: newClient(h.nextID()), busy: 1}
	s.broadcasts = newBroadcastQueue(s.client, h.log)
	s.ctx, s.cancel = context.WithCancel(p.ctx)
	return s
}

// enter counts a request or stream. It reports false if the session has ended;
// otherwise the caller must call leave.
func (s *httpSession) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.busy++
	return true
}

func (s *httpSession) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.since = time.Now()
}

// idle returns for how long the session has had no request and no stream.
func (s *httpSession) idle(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy > 0 {
		return 0
	}
	return now.Sub(s.since)
}

// key returns the key of a request of the session in the table of its
// principal's calls.
func (s *httpSession) key(id []byte) string { return s.client.id + " " + string(id) }

// openSession registers a session. It reports false if its principal has
// maxSessions, all of them busy.
func (h *Handler) openSession(s *httpSession) bool {
	p := s.owner
	var gone *httpSession
	p.mu.Lock()
	if len(p.sessions) >= maxSessions {
		if gone = p.longestIdle(time.Now()); gone == nil {
			p.mu.Unlock()
			return false
		}
		delete(p.sessions, gone.id)
	}
	p.sessions[s.id] = s
	p.mu.Unlock()
	if gone != nil {
		h.endSession(gone)
	}
	if err := h.srv.RegisterSession(s.ctx, s.broadcasts); err != nil {
		h.log.Error("registering a session", "err", err)
	}
	return true
}

// longestIdle returns the session that has been idle for the longest time,
// nil if none is; p.mu is held.
func (p *principal) longestIdle(now time.Time) *httpSession {
	var found *httpSession
	var longest time.Duration
	for _, s := range p.sessions {
		if idle := s.idle(now); idle > longest {
			found, longest = s, idle
		}
	}
	return found
}

// endSession removes a session and ends its calls. It may be called more than
// once.
func (h *Handler) endSession(s *httpSession) {
	s.owner.mu.Lock()
	delete(s.owner.sessions, s.id)
	s.owner.mu.Unlock()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.cancel()
	s.client.requests.close()
	h.srv.UnregisterSession(s.owner.ctx, s.client.id)
}

func (p *principal) sessionsCopy() []*httpSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.sessions))
}

// sweep ends sessions that have been idle for SessionTTL. It is the one
// goroutine of a Handler, and ends with h.ctx.
func (h *Handler) sweep() {
	defer close(h.swept)
	tick := time.NewTicker(max(h.opts.SessionTTL/8, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case now := <-tick.C:
			for _, p := range h.principalsCopy() {
				stale := slices.DeleteFunc(p.sessionsCopy(), func(s *httpSession) bool { return s.idle(now) <= h.opts.SessionTTL })
				for _, s := range stale {
					h.endSession(s)
				}
			}
		}
	}
}

// cancelCall handles the client's cancellation of a request of the session,
// also of one that is not yet read. The cancellation is recorded before the
// table of calls is searched, and cancelIfEarly searches after the call was
// added to the table: so one of the two finds the other.
func (s *httpSession) cancelCall(id string) {
	s.early.add(id)
	if s.owner.calls.cancel(s.key([]byte(id))) {
		s.early.take(id)
	}
}

// cancelIfEarly cancels a call whose cancellation arrived before it.
func (s *httpSession) cancelIfEarly(c *call, id string) {
	if s.early.take(id) {
		c.abort()
	}
}
