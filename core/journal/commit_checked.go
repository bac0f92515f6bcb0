package journal

import (
	"context"
	"errors"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// CommitChecked commits within a bound of time. A commit that failed may have
// happened: it has if the batch's last event is on disk, under its own id. Another
// event with that seq is of another server or of an older aggregate. When ctx
// ends it waits no more.
func CommitChecked(ctx context.Context, store core.Store, within time.Duration, b core.Batch) error {
	cctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := store.Commit(cctx, b)
	if err == nil || len(b.Events) == 0 {
		return err
	}
	var conflict *core.ConflictError
	if errors.As(err, &conflict) {
		return err
	}
	cctx, cancel = context.WithTimeout(ctx, within)
	defer cancel()
	if holds(cctx, store, b.Owner, b.Events[len(b.Events)-1]) {
		return nil
	}
	return err
}

// holds reports whether the event is on disk.
func holds(ctx context.Context, store core.Store, owner string, e core.Event) bool {
	got, err := store.Events(ctx, core.EventQuery{Owner: owner, Resource: e.Resource, After: e.Seq - 1, Until: e.Seq, Limit: 1})
	return err == nil && len(got) == 1 && got[0].ID == e.ID
}
