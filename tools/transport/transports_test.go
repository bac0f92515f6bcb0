package transport_test

import (
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// dialer connects a client to a server over some transport.
type dialer func(t testing.TB, srv *server.MCPServer, opts ...transport.Options) *mcptest.Client

// overHTTP puts HTTP and Connect between client and server.
func overHTTP(t testing.TB, srv *server.MCPServer, opts ...transport.Options) *mcptest.Client {
	t.Helper()
	o := transport.HTTPOptions{Options: transport.Options{Log: quiet()}}
	if len(opts) > 0 {
		o.Options = opts[0]
	}
	h := mcptest.ServeHTTP(t, srv, o)
	return mcptest.Connect(t, transport.ConnectOptions{URL: h.URL, Log: quiet()})
}

// onEachTransport runs a test of what all transports promise.
func onEachTransport(t *testing.T, test func(t *testing.T, dial dialer)) {
	t.Run("stdio", func(t *testing.T) { test(t, mcptest.Pipe) })
	t.Run("http", func(t *testing.T) { test(t, overHTTP) })
}

// countingReader is a body without end.
type countingReader struct{ n atomic.Int64 }

func (r *countingReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	r.n.Add(int64(len(p)))
	return len(p), nil
}
