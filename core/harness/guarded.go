package harness

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/harness-mcp/harness-mcp/core"
)

// guardedProvider is a provider whose panics are errors: a fault in an adapter ends
// the session that met it, and not the server.
type guardedProvider struct {
	core.Provider
	name string
	log  *slog.Logger
}

func guard(p core.Provider, log *slog.Logger) core.Provider {
	return guardedProvider{p, p.Spec().Name, log}
}

// Status returns what the provider's probe finds.
func (p guardedProvider) Status(ctx context.Context) (s core.Status) {
	defer func() {
		if v := recover(); v != nil {
			s = core.Status{Reason: core.Panicked(p.log, "provider "+p.name, v).Error(), Authenticated: "unknown"}
		}
	}()
	return p.Provider.Status(ctx)
}

// Open opens a conversation.
func (p guardedProvider) Open(ctx context.Context, cfg core.SessionConfig) (conn core.Conn, err error) {
	defer func() {
		if v := recover(); v != nil {
			conn, err = nil, core.Panicked(p.log, "provider "+p.name, v)
		}
	}()
	c, err := p.Provider.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &guardedConn{conn: c, ready: c.Ready(), where: "provider " + p.name, log: p.log}, nil
}

// guardedConn is a conversation whose panics are errors. After one it has to be
// closed; Recv then returns the panic's error.
type guardedConn struct {
	conn  core.Conn
	ready core.Ready
	where string
	log   *slog.Logger
	fault atomic.Pointer[core.PanicError]
}

// catch is deferred: it makes an error of a panic.
func (c *guardedConn) catch(err *error) {
	if v := recover(); v != nil {
		e := core.Panicked(c.log, c.where, v)
		c.fault.CompareAndSwap(nil, e)
		*err = e
	}
}

// Ready returns what the opening found out.
func (c *guardedConn) Ready() core.Ready { return c.ready }

// Send queues an op.
func (c *guardedConn) Send(op core.Op) (err error) {
	defer c.catch(&err)
	return c.conn.Send(op)
}

// Recv returns the next notice.
func (c *guardedConn) Recv(ctx context.Context) (n core.Notice, err error) {
	defer c.catch(&err)
	if n, err = c.conn.Recv(ctx); err == nil {
		return n, nil
	}
	if fault := c.fault.Load(); fault != nil {
		return nil, fault
	}
	return nil, err
}

// Close ends the agent's process tree.
func (c *guardedConn) Close(ctx context.Context) (err error) {
	defer c.catch(&err)
	return c.conn.Close(ctx)
}
