package e2e

import (
	"context"
	"encoding/json"
)

// Subscribe subscribes to resources, by the protocol of the SDK's revision.
func (c *Client) Subscribe(ctx context.Context, uris ...string) error {
	return c.do(ctx, "subscribe", map[string]any{"uris": uris}, nil)
}

// AwaitUpdates waits until the client has received that many updates of a resource.
func (c *Client) AwaitUpdates(ctx context.Context, uri string, times int) error {
	return c.await(ctx, func() bool { return c.updates(uri) >= times })
}

// Updates returns how many updates of a resource the client has received.
func (c *Client) Updates(uri string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.updates(uri)
}

// updates is Updates; c.mu is held.
func (c *Client) updates(uri string) int {
	n := 0
	for _, note := range c.notes {
		var p struct {
			URI string `json:"uri"`
		}
		if note.Method == "notifications/resources/updated" && json.Unmarshal(note.Params, &p) == nil && p.URI == uri {
			n++
		}
	}
	return n
}
