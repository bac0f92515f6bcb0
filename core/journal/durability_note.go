package journal

import (
	"context"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// noteWait bounds how long anyone waits for a note: the disk it is on may be
// the one that stands still.
const noteWait = 100 * time.Millisecond

// noteLoss notes that a resource's journal is not being written, or is again.
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
