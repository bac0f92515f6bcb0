package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// requestSession is the session that mcp-go and handlers see for one request.
// Its notifications belong to the request, and the client's facts are those
// that hold for the request: of the handshake or, from 2026-07-28 on, of the
// request itself.
type requestSession struct {
	ctx           context.Context
	client        *client
	to            sink
	id            json.RawMessage
	modern        bool
	notifications callNotifications

	mu      sync.Mutex
	facts   clientFacts
	refused map[string]error // by URI, of subscriptions
	stream  *stream          // of a subscriptions/listen, from its filter to its end
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

// acknowledge opens a stream with its first message. The broadcastQueue finds
// the stream before the client has the message, so that no notification is
// missed, but cannot send before it, since stream.mu is held.
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

// SessionID returns the id of the connection: it is the same for all its
// requests.
func (s *requestSession) SessionID() string { return s.client.id }

// NotificationChannel returns the queue of the request's notifications. It
// waits while the queue is full, at most until the request's context ends. For
// a stream, to which others send, it does not wait.
func (s *requestSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	s.mu.Lock()
	patient := s.stream == nil
	s.mu.Unlock()
	return s.notifications.channel(s.ctx, patient)
}

// Initialize is called by the handshake, and by every modern request for itself
// only.
func (s *requestSession) Initialize() {
	if !s.modern {
		s.client.setInitialized()
	}
}

// Initialized reports whether the request may send notifications.
func (s *requestSession) Initialized() bool { return s.modern || s.client.isInitialized() }

// ProtocolVersion returns the version of the handshake. Modern requests carry
// their own: server.RequestProtocolVersion returns either.
func (s *requestSession) ProtocolVersion() string {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	return s.client.version
}

// SetProtocolVersion records the version of the handshake.
func (s *requestSession) SetProtocolVersion(version string) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	s.client.version = version
}

// withFacts calls f with the facts that hold for this request. Those of a
// modern request do not outlive it: capabilities must not be inferred from
// earlier requests.
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
// 2026-07-28 do. It waits for the response, or for the end of ctx or of the
// client.
func (s *requestSession) RequestElicitation(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	result := new(mcp.ElicitationResult)
	if err := s.client.requests.request(ctx, s.to, mcp.MethodElicitationCreate, request.Params, result); err != nil {
		return nil, err
	}
	return result, nil
}

// RequestSampling asks the client's model, in the same way as
// RequestElicitation.
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

// SubscribeToResource is SubscribeToResourceErr without the error.
func (s *requestSession) SubscribeToResource(uri string) { _ = s.SubscribeToResourceErr(uri) }

// RefuseSubscription makes SubscribeToResourceErr return err for a resource. A
// hook that runs before a subscription has no other way to refuse it.
func (s *requestSession) RefuseSubscription(uri string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil {
		s.refused = make(map[string]error)
	}
	s.refused[uri] = err
}

func (s *requestSession) refusal(uri string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[uri]
}

// SubscribeToResourceErr records that the client wants updates of a resource.
func (s *requestSession) SubscribeToResourceErr(uri string) error {
	if err := s.refusal(uri); err != nil {
		return err
	}
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

// SetSubscriptionFilter prepares the stream that a subscriptions/listen opens.
// The zero filter ends it.
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
