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

// broadcastQueue is the session under which a client is registered with mcp-go.
// It receives the notifications that belong to no call, above all those that
// the server broadcasts:
//
//	srv.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
//
// and passes them to the client itself, if it has initialized, and to its
// subscriptions/listen streams, each by its filter. Updates of a resource go to
// its subscribers only. A broadcast never waits: pending notifications are
// coalesced, one per list and one per resource, at most maxBroadcasts.
//
// Without a reader the queue keeps notifications and needs no goroutine. Of
// several readers the newest is served; when it ends, the one before it is.
type broadcastQueue struct {
	client *client
	log    *slog.Logger
	ch     chan mcp.JSONRPCNotification

	mu          sync.Mutex
	readers     []*broadcastReader
	pending     []mcp.JSONRPCNotification
	pendingKeys map[string]struct{} // keys in pending
	lost        bool
}

// broadcastReader is one connection to the client.
type broadcastReader struct {
	to   sink
	wake chan struct{} // holds a token after something changed
}

func newBroadcastQueue(c *client, log *slog.Logger) *broadcastQueue {
	return &broadcastQueue{client: c, log: log, ch: make(chan mcp.JSONRPCNotification, broadcastBuffer)}
}

var (
	_ server.ClientSession                    = (*broadcastQueue)(nil)
	_ server.SessionWithClientInfo            = (*broadcastQueue)(nil)
	_ server.SessionWithLogging               = (*broadcastQueue)(nil)
	_ server.SessionWithResourceSubscriptions = (*broadcastQueue)(nil)
)

// start reads the queue in a goroutine until the returned function is called.
// What is pending then is not sent. The function waits for a write under way,
// at most abandonAfter: a client that does not read must not delay the end.
func (f *broadcastQueue) start(to sink) (end func()) {
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

// NotificationChannel returns the queue. If it is more than half full, it is
// first emptied into the coalesced list, by the producer itself.
func (f *broadcastQueue) NotificationChannel() chan<- mcp.JSONRPCNotification {
	if len(f.ch) > broadcastBuffer/2 {
		f.collect()
		f.mu.Lock()
		f.wakeNewest()
		f.mu.Unlock()
	}
	return f.ch
}

// read passes notifications to a sink until stop is closed. It runs on the
// goroutine of its caller.
func (f *broadcastQueue) read(to sink, stop <-chan struct{}) {
	r := &broadcastReader{to: to, wake: make(chan struct{}, 1)}
	f.addReader(r)
	defer f.removeReader(r)
	for {
		ch := f.ch
		if !f.isNewest(r) {
			ch = nil
		}
		select {
		case <-stop:
			return
		case n := <-ch:
			f.enqueue(n)
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

func (f *broadcastQueue) addReader(r *broadcastReader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wakeNewest() // so that it stops reading the queue
	f.readers = append(f.readers, r)
	f.wakeNewest() // for what is pending already
}

func (f *broadcastQueue) removeReader(r *broadcastReader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers = slices.DeleteFunc(f.readers, func(other *broadcastReader) bool { return other == r })
	f.wakeNewest()
}

func (f *broadcastQueue) isNewest(r *broadcastReader) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readers[len(f.readers)-1] == r
}

// wakeNewest wakes the newest reader. f.mu is held.
func (f *broadcastQueue) wakeNewest() {
	if len(f.readers) == 0 {
		return
	}
	select {
	case f.readers[len(f.readers)-1].wake <- struct{}{}:
	default:
	}
}

// collect moves the queue into the coalesced list.
func (f *broadcastQueue) collect() {
	for {
		select {
		case n := <-f.ch:
			f.enqueue(n)
		default:
			return
		}
	}
}

func (f *broadcastQueue) enqueue(n mcp.JSONRPCNotification) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, coalesced := coalesceKey(n)
	if _, ok := f.pendingKeys[key]; coalesced && ok {
		return // an equal one is pending
	}
	if len(f.pending) >= maxBroadcasts {
		if !f.lost {
			f.lost = true
			f.log.Warn("notifications lost: the client does not read", "session", f.client.id, "waiting", len(f.pending))
		}
		return
	}
	if coalesced {
		if f.pendingKeys == nil {
			f.pendingKeys = make(map[string]struct{})
		}
		f.pendingKeys[key] = struct{}{}
	}
	f.pending = append(f.pending, n)
}

// coalesceKey returns the subject of a notification, and whether two with one
// key are equal.
func coalesceKey(n mcp.JSONRPCNotification) (string, bool) {
	if uri, ok := updatedURI(n); ok {
		return n.Method + " " + uri, true
	}
	return n.Method, strings.HasSuffix(n.Method, "/list_changed")
}

// sendOne sends the first pending notification. It reports false if there was
// none or the sink failed; the notification is then kept.
func (f *broadcastQueue) sendOne(to sink) bool {
	f.mu.Lock()
	if len(f.pending) == 0 {
		f.pending, f.lost = nil, false
		f.mu.Unlock()
		return false
	}
	n := f.pending[0]
	f.pending = f.pending[1:]
	if key, coalesced := coalesceKey(n); coalesced {
		delete(f.pendingKeys, key)
	}
	f.mu.Unlock()

	plain, streams := f.client.receivers(n)
	for _, s := range streams {
		s.send(n)
	}
	if plain && to.send(n) != nil {
		f.enqueue(n) // a failed sink ends its reader; the next one sends it
		return false
	}
	return true
}
