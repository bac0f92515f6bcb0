package transport

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// ServeHTTP serves MCP on a listener until ctx ends, and closes it. The calls
// in flight then have Options.Grace; the whole end takes at most that and two
// seconds. It returns nil after the end of ctx, else the listener's error.
//
// Clients that connect and send nothing, or send slowly, do not delay others: a
// connection without a request may be closed for a new one, the oldest first.
func ServeHTTP(ctx context.Context, l net.Listener, h *Handler) error {
	conns := newConnections()
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout, // streams extend it with every write
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         conns.changed,
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		h.Close()
		return fmt.Errorf("accept connections: %w", err)
	case <-ctx.Done():
	}
	h.Close()
	ending, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(ending); err != nil {
		_ = srv.Close() // a client does not read its last response
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("accept connections: %w", err)
	}
	return nil
}

// connections bounds how many connections are open, and how many of those
// have no request.
type connections struct {
	mu   sync.Mutex
	all  map[net.Conn]*list.Element // nil while a request is served
	idle *list.List                 // of net.Conn, the oldest first
}

func newConnections() *connections {
	return &connections{all: make(map[net.Conn]*list.Element), idle: list.New()}
}

// changed is the server's ConnState hook.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	var surplus net.Conn
	c.mu.Lock()
	if e := c.all[conn]; e != nil {
		c.idle.Remove(e)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.all[conn] = c.idle.PushBack(conn)
		if c.idle.Len() > maxIdleConns {
			surplus = c.idle.Remove(c.idle.Front()).(net.Conn)
			c.all[surplus] = nil // until it is reported closed
		} else if len(c.all) > maxConns {
			surplus = conn
		}
	case http.StateActive:
		c.all[conn] = nil
	default:
		delete(c.all, conn)
	}
	c.mu.Unlock()
	if surplus != nil {
		closeNow(surplus)
	}
}

// closeNow closes a connection without TLS close_notify, which could block.
// net/http notices and reports it closed.
func closeNow(conn net.Conn) {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = wrapped.NetConn()
	}
	_ = conn.Close()
}
