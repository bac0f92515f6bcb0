// Package mcptest is an MCP client for tests. It works on the raw JSON lines
// of a connection and so sees exactly what a client sees, in the order it
// sees it: every message gets an arrival number, and a call's result shows
// which progress came before and which after it.
//
// Start runs a server program; Pipe serves a server of this process. Both end
// with the test.
package mcptest
