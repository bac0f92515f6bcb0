// Command conformance is the MCP server that the public suites judge: this
// project's own transports with the tools, resources and prompts that the
// suites look for by name (see their README and scenario descriptions).
//
//	conformance                      serves stdio
//	conformance -http 127.0.0.1:3000 serves streamable HTTP at /mcp
//	conformance -http ... -bare      the same with the HTTP server that mcp-go ships, to compare with
//
// Over HTTP it asks for no token, as the suites have none to give; it listens
// on loopback addresses only. Its first line of output is then its URL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/tools/transport"
)

func main() {
	address := flag.String("http", "", "serve streamable HTTP on this loopback address")
	bare := flag.Bool("bare", false, "serve HTTP with the server that mcp-go ships")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *address, *bare); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, address string, bare bool) error {
	srv := newServer()
	if address == "" {
		return transport.ServeStdio(ctx, srv, os.Stdin, os.Stdout, transport.Options{})
	}
	l, err := listen(address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s%s\n", l.Addr(), transport.PathMCP)
	if bare {
		return serveBare(ctx, l, srv)
	}
	return transport.ServeHTTP(ctx, l, newHandler(srv, l))
}

func serveBare(ctx context.Context, l net.Listener, srv *server.MCPServer) error {
	s := &http.Server{Handler: server.NewStreamableHTTPServer(srv, server.WithStateful(true)), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return nil, errors.Join(errors.New("only loopback addresses are served, since no token is asked for"), l.Close())
	}
	return l, nil
}

func newHandler(srv *server.MCPServer, l net.Listener) *transport.Handler {
	return transport.NewHandler(srv, transport.HTTPOptions{Hosts: transport.LoopbackHosts(l.Addr().(*net.TCPAddr))})
}

func newServer() *server.MCPServer {
	srv := server.NewMCPServer("conformance", "1",
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithCompletions(),
		server.WithLogging(),
		server.WithElicitation())
	srv.EnableSampling()
	addContentTools(srv)
	addHeaderTool(srv)
	addCallingTools(srv)
	addInputTools(srv)
	addResources(srv)
	addPrompts(srv)
	return srv
}
