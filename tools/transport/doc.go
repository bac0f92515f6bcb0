// Package transport carries MCP between a client and a server.MCPServer. It
// knows MCP and nothing of what the tools do.
//
// mcp-go supplies the registry, the schemas and both protocol eras behind one
// method, HandleMessage: a message goes in, its response comes out. What lies
// around that method is this package: how messages are read, how many calls
// run at once, in which order their notifications and responses leave, how a
// call is cancelled and how a connection ends. The promises:
//
//   - Every call has a goroutine of its own, at most Options.MaxCalls at a
//     time; the others wait their turn. Calls of control tools (answering,
//     interrupting, closing) and everything that is not a tool call never
//     wait, so a client whose calls all block can still act on them.
//   - A call can be cancelled from the moment its request was read, also
//     while it waits its turn, and over HTTP also by a cancellation that
//     overtakes it. A call its client cancelled is not answered.
//   - A call's notifications are written before its response and never after
//     it. None is dropped: a producer that is faster than the client waits.
//   - Notifications that belong to no call (a list or a resource changed) are
//     facts to read on from, not data: those the client has not yet taken are
//     coalesced, one a resource.
//   - At end of input the calls in flight have a grace to finish.
//   - No message of the client and no panic of a handler ends the server.
//
// Both eras meet here. Up to 2025-11-25 a connection is introduced once, by
// initialize; from 2026-07-28 on every request introduces itself and
// notifications flow only into subscriptions/listen streams. Handlers see
// either through the session interfaces of mcp-go: what they read from their
// session are the facts of the request they serve.
//
// The parts: envelope.go reads of a message what routing needs; calls.go is
// the table of calls in flight with its limits; session.go shows a call to
// mcp-go as a session; notices.go orders a call's notifications; feed.go
// carries those that belong to no call; asks.go sends requests to the client;
// host.go serves one message with all of these. None of them knows where
// messages come from. Three doors do:
//
//   - stdio.go joins it all over a pair of streams, with lines.go.
//   - handler.go is the door for many, over HTTP: guard.go and tokens.go let a
//     request in, on behalf of a principal (principal.go), then http_legacy.go
//     serves it in a session (http_session.go, early.go) or http_modern.go by
//     itself, and answer.go is its response. http_server.go bounds connections.
//   - connect*.go puts a pair of streams in front of such a server elsewhere.
package transport
