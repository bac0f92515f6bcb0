package core

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Workspace sees what changes in a directory, whatever an agent says. It is
// safe for concurrent use.
type Workspace interface {
	// Watch remembers how dir, with all below it, is now; changed says what has
	// become different there since. A nil changed means that there is nothing
	// to compare with. ctx bounds each look.
	Watch(ctx context.Context, dir string) (changed func(context.Context) ([]FileEdit, error), err error)
}

// lookTimeout bounds one look at a workspace; a turn is not held up longer.
const lookTimeout = 3 * time.Second

// watched keeps the looks at the workspace before the turns that run. It is
// safe for concurrent use.
type watched struct {
	mu    sync.Mutex
	turns map[string]func(context.Context) ([]FileEdit, error)
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
		w.turns = map[string]func(context.Context) ([]FileEdit, error){}
	}
	w.turns[turn] = changed
	return nil
}

// end says what changed during a turn; ok when that is known.
func (w *watched) end(ctx context.Context, turn string) (edits []FileEdit, ok bool, err error) {
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

// observe compares what an agent reported to have changed with what was seen in
// dir. What only was seen comes last, marked: commands of the agent's change
// files without a report, and so do other people. What was reported of dir and
// not seen there is a warning.
func observe(reported []FileEdit, seen Observed, dir string) (all []FileEdit, warnings []string) {
	if !seen.Looked {
		return reported, nil
	}
	has := func(list []FileEdit, path string) bool {
		return slices.ContainsFunc(list, func(e FileEdit) bool { return absolute(dir, e.Path) == absolute(dir, path) })
	}
	var silent []FileEdit
	for _, e := range seen.Files {
		if !has(reported, e.Path) {
			e.Unreported = true
			silent = append(silent, e)
		}
	}
	var unseen []string
	for _, e := range reported {
		if below(dir, e.Path) && !has(seen.Files, e.Path) {
			unseen = append(unseen, e.Path)
		}
	}
	if len(unseen) > 0 {
		warnings = append(warnings, "the agent reported changes that git does not show (ignored or put back?): "+firstFew(unseen))
	}
	return mergeFiles(reported, silent), warnings
}

// below says whether path, as it is spelled, lies in dir.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, absolute(dir, path))
	return err == nil && filepath.IsLocal(rel)
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// firstFew names at most maxNamed of them.
func firstFew(names []string) string {
	if len(names) <= maxNamed {
		return join(names)
	}
	return fmt.Sprintf("%s and %d more", join(names[:maxNamed]), len(names)-maxNamed)
}

// maxNamed is how many other sessions a warning names.
const maxNamed = 3

// maxShared is how many live sessions, the newest, are looked at for that.
const maxShared = 100

// sharedCheckout warns when other live sessions that may write work in the
// same checkout. That is allowed: who starts them knows best. One that is
// closing has done its work and is none of them. Sessions of other owners and servers count, but only those of the same owner are named.
func (h *Harness) sharedCheckout(ctx context.Context, cfg SessionConfig) []string {
	if cfg.SandboxMode == SandboxReadOnly {
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
	recs, err := h.store.Sessions(ctx, ListQuery{Owner: AllOwners, Live: &live, Limit: maxShared})
	if err != nil {
		return nil // a warning is not worth a failed start
	}
	var named []string
	others := 0
	for _, rec := range recs {
		s := rec.Session
		same := s.Owner == cfg.Owner && s.ID == cfg.SessionID
		if same || s.Status == StatusClosing || s.SandboxMode == SandboxReadOnly || h.orphaned(rec) || rootOf(s.CWD) != root {
			continue
		}
		if s.Owner == cfg.Owner && len(named) < maxNamed {
			named = append(named, s.ID)
			continue
		}
		others++
	}
	if len(named) == 0 && others == 0 {
		return nil
	}
	slices.Sort(named)
	who := join(named)
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
