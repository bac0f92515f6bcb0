package transport

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// slowSink takes messages only once it is opened.
type slowSink struct {
	open chan struct{}

	mu   sync.Mutex
	sent []string
}

func (s *slowSink) send(message any) error {
	<-s.open
	b, err := json.Marshal(message)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, string(b))
	return err
}

func TestBroadcastsToAClientThatDoesNotReadAreCoalescedAndNoneIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := server.NewMCPServer("test", "1")
		c := newClient("slow")
		c.setInitialized()
		sink := &slowSink{open: make(chan struct{})}
		f := newBroadcastQueue(c, slog.Default())
		end := f.start(sink)
		if err := srv.RegisterSession(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		const resources, rounds = 100, 100
		for i := range resources {
			c.subscribe(fmt.Sprintf("x://%d", i))
		}
		for range rounds {
			for i := range resources {
				srv.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": fmt.Sprintf("x://%d", i)})
			}
		}
		close(sink.open)
		synctest.Wait()
		end()

		seen := make(map[string]int)
		for _, m := range sink.sent {
			seen[m]++
		}
		if len(seen) != resources {
			t.Errorf("updates of %d resources, want %d", len(seen), resources)
		}
		// One may have been on its way to the sink, and one of each queue.
		if len(sink.sent) > 2*resources+broadcastBuffer {
			t.Errorf("%d notifications for %d resources are not coalesced", len(sink.sent), resources)
		}
	})
}

func TestPendingBroadcastsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c := newClient("slow")
		c.setInitialized()
		sink := &slowSink{open: make(chan struct{})}
		f := newBroadcastQueue(c, slog.New(slog.NewTextHandler(&log, nil)))
		end := f.start(sink)
		for i := range 10 * maxBroadcasts {
			f.NotificationChannel() <- newNotification("custom", map[string]any{"n": i})
		}
		close(sink.open)
		synctest.Wait()
		end()
		if got := len(sink.sent); got < maxBroadcasts || got > maxBroadcasts+broadcastBuffer+1 {
			t.Errorf("%d notifications kept, want about %d", got, maxBroadcasts)
		}
		if got := strings.Count(log.String(), "notifications lost"); got != 1 {
			t.Errorf("the loss was logged %d times:\n%s", got, log.String())
		}
	})
}
