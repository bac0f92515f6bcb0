package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// requestSession shows one request to mcp-go and to handlers as their session. Its
// notifications belong to the request, and what it says of the client is what
// holds for the request: the handshake's facts, or the request's own from
// 2026-07-28 on.
type requestSession struct {
	ctx           context.Context
	client        *client
	to            sink
	id            json.RawMessage
	modern        bool
	notifications callNotifications

	mu     sync.Mutex
	facts  clientFacts
	stream *stream // of a subscriptions/listen, from its filter to its end
}

var (
	_ server.ClientSession                       = (*requestSession)(nil)
	_ server.SessionWithClientInfo               = (*requestSession)(nil)
	_ server.SessionWithLogging                  = (*requestSession)(nil)
	_ server.SessionWithElicitation              = (*requestSession)(nil)
	_ server.SessionWithSampling                 = (*requestSession)(nil)
	_ server.SessionWithRoots                    = (*requestSession)(nil)
	_ server.SessionWithProtocolVersion          = (*requestSession)(nil)
	_ server.SessionWithResourceSubscriptionsErr = (*requestSession)(nil)
	_ server.SessionWithSubscriptionFilter       = (*requestSession)(nil)
)

func newRequestSession(ctx context.Context, c *client, to sink, e *envelope) *requestSession {
	s := &requestSession{ctx: ctx, client: c, to: to, id: e.ID, modern: e.modern()}
	s.notifications.to = s.notify
	return s
}

// close sends what is queued; nothing of the request follows.
func (s *requestSession) close() { s.notifications.close() }

// notify writes one notification of the request.
func (s *requestSession) notify(n mcp.JSONRPCNotification) {
	s.mu.Lock()
	stream := s.stream
	s.mu.Unlock()
	switch {
	case stream == nil:
		_ = s.to.send(n) // a failed write ends the connection
	case n.Method == mcp.MethodNotificationSubscriptionsAcknowledged:
		s.acknowledge(stream, n)
	default:
		stream.send(n)
	}
}

// acknowledge opens a stream. It is the first message on it: the feed finds
// the stream before the client knows, so that the client misses nothing, but
// waits for this message.
func (s *requestSession) acknowledge(stream *stream, n mcp.JSONRPCNotification) {
	stream.mu.Lock()
	defer stream.mu.Unlock()
	s.mu.Lock()
	if s.stream == stream { // it may have ended already
		s.client.openStream(stream)
	}
	s.mu.Unlock()
	_ = s.to.send(stream.tagged(n))
}

// SessionID names the connection: it is the same for all its requests.
func (s *requestSession) SessionID() string { return s.client.id }

// NotificationChannel returns the queue of the request's notifications. It
// waits while the queue is full, at most until the request's context ends; a
// stream, which others feed, does not wait.
func (s *requestSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	s.mu.Lock()
	patient := s.stream == nil
	s.mu.Unlock()
	return s.notifications.channel(s.ctx, patient)
}

// Initialize is called by the handshake, and by every modern request for
// itself alone.
func (s *requestSession) Initialize() {
	if !s.modern {
		s.client.setInitialized()
	}
}

// Initialized reports whether the request may send notifications.
func (s *requestSession) Initialized() bool { return s.modern || s.client.isInitialized() }

// ProtocolVersion returns what the handshake agreed on. Modern requests carry
// their own: server.RequestProtocolVersion knows both.
func (s *requestSession) ProtocolVersion() string {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	return s.client.version
}

// SetProtocolVersion records what the handshake agreed on.
func (s *requestSession) SetProtocolVersion(version string) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	s.client.version = version
}

// change applies to the facts that hold for this request. Those of a modern
// request do not outlive it: capabilities must not be inferred from earlier
// requests.
func (s *requestSession) withFacts(f func(*clientFacts)) {
	if s.modern {
		s.mu.Lock()
		defer s.mu.Unlock()
		f(&s.facts)
		return
	}
	s.client.withFacts(f)
}

// GetClientInfo returns the client's name and version, empty if unknown.
func (s *requestSession) GetClientInfo() (info mcp.Implementation) {
	s.withFacts(func(f *clientFacts) { info = f.info })
	return info
}

// SetClientInfo records the client's name and version.
func (s *requestSession) SetClientInfo(info mcp.Implementation) {
	s.withFacts(func(f *clientFacts) { f.info = info })
}

// GetClientCapabilities returns what the client declared.
func (s *requestSession) GetClientCapabilities() (caps mcp.ClientCapabilities) {
	s.withFacts(func(f *clientFacts) { caps = f.capabilities })
	return caps
}

// SetClientCapabilities records what the client declared.
func (s *requestSession) SetClientCapabilities(caps mcp.ClientCapabilities) {
	s.withFacts(func(f *clientFacts) { f.capabilities = caps })
}

// SetLogLevel sets the least level of log notifications.
func (s *requestSession) SetLogLevel(level mcp.LoggingLevel) { s.client.setLogLevel(level) }

// GetLogLevel returns the least level of log notifications.
func (s *requestSession) GetLogLevel() mcp.LoggingLevel { return s.client.getLogLevel() }

// RequestElicitation asks the user through the client, as revisions before
// 2026-07-28 do. It waits for the answer, the end of ctx or of the client.
func (s *requestSession) RequestElicitation(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	result := new(mcp.ElicitationResult)
	if err := s.client.requests.request(ctx, s.to, mcp.MethodElicitationCreate, request.Params, result); err != nil {
		return nil, err
	}
	return result, nil
}

// RequestSampling asks the client's model, as RequestElicitation asks its
// user.
func (s *requestSession) RequestSampling(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	result := new(mcp.CreateMessageResult)
	if err := s.client.requests.request(ctx, s.to, mcp.MethodSamplingCreateMessage, request.CreateMessageParams, result); err != nil {
		return nil, err
	}
	content, err := mcp.ParseSamplingContent(result.Content)
	if err != nil {
		return nil, fmt.Errorf("sampling: the client's answer is malformed: %w", err)
	}
	result.Content = content
	return result, nil
}

// ListRoots asks the client for its roots.
func (s *requestSession) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	result := new(mcp.ListRootsResult)
	if err := s.client.requests.request(ctx, s.to, mcp.MethodListRoots, struct{}{}, result); err != nil {
		return nil, err
	}
	return result, nil
}

// SubscribeToResource is SubscribeToResourceErr for who cannot be told.
func (s *requestSession) SubscribeToResource(uri string) { _ = s.SubscribeToResourceErr(uri) }

// SubscribeToResourceErr records that the client, or the stream this request
// opens, wants to hear of changes of a resource.
func (s *requestSession) SubscribeToResourceErr(uri string) error {
	if s.modern {
		return nil // a stream's resources are in its filter
	}
	return s.client.subscribe(uri)
}

// UnsubscribeFromResource undoes SubscribeToResource.
func (s *requestSession) UnsubscribeFromResource(uri string) {
	if !s.modern {
		s.client.unsubscribe(uri)
	}
}

// SubscribedResources returns the resources the client subscribed to.
func (s *requestSession) SubscribedResources() []string {
	if filter, ok := s.SubscriptionFilter(); ok {
		return append([]string(nil), filter.ResourceSubscriptions...)
	}
	return s.client.subscribed()
}

// IsSubscribedToResource reports whether the client subscribed to a resource.
func (s *requestSession) IsSubscribedToResource(uri string) bool {
	s.mu.Lock()
	stream := s.stream
	s.mu.Unlock()
	if stream != nil {
		_, ok := stream.uris[uri]
		return ok
	}
	return s.client.isSubscribed(uri)
}

// SetSubscriptionFilter prepares the stream a subscriptions/listen opens; the
// zero filter ends it.
func (s *requestSession) SetSubscriptionFilter(filter mcp.SubscriptionFilter) {
	var next *stream
	if !filter.IsEmpty() {
		next = &stream{id: s.id, filter: filter, uris: make(map[string]struct{}), to: s.to}
		for _, uri := range filter.ResourceSubscriptions {
			next.uris[uri] = struct{}{}
		}
	}
	s.mu.Lock()
	ended := s.stream
	s.stream = next
	s.mu.Unlock()
	if ended != nil {
		s.client.closeStream(ended)
	}
}

// SubscriptionFilter returns the filter of the stream this request opened.
func (s *requestSession) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == nil {
		return mcp.SubscriptionFilter{}, false
	}
	return s.stream.filter, true
}
