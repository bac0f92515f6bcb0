package core

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// maxNamed is how many other sessions a warning names.
const maxNamed = 3

// sharedCheckout warns when other live sessions that may write work in the
// same checkout. That is allowed: who starts them knows best. Sessions of other
// owners and servers count, but only those of the same owner are named.
func (h *Harness) sharedCheckout(ctx context.Context, cfg SessionConfig) []string {
	if cfg.SandboxMode == SandboxReadOnly {
		return nil
	}
	root := checkout(cfg.CWD)
	ctx, cancel := h.short(ctx)
	defer cancel()
	live := true
	recs, err := h.store.Sessions(ctx, ListQuery{Owner: AllOwners, Live: &live, Limit: maxListPage})
	if err != nil {
		return nil // a warning is not worth a failed start
	}
	var named []string
	others := 0
	for _, rec := range recs {
		s := rec.Session
		same := s.Owner == cfg.Owner && s.ID == cfg.SessionID
		if same || s.SandboxMode == SandboxReadOnly || h.orphaned(rec) || checkout(s.CWD) != root {
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
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}
