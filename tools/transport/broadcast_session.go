package transport

import "github.com/mark3labs/mcp-go/mcp"

// The rest of the session interfaces of broadcastQueue: the state of the
// connection.

// SessionID returns the id of the connection.
func (f *broadcastQueue) SessionID() string { return f.client.id }

// Initialize is part of the session interface. Requests have sessions of their
// own, which record the handshake.
func (f *broadcastQueue) Initialize() { f.client.setInitialized() }

// Initialized reports whether the client can receive notifications that belong
// to no call.
func (f *broadcastQueue) Initialized() bool { return f.client.canReceive() }

// GetClientInfo returns the name and version from the handshake.
func (f *broadcastQueue) GetClientInfo() (info mcp.Implementation) {
	f.client.withFacts(func(known *clientFacts) { info = known.info })
	return info
}

// SetClientInfo records the client's name and version.
func (f *broadcastQueue) SetClientInfo(info mcp.Implementation) {
	f.client.withFacts(func(known *clientFacts) { known.info = info })
}

// GetClientCapabilities returns the capabilities from the handshake.
func (f *broadcastQueue) GetClientCapabilities() (caps mcp.ClientCapabilities) {
	f.client.withFacts(func(known *clientFacts) { caps = known.capabilities })
	return caps
}

// SetClientCapabilities records what the client declared.
func (f *broadcastQueue) SetClientCapabilities(caps mcp.ClientCapabilities) {
	f.client.withFacts(func(known *clientFacts) { known.capabilities = caps })
}

// SetLogLevel sets the least level of log notifications.
func (f *broadcastQueue) SetLogLevel(level mcp.LoggingLevel) { f.client.setLogLevel(level) }

// GetLogLevel returns the least level of log notifications.
func (f *broadcastQueue) GetLogLevel() mcp.LoggingLevel { return f.client.getLogLevel() }

// SubscribeToResource records a subscription of the client.
func (f *broadcastQueue) SubscribeToResource(uri string) { _ = f.client.subscribe(uri) }

// UnsubscribeFromResource removes a subscription of the client.
func (f *broadcastQueue) UnsubscribeFromResource(uri string) { f.client.unsubscribe(uri) }

// SubscribedResources returns the resources the client subscribed to.
func (f *broadcastQueue) SubscribedResources() []string { return f.client.subscribed() }

// IsSubscribedToResource reports whether the client subscribed to a resource.
func (f *broadcastQueue) IsSubscribedToResource(uri string) bool { return f.client.isSubscribed(uri) }
