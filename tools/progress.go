package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
	"github.com/mark3labs/mcp-go/server"
)

// progress sends progress notifications of one call: at most one a second and
// at least one in ten. All methods may be called concurrently; without a token
// they do nothing. startProgress starts its one goroutine, end stops it.
type progress struct {
	mu      sync.Mutex // guards message
	message string

	stop chan struct{}
	done chan struct{}
}

// startProgress starts to send progress under token. The caller must call end.
func startProgress(ctx context.Context, token any, first string) *progress {
	p := &progress{message: first}
	srv := server.ServerFromContext(ctx)
	if token == nil || srv == nil {
		return p
	}
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	send := func(seconds int, message string) {
		// An error is ignored: every fact of a progress message is in the
		// reply too.
		_ = srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": token, "progress": seconds, "message": message,
		})
	}
	go p.run(send)
	return p
}

// run is the one goroutine of a progress. It ends with stop.
func (p *progress) run(send func(seconds int, message string)) {
	defer close(p.done)
	ticker := time.NewTicker(progressTick)
	defer ticker.Stop()
	start := time.Now()
	sent, sentAt := "", time.Time{}
	last := 0
	for {
		select {
		case <-p.stop:
			return
		case now := <-ticker.C:
			message := p.current()
			seconds := int(now.Sub(start) / time.Second)
			if seconds <= last || message == sent && now.Sub(sentAt) < progressSilence {
				continue
			}
			send(seconds, message)
			sent, sentAt, last = message, now, seconds
		}
	}
}

func (p *progress) current() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.message
}

// set sets the message of the next notification.
func (p *progress) set(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.message = clip(redact.Plain(message), maxProgressMessage)
}

// end stops sending. No notification is sent after it has returned.
func (p *progress) end() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	<-p.done
}

// reportProgress sets the progress message to the state of awaited resources.
func (c *call) reportProgress(rs []core.Resource) {
	c.now = time.Now()
	done := 0
	var busy []string
	for _, r := range rs {
		if r.Done() {
			done++
			continue
		}
		busy = append(busy, c.compact(r).String())
	}
	message := strings.Join(busy, " | ")
	if len(rs) > 1 {
		message = fmt.Sprintf("%d of %d done; %s", done, len(rs), message)
	}
	c.progress.set(message)
}
