package journal

import (
	"context"
	"errors"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// CommitChecked commits within a bound of time. A commit that failed may have
// happened: the batch's last event on disk says so. Another event under its
// number, of another server or of an older aggregate, does not. When ctx ends,
// nothing more is waited for.
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

// holds says whether the event is on disk.
func holds(ctx context.Context, store core.Store, owner string, e core.Event) bool {
	got, err := store.Events(ctx, core.EventQuery{Owner: owner, Resource: e.Resource, After: e.Seq - 1, Until: e.Seq, Limit: 1})
	return err == nil && len(got) == 1 && got[0].ID == e.ID
}
