package sqlitestore

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"
)

// The log is where a commit goes: a table in the order of writing, without any
// index. A row holds slices of several resources, one after another, and a
// directory that says whose they are, so that a transaction of a hundred
// batches writes a few full pages and nothing else. Where a resource's slices
// are, each process knows from reading every directory once. The packer moves
// slices into chunks, which are indexed, and deletes the rows whose slices have
// all been moved, so the log stays short.

// slice is one batch's events within a row of the log.
type slice struct {
	row           int64
	resource      int64
	first, last   uint64
	n             int
	at, size      int // where its events are in the row
	rawAt, rawLen int
	digest        [digestBytes]byte
}

// digestBytes is how much of a batch's digest is kept.
const digestBytes = 16

// logRow is a row that is being filled or has been read.
type logRow struct {
	id               int64
	dir, events, raw []byte
}

// add puts a batch's blocks behind what the row has.
func (r *logRow) add(s slice, events, raw []byte) {
	for _, n := range []uint64{uint64(s.resource), s.first, s.last, uint64(s.n), uint64(len(events)), uint64(len(raw))} {
		r.dir = binary.AppendUvarint(r.dir, n)
	}
	r.dir = append(r.dir, s.digest[:]...)
	r.events = append(r.events, events...)
	r.raw = append(r.raw, raw...)
}

func (r *logRow) size() int { return len(r.dir) + len(r.events) + len(r.raw) }

// slices reads a row's directory.
func (r *logRow) slices() (out []slice, err error) {
	d := reader{data: r.dir}
	at, rawAt := 0, 0
	for len(d.data) > 0 {
		s := slice{row: r.id, resource: int64(d.uvarint()), first: d.uvarint(), last: d.uvarint(), n: int(d.uvarint()),
			at: at, size: int(d.uvarint()), rawAt: rawAt, rawLen: int(d.uvarint())}
		copy(s.digest[:], d.take(digestBytes))
		if d.bad {
			return nil, errBlock
		}
		at, rawAt = at+s.size, rawAt+s.rawLen
		out = append(out, s)
	}
	return out, nil
}

// tail is what this process knows of the log: the directories up to a row. A
// reader reads the rest within its transaction.
type tail struct {
	mu   sync.Mutex
	seen int64              // the last row that was read
	open map[int64]*pending // by resource
	rows map[int64]int      // slices that are not packed, by row
	dead []int64            // rows without any
}

// pending is what a resource has in the log.
type pending struct {
	slices []slice // grows at the end and is cut at the front, never changed
	events int
	bytes  int
	since  time.Time // when the oldest of it was met
}

func newTail() *tail {
	return &tail{open: map[int64]*pending{}, rows: map[int64]int{}}
}

// of gives a resource's slices.
func (t *tail) of(resource int64) []slice {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.open[resource]; p != nil {
		return p.slices
	}
	return nil
}

func (t *tail) last() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// add takes over rows in order. Those that it knows it leaves out.
func (t *tail) add(rows []logRow) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for i := range rows {
		if rows[i].id <= t.seen {
			continue
		}
		list, err := rows[i].slices()
		if err != nil {
			return err
		}
		t.seen = rows[i].id
		t.rows[t.seen] = len(list)
		for _, s := range list {
			p := t.open[s.resource]
			if p == nil {
				p = &pending{since: now}
				t.open[s.resource] = p
			}
			p.slices = append(p.slices, s)
			p.events += s.n
			p.bytes += s.size + s.rawLen
		}
		if len(list) == 0 {
			t.dead = append(t.dead, t.seen)
		}
	}
	return nil
}

// drop forgets a resource's slices up to a row: they are packed, or the
// resource is gone.
func (t *tail) drop(resource, upTo int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.open[resource]
	if p == nil {
		return
	}
	n := 0
	for ; n < len(p.slices) && p.slices[n].row <= upTo; n++ {
		s := p.slices[n]
		p.events -= s.n
		p.bytes -= s.size + s.rawLen
		if left, ok := t.rows[s.row]; ok {
			t.rows[s.row] = left - 1
			if left == 1 {
				t.dead = append(t.dead, s.row)
			}
		}
	}
	p.slices = p.slices[n:]
	p.since = time.Now()
	if len(p.slices) == 0 {
		delete(t.open, resource)
	}
}

// takeDead gives rows that nothing needs any more. The newest row stays, so
// that ids of rows only ever rise.
func (t *tail) takeDead(most int) (ids []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keep := t.dead[:0]
	for _, id := range t.dead {
		if id < t.seen && len(ids) < most {
			ids = append(ids, id)
			delete(t.rows, id)
		} else {
			keep = append(keep, id)
		}
	}
	t.dead = keep
	return ids
}

// ripe gives resources whose slices are worth packing.
func (t *tail) ripe(now time.Time, all bool) (keys []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, p := range t.open {
		if all || p.events >= packEvents || p.bytes >= packBytes || now.Sub(p.since) >= packAfter {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// known gives the resources that have something in the log, and the rows that
// are known.
func (t *tail) known() (keys, rows []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.open {
		keys = append(keys, key)
	}
	for id := range t.rows {
		rows = append(rows, id)
	}
	return keys, rows
}

// forget drops rows that others have deleted.
func (t *tail) forget(gone []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range gone {
		delete(t.rows, id)
	}
	t.dead = slices.DeleteFunc(t.dead, func(id int64) bool { return slices.Contains(gone, id) })
}

// revive finds rows without slices again whose deletion failed.
func (t *tail) revive(there map[int64]bool, newest int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dead := map[int64]bool{}
	for _, id := range t.dead {
		dead[id] = true
	}
	for id := range there {
		if id <= newest && !dead[id] && t.rows[id] == 0 {
			t.dead = append(t.dead, id)
		}
	}
	slices.Sort(t.dead)
}
