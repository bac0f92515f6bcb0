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

// progress tells the client of one call how its work goes on. It sends at most
// one notification a second and at least one in ten. All methods may be called
// concurrently; without a token they do nothing.
type progress struct {
	mu      sync.Mutex // guards message
	message string

	stop chan struct{}
	done chan struct{}
}

// startProgress begins to report under token. Whoever calls it must call end.
func startProgress(ctx context.Context, token any, first string) *progress {
	p := &progress{message: first}
	srv := server.ServerFromContext(ctx)
	if token == nil || srv == nil {
		return p
	}
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	send := func(seconds int, message string) {
		// A client that has gone or does not listen misses nothing: every fact
		// of a progress message is in the reply too.
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
	said, saidAt := "", time.Time{}
	last := 0
	for {
		select {
		case <-p.stop:
			return
		case now := <-ticker.C:
			message := p.current()
			seconds := int(now.Sub(start) / time.Second)
			if seconds <= last || message == said && now.Sub(saidAt) < progressSilence {
				continue
			}
			send(seconds, message)
			said, saidAt, last = message, now, seconds
		}
	}
}

func (p *progress) current() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.message
}

// say sets the message that the next notification carries.
func (p *progress) set(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.message = clip(redact.Plain(message), maxProgressMessage)
}

// end stops reporting. No notification is sent once it has returned.
func (p *progress) end() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	<-p.done
}

// reportProgress makes a progress message of where awaited resources stand.
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
