package process

import (
	"context"
	"os"
	"slices"
	"syscall"
	"time"
)

// endAll kills what find finds, again and again, until it finds nothing or ctx
// ends. It gives all that it signalled, and what is left.
func endAll(ctx context.Context, find func([]proc) []proc) (ended, left []proc) {
	type key struct {
		pid   int
		start uint64
	}
	known := make(map[key]bool)
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		all, err := processes()
		if err != nil {
			return ended, left
		}
		left = slices.DeleteFunc(find(all), proc.dead)
		if len(left) == 0 {
			return ended, nil
		}
		for _, p := range left {
			if err := p.signal(syscall.SIGKILL); err == nil && !known[key{p.pid, p.start}] {
				known[key{p.pid, p.start}] = true
				ended = append(ended, p)
			}
		}
		select {
		case <-ctx.Done():
			return ended, left
		case <-time.After(pause):
		}
	}
}

// family is what must never be ended by a search: we, all above us, and all
// below us.
func family(all []proc) map[int]bool {
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

// endMarked ends what carries a child's marker and no longer descends from its
// guard or command: the last resort where no guard does it. What descends from
// another live child of ours is spared, since two children can have the same
// resource. It says how many it could not end within KillWait.
func endMarked(c *child) int {
	ctx, cancel := context.WithTimeout(context.Background(), KillWait)
	defer cancel()
	_, left := endAll(ctx, func(all []proc) []proc {
		spared := map[int]bool{os.Getpid(): true}
		others := c.local.others(c)
		for _, pid := range others {
			spared[pid] = true
		}
		for _, p := range descendants(all, others, nil) {
			spared[p.pid] = true
		}
		return slices.DeleteFunc(all, func(p proc) bool {
			return spared[p.pid] || !ours(p.pid) ||
				!slices.Contains(parseMarker(environMarker(p.pid)), c.own)
		})
	})
	return len(left)
}
