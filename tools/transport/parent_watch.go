package transport

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrParentGone is the cause of a context that WatchParent ended.
var ErrParentGone = errors.New("the parent process has ended")

// WatchParent returns a context that ends, with cause ErrParentGone, within
// about a second after the parent of this process has ended. A client that is
// killed may leave its pipes open in other processes, so that there is no end
// of input. The goroutine ends with ctx or with the returned cancel function,
// which must be called.
func WatchParent(ctx context.Context) (context.Context, context.CancelFunc) {
	return watchParent(ctx, os.Getppid)
}

func watchParent(ctx context.Context, getppid func() int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	parent := getppid()
	go func() {
		tick := time.NewTicker(parentPoll)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if getppid() != parent {
					cancel(ErrParentGone)
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
