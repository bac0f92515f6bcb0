package mcptest

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// HTTP is a server on a loopback address for the time of a test.
type HTTP struct {
	URL     string
	Handler *transport.Handler

	t    testing.TB
	addr string
	end  func()
}

// ServeHTTP serves srv in this process. At the end of the test it is stopped;
// a ServeHTTP that fails or does not return fails the test.
func ServeHTTP(t testing.TB, srv *server.MCPServer, opts transport.HTTPOptions) *HTTP {
	t.Helper()
	return serveHTTP(t, "127.0.0.1:0", srv, opts)
}

func serveHTTP(t testing.TB, addr string, srv *server.MCPServer, opts transport.HTTPOptions) *HTTP {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	h := &HTTP{
		URL: "http://" + l.Addr().String() + transport.PathMCP, Handler: transport.NewHandler(srv, opts),
		t: t, addr: l.Addr().String(),
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- transport.ServeHTTP(ctx, l, h.Handler) }()
	h.end = func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("ServeHTTP: %v", err)
			}
		case <-time.After(exitWait):
			t.Errorf("ServeHTTP did not return within %v", exitWait)
		}
		h.end = func() {}
	}
	t.Cleanup(func() { h.end() })
	return h
}

// Stop ends the server. It may be called more than once.
func (h *HTTP) Stop() { h.end() }

// Again serves srv at the address where a stopped server was.
func (h *HTTP) Again(srv *server.MCPServer, opts transport.HTTPOptions) *HTTP {
	h.t.Helper()
	return serveHTTP(h.t, h.addr, srv, opts)
}

// Connect returns a client of a server elsewhere. It speaks through
// transport.Connect.
func Connect(t testing.TB, opts transport.ConnectOptions) *Client {
	t.Helper()
	bridgeIn, clientOut := io.Pipe()
	clientIn, bridgeOut := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := transport.Connect(context.Background(), bridgeIn, bridgeOut, opts)
		_ = bridgeOut.Close()
		served <- err
	}()
	c := newClient(t, clientIn, clientOut)
	t.Cleanup(func() {
		_ = c.CloseInput()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("Connect: %v", err)
			}
			<-c.Closed()
		case <-time.After(exitWait):
			t.Errorf("Connect did not return within %v of end of input", exitWait)
		}
	})
	return c
}
