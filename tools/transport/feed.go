package transport

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// feed is the session under which a connection is registered with mcp-go. It
// receives what belongs to no call, above all what the server broadcasts:
//
//	srv.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
//
// and passes it to those who asked for it: the client as such, if it said
// hello, and its subscriptions/listen streams, each by its filter. Updates of
// a resource go to its subscribers only. Whoever broadcasts never waits: what
// the client has not yet taken is coalesced, one notification a list and one
// a resource.
type feed struct {
	client *client
	to     sink
	log    *slog.Logger
	ch     chan mcp.JSONRPCNotification
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	pending []mcp.JSONRPCNotification
	held    map[string]struct{} // keys in pending
	lost    bool
}

func newFeed(c *client, to sink, log *slog.Logger) *feed {
	f := &feed{
		client: c,
		to:     to,
		log:    log,
		ch:     make(chan mcp.JSONRPCNotification, feedNotices),
		wake:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		held:   make(map[string]struct{}),
	}
	go f.run()
	return f
}

var (
	_ server.ClientSession                    = (*feed)(nil)
	_ server.SessionWithClientInfo            = (*feed)(nil)
	_ server.SessionWithLogging               = (*feed)(nil)
	_ server.SessionWithResourceSubscriptions = (*feed)(nil)
)

// close ends the feed; what is pending is not sent. It waits for a write under
// way, but not long: a client that does not read must not hold up the end.
func (f *feed) close() {
	close(f.stop)
	select {
	case <-f.done:
	case <-time.After(abandonAfter):
	}
}

// NotificationChannel returns the queue. When it fills up it is first emptied
// into the coalesced list, by the producer itself.
func (f *feed) NotificationChannel() chan<- mcp.JSONRPCNotification {
	if len(f.ch) > feedNotices/2 {
		f.collect()
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
	return f.ch
}

func (f *feed) run() {
	defer close(f.done)
	for {
		select {
		case <-f.stop:
			return
		case n := <-f.ch:
			f.hold(n)
		case <-f.wake:
		}
		for f.collect(); f.sendOne(); f.collect() {
			select {
			case <-f.stop:
				return
			default:
			}
		}
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

func (f *feed) sendOne() bool {
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
	if plain {
		_ = f.to.send(n) // a failed write ends the connection
	}
	for _, s := range streams {
		s.send(n)
	}
	return true
}
