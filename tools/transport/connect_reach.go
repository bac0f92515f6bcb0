package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// waitReachable waits until the server can be reached, or starts it.
func (b *bridge) waitReachable(ctx context.Context, begun time.Time) error {
	b.starting.Lock()
	defer b.starting.Unlock()
	patience := b.opts.Patience
	if !b.reached.Load() {
		patience = b.opts.FirstPatience
	}
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		response, err := b.send(ctx, http.MethodHead, nil, nil)
		if err == nil {
			response.close()
			if response.StatusCode != http.StatusServiceUnavailable {
				return nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(begun) > patience:
			return b.startError(cmp.Or(err, errUnreachable))
		case b.opts.Start != nil && errors.Is(err, errUnreachable):
			if err := b.opts.Start(ctx); err != nil {
				return b.startError(fmt.Errorf("starting the server: %w", err))
			}
		default:
			b.logUnreachable(err, patience-time.Since(begun))
		}
		if err := pause(ctx, min(wait, max(patience-time.Since(begun), retryFirst))); err != nil {
			return err
		}
	}
}

// startError returns the error of a wait for the server that has ended without
// one.
func (b *bridge) startError(err error) error {
	if b.reached.Load() {
		return err
	}
	return &noServerError{err}
}

// noServerError is ErrNoServer with its cause.
type noServerError struct{ error }

func (n *noServerError) Is(target error) bool { return target == ErrNoServer }

func (n *noServerError) Unwrap() error { return n.error }

// logUnreachable logs once per outage that the server cannot be reached, and
// its address: the client may time out before it has a response.
func (b *bridge) logUnreachable(err error, left time.Duration) {
	var why *unreachableError
	if errors.As(err, &why) && !b.unreachable.Swap(true) {
		b.opts.Log.Warn("the server cannot be reached; trying again", "server", why.server, "reason", why.reason, "for", left.Round(time.Second))
	}
}
