package harness

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// open runs Provider.Open in a goroutine. Its outcome is always reported, also a
// late one.
func (a *actor) open(e machine.Open) {
	ctx, cancel := context.WithTimeout(a.host.ctx, e.Config.Timeouts.Startup)
	a.opens[e.Epoch] = cancel
	a.redactor = a.host.redactor(e.Config)
	red := a.redactor
	a.wg.Go(func() {
		defer cancel()
		conn, err := a.prov.Open(ctx, e.Config)
		in := machine.Opened{Epoch: e.Epoch}
		switch {
		case err == nil:
			in.Ready = conn.Ready()
			in.Ready.Warnings = red.Strings(in.Ready.Warnings)
			in.Ready = boundReady(in.Ready)
		case ctx.Err() != nil && core.IsContext(err):
			in.Err = core.Errorf(core.CodeStartTimeout, "the provider was not ready within %s", e.Config.Timeouts.Startup).
				WithHint("Try again with a larger startup_timeout_ms.").Retry()
		default:
			in.Err = boundError(red.Error(startError(err)))
		}
		if !a.inbox.post(report{in: in, conn: conn}) && conn != nil {
			_ = closeConn(a.host.ctx, conn, 0)
		}
	})
}

// startError returns the error of a failed opening with a code that start
// documents.
func startError(err error) *core.Error {
	var e *core.Error
	if errors.As(err, &e) {
		return e
	}
	return core.Errorf(core.CodeStartFailed, "the provider could not be started: %w", err).
		WithHint("list_providers with refresh shows what is wrong; the server's log has more.")
}

// sendWatched looks at the workspace and then sends a turn, in a goroutine of its
// own. Nothing else is sent for the turn before the agent has accepted it, so the
// order of ops is kept.
func (a *actor) sendWatched(op core.StartTurn, conn core.Conn) {
	epoch, dir := a.state.Epoch, a.state.Base.Config.CWD
	a.wg.Go(func() {
		if err := a.work.begin(a.host.ctx, a.host.work, op.TurnID, dir); err != nil {
			a.log().Debug("looking at the workspace before a turn", "err", err)
		}
		switch err := conn.Send(op); {
		case err == nil:
		case faulted(err): // its loss is the outcome
			_ = closeConn(a.host.ctx, conn, 0)
		default:
			a.inbox.post(report{in: machine.Notice{Epoch: epoch, Notice: core.OpDone{Op: op.ID,
				Err: core.Errorf(core.CodeSessionUnavailable, "the provider could not be told: %w", err)}}})
		}
	})
}

// observed adds to the end of a turn the changes that the workspace shows.
func (a *actor) observed(n core.Notice) core.Notice {
	end, ok := n.(core.TurnEnded)
	if !ok || a.host.work == nil {
		return n
	}
	files, looked, err := a.work.end(a.host.ctx, end.Turn)
	if err != nil {
		a.log().Debug("looking at the workspace after a turn", "err", err)
	}
	end.Result.Observed = core.Observed{Looked: looked, Files: files}
	return end
}

// read starts the goroutine that pulls notices from the open conversation.
func (a *actor) read() {
	epoch, conn, red := a.state.Epoch, a.conns.of(a.state.Epoch), a.red()
	a.reading = epoch
	a.conn.Store(&conn)
	a.wg.Go(func() { a.pull(epoch, conn, red) })
}

// pull hands the notices of one conversation to the loop until it ends, redacted
// and in order. It is the only reader of the conversation; a full inbox stops
// it, and with it the agent.
func (a *actor) pull(epoch uint64, conn core.Conn, red *redact.Redactor) {
	defer func() {
		if v := recover(); v != nil {
			a.lostLink(epoch, conn, red, core.Panicked(a.log(), "the reading of the agent's output", v))
		}
	}()
	filter := red.Filter()
	filter.DropRaw = a.host.limits.DropRaw
	for {
		n, err := conn.Recv(a.host.ctx)
		if err != nil {
			for _, n := range filter.Flush() {
				a.inbox.post(report{in: a.stamp(epoch, n)})
			}
			a.lostLink(epoch, conn, red, err)
			return
		}
		isLong := long(n)
		list := filter.Filter(a.observed(n))
		if isLong { // and shortened by now: its memory is free for the next one
			n = nil
			runtime.GC()
		}
		for _, n := range list {
			a.inbox.post(report{in: a.stamp(epoch, n)})
		}
	}
}

// lostLink reports the end of a conversation, once nothing of its process tree
// is left.
func (a *actor) lostLink(epoch uint64, conn core.Conn, red *redact.Redactor, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.host.ctx), lostLinkGrace)
	defer cancel()
	if cerr := conn.Close(ctx); cerr != nil {
		a.log().Warn("closing a lost conversation", "err", cerr)
	}
	te := &core.TurnError{Code: core.TurnTransportLost, Message: "the agent's output ended"}
	if faulted(err) {
		te.Code = core.TurnProviderError
	}
	if !errors.Is(err, io.EOF) {
		te.Message = short(red.String(err.Error()), sentenceBytes)
	}
	a.inbox.post(report{in: machine.LinkLost{Epoch: epoch, Err: te}})
}

// stamp makes an input of a notice: with the fresh ids that it may need, and with
// its texts bounded.
func (a *actor) stamp(epoch uint64, n core.Notice) machine.Notice {
	in := machine.Notice{Epoch: epoch, Notice: limitNotice(n)}
	switch n.(type) {
	case core.TurnBegan:
		in.TurnID = core.NewID(core.PrefixTurn)
	case core.RequestRaised:
		in.RequestID = core.NewID(core.PrefixRequest)
	}
	return in
}

// hangup ends a conversation and its process tree in a goroutine, and reports
// when nothing is left.
func (a *actor) hangup(e machine.Hangup) {
	conn := a.conns.of(e.Epoch)
	if conn == nil {
		a.again = append(a.again, machine.HungUp{Epoch: e.Epoch})
		return
	}
	a.wg.Go(func() {
		closeConn(a.host.ctx, conn, e.Grace)
		a.inbox.post(report{in: machine.HungUp{Epoch: e.Epoch}})
	})
}

// closeConn closes a conversation. It may end by itself within grace and is
// killed then; at once when grace is zero.
func closeConn(ctx context.Context, conn core.Conn, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return conn.Close(ctx)
}

// killNow ends the conversation from any goroutine, so that a stalled disk never
// delays a kill. The caller has put the command into the inbox before: see next.
func (a *actor) killNow() {
	if c := a.conn.Load(); c != nil {
		_ = closeConn(a.host.ctx, *c, 0)
	}
}

// conns are the conversations that a session has open: the one of its epoch, and
// earlier ones that have not ended yet.
type conns []openConn

type openConn struct {
	epoch uint64
	conn  core.Conn
}

// of returns the conversation of an epoch, nil for none.
func (c conns) of(epoch uint64) core.Conn {
	for _, o := range c {
		if o.epoch == epoch {
			return o.conn
		}
	}
	return nil
}

// without returns c less the Conn of an epoch. It changes c in place.
func (c conns) without(epoch uint64) conns {
	return slices.DeleteFunc(c, func(o openConn) bool { return o.epoch == epoch })
}
