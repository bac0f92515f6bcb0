// Package transport carries MCP between a client and a server.MCPServer. It
// knows MCP and is independent of the tools.
//
// mcp-go supplies the registry, the schemas and both protocol eras behind one
// method, HandleMessage: a message goes in, its response comes out. This
// package is everything around that method: how messages are read, how many
// calls run at once, in which order their notifications and responses are
// written, how a call is cancelled and how a connection ends. It guarantees:
//
//   - Every call has a goroutine of its own, at most Options.MaxCalls at a
//     time; the others wait. Calls of control tools (answering,
//     interrupting, closing) and everything that is not a tool call never
//     wait, so a client whose calls all block can still control them.
//   - A call can be cancelled from the moment its request was read, also
//     while it waits, and over HTTP also by a cancellation that
//     overtakes it. A call its client cancelled is not answered.
//   - A call's notifications are written before its response and never after
//     it. None is dropped: a producer that is faster than the client waits.
//   - Notifications that belong to no call (a list or a resource changed) are
//     hints to read again, not data: pending ones are coalesced, one per
//     resource.
//   - At end of input the calls in flight have a grace to finish.
//   - No message of the client and no panic of a handler ends the server.
//
// Both eras are served. Up to 2025-11-25 a connection begins with one
// initialize; from 2026-07-28 on every request carries version and
// capabilities, and notifications go only to subscriptions/listen streams. Handlers see
// either through the session interfaces of mcp-go: what they read from their
// session are the facts of the request they serve.
//
// The parts: envelope.go decodes what routing needs of a message; calls.go is
// the table of calls in flight with its limits; request_session.go is the
// session that mcp-go sees for a request; call_notifications.go orders a call's
// notifications; broadcast.go sends those that belong to no call;
// client_requests.go sends requests to the client; dispatch.go serves one
// message with all of these. They are independent of the transport. There are
// three transports:
//
//   - stdio.go serves a pair of streams, with serve_lines.go and lines.go.
//   - http_handler.go serves many clients over HTTP: http_admission.go and
//     tokens.go check a request and find its principal (principal.go), then
//     http_legacy.go serves it in a session (http_session.go, early_cancel.go) or
//     http_modern.go without one, http_call.go runs it and http_response.go is
//     its response. http_server.go bounds connections.
//   - connect*.go connects a pair of streams to such a server elsewhere.
package transport
