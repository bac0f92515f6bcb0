package transport

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// feed is the session under which a client is registered with mcp-go. It
// receives what belongs to no call, above all what the server broadcasts:
//
//	srv.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
//
// and passes it to those who asked for it: the client as such, if it said
// hello, and its subscriptions/listen streams, each by its filter. Updates of
// a resource go to its subscribers only. Whoever broadcasts never waits: what
// the client has not yet taken is coalesced, one notification a list and one
// a resource.
//
// A feed without a reader keeps what comes and costs no goroutine. Of several
// readers the newest is served; the one before it takes over at its end.
type feed struct {
	client *client
	log    *slog.Logger
	ch     chan mcp.JSONRPCNotification

	mu      sync.Mutex
	readers []*reader
	pending []mcp.JSONRPCNotification
	held    map[string]struct{} // keys in pending
	lost    bool
}

// reader is one way to the client.
type reader struct {
	to   sink
	wake chan struct{} // holds a token after something changed
}

func newFeed(c *client, log *slog.Logger) *feed {
	return &feed{client: c, log: log, ch: make(chan mcp.JSONRPCNotification, feedNotices)}
}

var (
	_ server.ClientSession                    = (*feed)(nil)
	_ server.SessionWithClientInfo            = (*feed)(nil)
	_ server.SessionWithLogging               = (*feed)(nil)
	_ server.SessionWithResourceSubscriptions = (*feed)(nil)
)

// start reads the feed in a goroutine until the returned function is called.
// What is pending then is not sent. The function waits for a write under way,
// but not long: a client that does not read must not hold up the end.
func (f *feed) start(to sink) (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f.read(to, stop)
	}()
	return func() {
		close(stop)
		select {
		case <-done:
		case <-time.After(abandonAfter):
		}
	}
}

// NotificationChannel returns the queue. When it fills up it is first emptied
// into the coalesced list, by the producer itself.
func (f *feed) NotificationChannel() chan<- mcp.JSONRPCNotification {
	if len(f.ch) > feedNotices/2 {
		f.collect()
		f.mu.Lock()
		f.wakeNewest()
		f.mu.Unlock()
	}
	return f.ch
}

// read passes notifications to a sink until stop is closed.
func (f *feed) read(to sink, stop <-chan struct{}) {
	r := &reader{to: to, wake: make(chan struct{}, 1)}
	f.enter(r)
	defer f.leave(r)
	for {
		ch := f.ch
		if !f.isNewest(r) {
			ch = nil
		}
		select {
		case <-stop:
			return
		case n := <-ch:
			f.hold(n)
		case <-r.wake:
		}
		for f.isNewest(r) {
			f.collect()
			if !f.sendOne(to) {
				break
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}
}

func (f *feed) enter(r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wakeNewest() // so that it lets go of the queue
	f.readers = append(f.readers, r)
	f.wakeNewest() // for what is pending already
}

func (f *feed) leave(r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers = slices.DeleteFunc(f.readers, func(other *reader) bool { return other == r })
	f.wakeNewest()
}

func (f *feed) isNewest(r *reader) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readers[len(f.readers)-1] == r
}

// wakeNewest has the newest reader look; f.mu is held.
func (f *feed) wakeNewest() {
	if len(f.readers) == 0 {
		return
	}
	select {
	case f.readers[len(f.readers)-1].wake <- struct{}{}:
	default:
	}
}

// collect moves the queue into the coalesced list.
func (f *feed) collect() {
	for {
		select {
		case n := <-f.ch:
			f.hold(n)
		default:
			return
		}
	}
}

func (f *feed) hold(n mcp.JSONRPCNotification) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, coalesced := feedKey(n)
	if _, ok := f.held[key]; coalesced && ok {
		return // the one that waits says the same
	}
	if len(f.pending) >= maxFeed {
		if !f.lost {
			f.lost = true
			f.log.Warn("notifications lost: the client does not read", "session", f.client.id, "waiting", len(f.pending))
		}
		return
	}
	if coalesced {
		if f.held == nil {
			f.held = make(map[string]struct{})
		}
		f.held[key] = struct{}{}
	}
	f.pending = append(f.pending, n)
}

// feedKey names what a notification is about; two with one key say the same.
func feedKey(n mcp.JSONRPCNotification) (string, bool) {
	if uri, ok := updatedURI(n); ok {
		return n.Method + " " + uri, true
	}
	return n.Method, strings.HasSuffix(n.Method, "/list_changed")
}

// sendOne passes on the first pending notification. It reports false when
// there was none or the sink failed; then the notification is kept.
func (f *feed) sendOne(to sink) bool {
	f.mu.Lock()
	if len(f.pending) == 0 {
		f.pending, f.lost = nil, false
		f.mu.Unlock()
		return false
	}
	n := f.pending[0]
	f.pending = f.pending[1:]
	if key, coalesced := feedKey(n); coalesced {
		delete(f.held, key)
	}
	f.mu.Unlock()

	plain, streams := f.client.wanting(n)
	for _, s := range streams {
		s.send(n)
	}
	if plain && to.send(n) != nil {
		f.hold(n) // a failed sink ends its reader: the next one gets it
		return false
	}
	return true
}
