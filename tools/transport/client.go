package transport

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// client is the state of the client of a connection. It is safe for concurrent
// use.
type client struct {
	id       string
	requests *clientRequests

	mu          sync.Mutex
	facts       clientFacts
	initialized bool // by the initialize handshake
	version     string
	logLevel    mcp.LoggingLevel
	uris        map[string]struct{} // resources/subscribe
	streams     map[*stream]struct{}
}

// clientFacts is what a client declares about itself: once in the handshake, or
// with every request from 2026-07-28 on.
type clientFacts struct {
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
	return &client{id: id, requests: newClientRequests()}
}

func (c *client) setInitialized() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.initialized = true
}

func (c *client) isInitialized() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.initialized
}

// canReceive reports whether the client can receive notifications that belong
// to no call.
func (c *client) canReceive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.initialized || len(c.streams) > 0
}

func (c *client) openStream(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams == nil {
		c.streams = make(map[*stream]struct{})
	}
	c.streams[s] = struct{}{}
}

// closeStream ends a stream. Nothing is sent on it after closeStream has
// returned.
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

// subscribe records that the client wants updates of a resource. It fails above
// maxURIs subscriptions, and for a URI of maxURI bytes or more.
func (c *client) subscribe(uri string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.uris[uri]; !known && len(c.uris) >= maxURIs {
		return fmt.Errorf("there are %d subscriptions: unsubscribe from one first", maxURIs)
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

// receivers returns whether the client itself receives a notification that
// belongs to no call, and the streams that do.
func (c *client) receivers(n mcp.JSONRPCNotification) (plain bool, streams []*stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	uri, isUpdate := updatedURI(n)
	plain = c.initialized
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

// tagged marks a notification with the id of the stream.
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

func (c *client) withFacts(f func(*clientFacts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.facts)
}

func (c *client) setLogLevel(level mcp.LoggingLevel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logLevel = level
}

func (c *client) getLogLevel() mcp.LoggingLevel {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logLevel == "" {
		return mcp.LoggingLevelError
	}
	return c.logLevel
}
