package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// Workspace sees what changes in a directory, whatever an agent says. It is
// safe for concurrent use.
type Workspace interface {
	// Watch remembers how dir, with all below it, is now; changed says what has
	// become different there since. A nil changed means that there is nothing
	// to compare with. ctx bounds each look.
	Watch(ctx context.Context, dir string) (changed func(context.Context) ([]core.FileEdit, error), err error)
}

// lookTimeout bounds one look at a workspace; a turn is not held up longer.
const lookTimeout = 3 * time.Second

// watched keeps the looks at the workspace before the turns that run. It is
// safe for concurrent use.
type watched struct {
	mu    sync.Mutex
	turns map[string]func(context.Context) ([]core.FileEdit, error)
}

// begin looks at the workspace before a turn.
func (w *watched) begin(ctx context.Context, ws Workspace, turn, dir string) error {
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

// maxShared is how many live sessions, the newest, are looked at for that.
const maxShared = 100

// sharedCheckout warns when other live sessions that may write work in the
// same checkout. That is allowed: who starts them knows best. One that is
// closing has done its work and is none of them. Sessions of other owners and servers count, but only those of the same owner are named.
func (h *Harness) sharedCheckout(ctx context.Context, cfg core.SessionConfig) []string {
	if cfg.SandboxMode == core.SandboxReadOnly {
		return nil
	}
	roots := map[string]string{} // many sessions, few directories
	rootOf := func(dir string) string {
		if _, ok := roots[dir]; !ok {
			roots[dir] = checkout(dir)
		}
		return roots[dir]
	}
	root := rootOf(cfg.CWD)
	ctx, cancel := h.short(ctx)
	defer cancel()
	live := true
	recs, err := h.store.Sessions(ctx, core.ListQuery{Owner: core.AllOwners, Live: &live, Limit: maxShared})
	if err != nil {
		return nil // a warning is not worth a failed start
	}
	var named []string
	others := 0
	for _, rec := range recs {
		s := rec.Session
		same := s.Owner == cfg.Owner && s.ID == cfg.SessionID
		if same || s.Status == core.StatusClosing || s.SandboxMode == core.SandboxReadOnly || h.orphaned(rec) || rootOf(s.CWD) != root {
			continue
		}
		if s.Owner == cfg.Owner && len(named) < machine.MaxNamed {
			named = append(named, s.ID)
			continue
		}
		others++
	}
	if len(named) == 0 && others == 0 {
		return nil
	}
	slices.Sort(named)
	who := core.JoinList(named)
	switch {
	case who == "":
		who = fmt.Sprintf("%d other live sessions", others)
	case others > 0:
		who += fmt.Sprintf(" and %d more", others)
	}
	return []string{fmt.Sprintf("%s may write in the same checkout (%s); a worktree for each keeps them apart", who, root)}
}

// checkout gives the root of the work tree that a directory lies in: the
// nearest one above it with a .git, which a worktree has as a file of its own.
// Outside of any it is the directory itself.
func checkout(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for d := dir; ; d = filepath.Dir(d) {
		if hasRepository(d) {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// hasRepository says whether dir has a .git that is one: a directory with a
// HEAD, which is a link in old ones, or a file that names such a directory.
func hasRepository(dir string) bool {
	path := filepath.Join(dir, ".git")
	at, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case at.IsDir():
		_, err = os.Lstat(filepath.Join(path, "HEAD"))
		return err == nil
	case !at.Mode().IsRegular(): // opening a pipe would wait
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it is only read
	const names = "gitdir:"
	var begin [len(names)]byte
	_, err = io.ReadFull(f, begin[:])
	return err == nil && string(begin[:]) == names
}
