package process

import (
	"context"
	"os"
	"slices"
	"syscall"
	"time"
)

// killAll kills the processes that find returns, repeatedly, until find returns
// none and all that were killed are gone, or ctx ends. The pause between rounds
// grows from pollMin to pollMax. It returns all that it killed, and those that
// are left.
func killAll(ctx context.Context, find func([]proc) []proc) (ended, left []proc) {
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		all, err := processes()
		if err != nil {
			return ended, left
		}
		// A process that is dying has lost its environment, and maybe its
		// parent, so find does not return it again: it is known by pid
		// and start time.
		dying := slices.DeleteFunc(slices.Clone(all), func(p proc) bool { return p.dead() || !containsProc(ended, p) })
		left = slices.DeleteFunc(find(all), func(p proc) bool { return p.dead() || containsProc(dying, p) })
		for _, p := range left {
			if p.signal(syscall.SIGKILL) == nil {
				ended = append(ended, p)
			}
		}
		left = append(left, dying...)
		if len(left) == 0 {
			return ended, nil
		}
		select {
		case <-ctx.Done():
			return ended, left
		case <-time.After(pause):
		}
	}
}

// containsProc reports whether list has p, by pid and start time.
func containsProc(list []proc, p proc) bool {
	return slices.ContainsFunc(list, func(q proc) bool { return q.pid == p.pid && q.start == p.start })
}

// relatives returns the pids that no search may end: this process, its ancestors
// and its descendants.
func relatives(all []proc) map[int]bool {
	self := os.Getpid()
	parent := make(map[int]int, len(all))
	for _, p := range all {
		parent[p.pid] = p.ppid
	}
	out := make(map[int]bool)
	for pid := self; pid > 0 && !out[pid]; pid = parent[pid] {
		out[pid] = true
	}
	for _, p := range descendants(all, []int{self}, nil) {
		out[p.pid] = true
	}
	return out
}

// killMarked kills the processes that carry a child's marker. It is for a child
// whose guard or command is gone, so that no guard can do it. It returns how many
// are left after KillWait.
func killMarked(c *child) int {
	ctx, cancel := context.WithTimeout(context.Background(), KillWait)
	defer cancel()
	_, left := killAll(ctx, func(all []proc) []proc {
		exempt := c.local.exempt(all, c)
		return slices.DeleteFunc(all, func(p proc) bool {
			return exempt[p.pid] || !ownedByUs(p.pid) ||
				!slices.Contains(parseMarker(environMarker(p.pid)), c.own)
		})
	})
	return len(left)
}

// exempt returns the pids that a search for the rest of c must not end, since
// another child may have the same resource and so the same marker. Orphans are not
// below this process, so all its relatives are exempt. Where this process adopts
// orphans itself, as the first one of a container, only the trees of live children
// are.
func (l *Local) exempt(all []proc, c *child) map[int]bool {
	self := os.Getpid()
	if self != 1 {
		return relatives(all)
	}
	exempt := map[int]bool{self: true}
	roots := l.otherRoots(c)
	for _, pid := range roots {
		exempt[pid] = true
	}
	for _, p := range descendants(all, roots, nil) {
		exempt[p.pid] = true
	}
	return exempt
}
