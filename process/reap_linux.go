package process

import (
	"context"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// reap ends the processes of dead instances.
func reap(ctx context.Context, dead map[string]bool, alive func(string) bool, rows []core.Child) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, ReapWait)
	defer cancel()
	search := &search{dead: dead, alive: alive, rows: rows, found: make(map[int]Found)}
	ended, left := killAll(ctx, search.find)
	return Report{Ended: search.describe(ended), Left: search.describe(left)}, nil
}

// search selects the processes of dead instances, for killAll.
type search struct {
	dead  map[string]bool
	alive func(string) bool
	rows  []core.Child
	found map[int]Found // by pid: why
}

// find returns the orphans among all, each root followed by its descendants.
func (s *search) find(all []proc) []proc {
	except := relatives(all)
	var roots []proc
	for _, p := range all {
		if except[p.pid] || !ownedByUs(p.pid) || p.dead() {
			continue
		}
		f := Found{PID: p.pid, Marker: environMarker(p.pid), ByRow: s.inRow(p)}
		if f.ByRow || s.orphan(f.Marker) {
			s.found[p.pid] = f
			roots = append(roots, p)
		}
	}
	pids := make([]int, len(roots))
	for i, p := range roots {
		pids[i] = p.pid
	}
	out := roots
	for _, p := range descendants(all, pids, except) {
		if !slices.ContainsFunc(roots, func(r proc) bool { return r.pid == p.pid }) && ownedByUs(p.pid) {
			out = append(out, p)
		}
	}
	return out
}

// orphan reports whether a marker makes its process an orphan: the innermost
// known instance decides.
func (s *search) orphan(marker string) bool {
	for _, seg := range slices.Backward(parseMarker(marker)) {
		switch {
		case s.dead[seg.instance]:
			return true
		case s.alive(seg.instance):
			return false
		}
	}
	return false
}

// inRow reports whether a row means exactly this process. A row without start
// time or boot id means none.
func (s *search) inRow(p proc) bool {
	return slices.ContainsFunc(s.rows, func(r core.Child) bool {
		return r.PID == p.pid && r.StartTime == p.start && r.StartTime != 0 &&
			r.BootID == bootID() && r.BootID != ""
	})
}

func (s *search) describe(procs []proc) []Found {
	out := make([]Found, 0, len(procs))
	for _, p := range procs {
		f, ok := s.found[p.pid]
		if !ok { // a descendant that a root led to
			f = Found{PID: p.pid}
		}
		out = append(out, f)
	}
	return out
}
