package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// maxNamed is how many other sessions a warning names.
const maxNamed = 3

// maxShared is how many live sessions are looked at, the newest first.
const maxShared = 100

// sharedCheckout returns a warning when other live sessions that may write work in
// the same checkout. That is allowed. A session that is closing does not count.
// Sessions of other owners and servers count, but only those of the same owner are
// named.
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
		if same || s.Status == core.StatusClosing || s.SandboxMode == core.SandboxReadOnly || h.orphaned(sessionRow(rec)) || rootOf(s.CWD) != root {
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
	who := core.JoinList(named)
	switch {
	case who == "":
		who = fmt.Sprintf("%d other live sessions", others)
	case others > 0:
		who += fmt.Sprintf(" and %d more", others)
	}
	return []string{fmt.Sprintf("%s may write in the same checkout (%s); a worktree for each keeps them apart", who, root)}
}

// checkout returns the root of the work tree that has a directory: the nearest one
// above it with a .git, which is a file in a worktree. Outside of any it is the
// directory itself.
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

// hasRepository reports whether dir has a .git that is a repository: a directory
// with a HEAD, which old versions make a link, or a file that names such a
// directory.
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
