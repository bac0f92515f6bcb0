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

// open runs Provider.Open. Its outcome is always reported, also a late one.
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
		if !a.inbox.post(mail{in: in, conn: conn}) && conn != nil {
			_ = closeConn(a.host.ctx, conn, 0)
		}
	})
}

// startError gives a failed opening a code that a caller of start can meet.
func startError(err error) *core.Error {
	var e *core.Error
	if errors.As(err, &e) {
		return e
	}
	return core.Errorf(core.CodeStartFailed, "the provider could not be started: %w", err).
		WithHint("list_providers with refresh shows what is wrong; the server's log has more.")
}

// sendWatched looks at the workspace before the agent gets a turn. Nothing else
// is sent for the turn before the agent has taken it, so nothing overtakes it.
func (a *actor) sendWatched(op core.StartTurn, conn core.Conn) {
	epoch, dir := a.state.Epoch, a.state.Base.Config.CWD
	a.wg.Go(func() {
		if err := a.work.begin(a.host.ctx, a.host.work, op.TurnID, dir); err != nil {
			a.log().Debug("looking at the workspace before a turn", "err", err)
		}
		if err := conn.Send(op); err != nil {
			a.inbox.post(mail{in: machine.Notice{Epoch: epoch, Notice: core.OpDone{Op: op.ID,
				Err: core.Errorf(core.CodeSessionUnavailable, "the provider could not be told: %w", err)}}})
		}
	})
}

// observed adds to a turn's end what was seen to change.
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

// read pulls notices from the open conversation until it ends, redacted and in
// order. The link counts as lost only when nothing of its tree is left.
func (a *actor) read() {
	epoch, conn := a.state.Epoch, a.conns.of(a.state.Epoch)
	a.reading = epoch
	a.conn.Store(&conn)
	r := &reader{a: a, epoch: epoch, conn: conn, red: a.red()}
	a.wg.Go(r.run)
}

// reader is what pulls from one conversation. It waits for most of its life, so
// run has few words on its stack: a goroutine that has said nothing yet keeps
// the one it began with.
type reader struct {
	a      *actor
	epoch  uint64
	conn   core.Conn
	red    *redact.Redactor
	filter *redact.NoticeFilter // made for the first notice
}

func (r *reader) run() {
	for r.pass(r.conn.Recv(r.a.host.ctx)) {
	}
}

// pass hands on what was received. It is not ok at the end of the conversation.
//
//go:noinline
func (r *reader) pass(n core.Notice, err error) (ok bool) {
	a := r.a
	if r.filter == nil {
		r.filter = r.red.Filter()
	}
	if err != nil {
		for _, n := range r.filter.Flush() {
			a.inbox.post(mail{in: a.stamp(r.epoch, n)})
		}
		a.lostLink(r.epoch, r.conn, r.red, err)
		return false
	}
	isLong := long(n)
	list := r.filter.Filter(a.observed(n))
	if isLong { // and cut now: what comes next takes its memory, not more
		n = nil
		runtime.GC()
	}
	for _, n := range list {
		a.inbox.post(mail{in: a.stamp(r.epoch, n)})
	}
	return true
}

func (a *actor) lostLink(epoch uint64, conn core.Conn, red *redact.Redactor, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.host.ctx), lostLinkGrace)
	defer cancel()
	if cerr := conn.Close(ctx); cerr != nil {
		a.log().Warn("closing a lost conversation", "err", cerr)
	}
	te := &core.TurnError{Code: core.TurnTransportLost, Message: "the agent's output ended"}
	if !errors.Is(err, io.EOF) {
		te.Message = short(red.String(err.Error()), sentenceBytes)
	}
	a.inbox.post(mail{in: machine.LinkLost{Epoch: epoch, Err: te}})
}

// stamp gives a notice the fresh ids that it may need, and bounds its frame and
// its words.
func (a *actor) stamp(epoch uint64, n core.Notice) machine.Notice {
	in := machine.Notice{Epoch: epoch, Notice: limitNotice(n, a.host.limits.DropRaw)}
	switch n.(type) {
	case core.TurnBegan:
		in.TurnID = core.NewID(core.PrefixTurn)
	case core.RequestRaised:
		in.RequestID = core.NewID(core.PrefixRequest)
	}
	return in
}

// hangup ends a conversation and its tree, and reports when nothing is left.
func (a *actor) hangup(e machine.Hangup) {
	conn := a.conns.of(e.Epoch)
	if conn == nil {
		a.again = append(a.again, machine.HungUp{Epoch: e.Epoch})
		return
	}
	a.wg.Go(func() {
		closeConn(a.host.ctx, conn, e.Grace)
		a.inbox.post(mail{in: machine.HungUp{Epoch: e.Epoch}})
	})
}

// closeConn closes politely for grace, by force at once when it is zero.
func closeConn(ctx context.Context, conn core.Conn, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return conn.Close(ctx)
}

// killNow ends the conversation from outside the loop, so that a stalled disk
// never delays a kill. The machine learns of it by the command that follows.
func (a *actor) killNow() {
	if c := a.conn.Load(); c != nil {
		_ = closeConn(a.host.ctx, *c, 0)
	}
}

// conns are the conversations that a session has open: the one of its epoch,
// and those before it whose end is not there yet.
type conns []openConn

type openConn struct {
	epoch uint64
	conn  core.Conn
}

// of gives the conversation of an epoch, nil for none.
func (c conns) of(epoch uint64) core.Conn {
	for _, o := range c {
		if o.epoch == epoch {
			return o.conn
		}
	}
	return nil
}

func (c conns) without(epoch uint64) conns {
	return slices.DeleteFunc(c, func(o openConn) bool { return o.epoch == epoch })
}
