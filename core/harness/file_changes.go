package harness

import (
	"context"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// lookTimeout bounds one look at a workspace; a turn is not held up longer.
const lookTimeout = 3 * time.Second

// watched keeps the looks at the workspace before the turns that run. It is
// safe for concurrent use.
type watched struct {
	mu    sync.Mutex
	turns map[string]func(context.Context) ([]core.FileEdit, error)
}

// begin looks at the workspace before a turn.
func (w *watched) begin(ctx context.Context, ws core.Workspace, turn, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	changed, err := ws.Watch(ctx, dir)
	if err != nil || changed == nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns == nil {
		w.turns = map[string]func(context.Context) ([]core.FileEdit, error){}
	}
	w.turns[turn] = changed
	return nil
}

// end says what changed during a turn; ok when that is known.
func (w *watched) end(ctx context.Context, turn string) (edits []core.FileEdit, ok bool, err error) {
	w.mu.Lock()
	changed := w.turns[turn]
	delete(w.turns, turn)
	w.mu.Unlock()
	if changed == nil {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	edits, err = changed(ctx)
	return edits, err == nil, err
}
