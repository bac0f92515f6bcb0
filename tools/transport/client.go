package transport

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// client is what a connection remembers of the client at its other end. It is
// safe for concurrent use.
type client struct {
	id   string
	asks *asks

	mu       sync.Mutex
	facts    facts
	greeted  bool // by the initialize handshake
	version  string
	logLevel mcp.LoggingLevel
	uris     map[string]struct{} // resources/subscribe
	streams  map[*stream]struct{}
}

// facts are what a client says of itself: once in the handshake, or with
// every request from 2026-07-28 on.
type facts struct {
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
}

// stream is an open and acknowledged subscriptions/listen.
type stream struct {
	id     json.RawMessage
	filter mcp.SubscriptionFilter
	uris   map[string]struct{}
	to     sink

	mu    sync.Mutex // held while sending, so that nothing follows the end
	ended bool
}

func newClient(id string) *client {
	return &client{id: id, asks: newAsks()}
}

func (c *client) greet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.greeted = true
}

func (c *client) isGreeted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.greeted
}

// listens reports whether notifications of no call have a way to the client.
func (c *client) listens() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.greeted || len(c.streams) > 0
}

func (c *client) openStream(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams == nil {
		c.streams = make(map[*stream]struct{})
	}
	c.streams[s] = struct{}{}
}

// closeStream ends a stream. When it returns nothing is sent on it any more.
func (c *client) closeStream(s *stream) {
	c.mu.Lock()
	delete(c.streams, s)
	c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

func (s *stream) send(n mcp.JSONRPCNotification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		_ = s.to.send(s.tagged(n)) // a failed write ends the connection
	}
}

// subscribe notes that the client wants to hear of a resource. It fails when
// that is more than is kept of one client.
func (c *client) subscribe(uri string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.uris[uri]; !known && len(c.uris) >= maxURIs {
		return fmt.Errorf("there are %d subscriptions: give one up first", maxURIs)
	}
	if len(uri) >= maxURI {
		return fmt.Errorf("a subscription's URI must be shorter than %d bytes", maxURI)
	}
	if c.uris == nil {
		c.uris = make(map[string]struct{})
	}
	c.uris[uri] = struct{}{}
	return nil
}

func (c *client) unsubscribe(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.uris, uri)
}

func (c *client) subscribed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.uris))
}

func (c *client) isSubscribed(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.uris[uri]
	return ok
}

// wanting returns whether the client as such wants a notification of no call,
// and the streams that do.
func (c *client) wanting(n mcp.JSONRPCNotification) (plain bool, streams []*stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	uri, isUpdate := updatedURI(n)
	plain = c.greeted
	if isUpdate {
		_, subscribed := c.uris[uri]
		plain = plain && subscribed
	}
	for s := range c.streams {
		if s.wants(n.Method, uri) {
			streams = append(streams, s)
		}
	}
	return plain, streams
}

func (s *stream) wants(method, uri string) bool {
	switch method {
	case mcp.MethodNotificationToolsListChanged:
		return s.filter.ToolsListChanged
	case mcp.MethodNotificationPromptsListChanged:
		return s.filter.PromptsListChanged
	case mcp.MethodNotificationResourcesListChanged:
		return s.filter.ResourcesListChanged
	case mcp.MethodNotificationResourceUpdated:
		_, ok := s.uris[uri]
		return ok
	}
	return false // everything on a stream is opt-in
}

// tagged marks a notification as belonging to a stream.
func (s *stream) tagged(n mcp.JSONRPCNotification) mcp.JSONRPCNotification {
	if _, ok := n.Params.Meta[mcp.MetaKeySubscriptionID]; ok {
		return n
	}
	meta := make(map[string]any, len(n.Params.Meta)+1)
	maps.Copy(meta, n.Params.Meta)
	meta[mcp.MetaKeySubscriptionID] = s.id
	n.Params.Meta = meta
	return n
}

func updatedURI(n mcp.JSONRPCNotification) (uri string, ok bool) {
	if n.Method != mcp.MethodNotificationResourceUpdated {
		return "", false
	}
	uri, _ = n.Params.AdditionalFields["uri"].(string)
	return uri, true
}
