package journal

import (
	"context"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// noteWait bounds the wait for a note: its disk may be the one that fails.
const noteWait = 100 * time.Millisecond

// noteLoss notes that a resource's journal is not being written, or is again. It
// waits at most noteWait; its goroutine ends with the store's call.
func noteLoss(store core.Store, owner, id string, lost bool) {
	notes, ok := store.(core.LossNotes)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), noteWait)
	go func() {
		defer cancel()
		if lost {
			_ = notes.NoteLoss(owner, id) // it is a best effort
		} else {
			_ = notes.ForgetLoss(store.Instance(), owner, id)
		}
	}()
	<-ctx.Done()
}
