package process

import (
	"context"
	"os"
	"slices"
	"syscall"
	"time"
)

// killAll kills what find finds, again and again, until it finds nothing and all
// that was killed is gone, or ctx ends. It gives all that it killed, and what
// is left.
func killAll(ctx context.Context, find func([]proc) []proc) (ended, left []proc) {
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		all, err := processes()
		if err != nil {
			return ended, left
		}
		// A process that is dying has lost its environment, and maybe its
		// parent, so it is not found again: it is waited for by its name.
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

// containsProc says whether a list has a process, whatever its state is now.
func containsProc(list []proc, p proc) bool {
	return slices.ContainsFunc(list, func(q proc) bool { return q.pid == p.pid && q.start == p.start })
}

// relatives is what must never be ended by a search: we, all above us, and all
// below us.
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

// killMarked ends what carries a child's marker, when the child's guard or
// command is gone: the last resort where no guard does it. It says how many it
// could not end within KillWait.
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

// exempt is what a search for the rest of c must leave alone, since another
// child may have the same resource and so the same marker. Orphans are not
// below us, so all that is; but where we are the reaper of orphans ourselves,
// as the first process of a container, only the trees of live children.
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
