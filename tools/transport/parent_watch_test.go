package transport

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheContextEndsWithTheParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var parent atomic.Int64
		parent.Store(17)
		ctx, cancel := watchParent(t.Context(), func() int { return int(parent.Load()) })
		defer cancel()
		time.Sleep(10 * parentPoll)
		if err := ctx.Err(); err != nil {
			t.Fatalf("the context ended while the parent lives: %v", context.Cause(ctx))
		}
		parent.Store(1)
		time.Sleep(parentPoll + time.Millisecond)
		if got := context.Cause(ctx); got != ErrParentGone {
			t.Errorf("cause: %v, want %v", got, ErrParentGone)
		}
	})
}

func TestTheParentWatchEndsWithItsCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := watchParent(t.Context(), func() int { return 17 })
		cancel()
		<-ctx.Done()
	}) // a goroutine left behind fails the bubble
}
