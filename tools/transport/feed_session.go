package transport

import "github.com/mark3labs/mcp-go/mcp"

// The rest of the session interfaces on feed: they speak for the connection.

// SessionID names the connection.
func (f *feed) SessionID() string { return f.client.id }

// Initialize is part of the session interface; requests come under sessions
// of their own, which record the handshake.
func (f *feed) Initialize() { f.client.greet() }

// Initialized reports whether notifications have a way to the client.
func (f *feed) Initialized() bool { return f.client.listens() }

// GetClientInfo returns the name and version the handshake gave.
func (f *feed) GetClientInfo() (info mcp.Implementation) {
	f.client.change(func(known *facts) { info = known.info })
	return info
}

// SetClientInfo records the client's name and version.
func (f *feed) SetClientInfo(info mcp.Implementation) {
	f.client.change(func(known *facts) { known.info = info })
}

// GetClientCapabilities returns what the handshake declared.
func (f *feed) GetClientCapabilities() (caps mcp.ClientCapabilities) {
	f.client.change(func(known *facts) { caps = known.capabilities })
	return caps
}

// SetClientCapabilities records what the client declared.
func (f *feed) SetClientCapabilities(caps mcp.ClientCapabilities) {
	f.client.change(func(known *facts) { known.capabilities = caps })
}

// SetLogLevel sets the least level of log notifications.
func (f *feed) SetLogLevel(level mcp.LoggingLevel) { f.client.setLogLevel(level) }

// GetLogLevel returns the least level of log notifications.
func (f *feed) GetLogLevel() mcp.LoggingLevel { return f.client.getLogLevel() }

// SubscribeToResource records a subscription of the client.
func (f *feed) SubscribeToResource(uri string) { _ = f.client.subscribe(uri) }

// UnsubscribeFromResource removes a subscription of the client.
func (f *feed) UnsubscribeFromResource(uri string) { f.client.unsubscribe(uri) }

// SubscribedResources returns the resources the client subscribed to.
func (f *feed) SubscribedResources() []string { return f.client.subscribed() }

// IsSubscribedToResource reports whether the client subscribed to a resource.
func (f *feed) IsSubscribedToResource(uri string) bool { return f.client.isSubscribed(uri) }
