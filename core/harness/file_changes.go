package harness

import (
	"context"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// lookTimeout limits one look at a workspace. A turn is not delayed for longer.
const lookTimeout = 3 * time.Second

// watched has what the workspace looked like before each turn that runs. It is safe
// for concurrent use.
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

// end returns what changed during a turn. ok is set when that is known.
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
