package sqlitestore

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
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
	first, last   uint64
	n             uint32
	at, size      uint32 // where its events are in the row
	rawAt, rawLen uint32
}

// entry is what a row's directory says of a slice.
type entry struct {
	slice
	resource int64
	digest   [digestBytes]byte // of the batch
}

// digestBytes is the length of a batch's digest.
const digestBytes = len(core.BatchDigest{})

// logRow is a row that is being filled or has been read.
type logRow struct {
	id               int64
	dir, events, raw []byte
	borrowed         bool // the blocks are a batch's own
}

// add puts a batch's blocks behind what the row has and notes where. What fills
// a row alone is not copied.
func (r *logRow) add(e *entry, events, raw []byte) {
	e.row, e.at, e.size = r.id, uint32(len(r.events)), uint32(len(events))
	e.rawAt, e.rawLen = uint32(len(r.raw)), uint32(len(raw))
	for _, n := range [...]uint64{uint64(e.resource), e.first, e.last, uint64(e.n), uint64(len(events)), uint64(len(raw))} {
		r.dir = binary.AppendUvarint(r.dir, n)
	}
	r.dir = append(r.dir, e.digest[:]...)
	if len(r.events)+len(r.raw) == 0 && len(events)+len(raw) > rowBytes {
		r.events, r.raw, r.borrowed = events, raw, true
		return
	}
	r.events = append(r.events, events...)
	r.raw = append(r.raw, raw...)
}

// empty says that a row has no entries.
func (r *logRow) empty() bool { return len(r.dir) == 0 }

func (r *logRow) size() int { return len(r.dir) + len(r.events) + len(r.raw) }

// entries reads a row's directory.
func (r *logRow) entries() (out []entry, err error) {
	d := reader{data: r.dir}
	var at, rawAt uint64
	for len(d.data) > 0 {
		e := entry{resource: int64(d.uvarint())}
		e.row, e.first, e.last, e.n = r.id, d.uvarint(), d.uvarint(), uint32(d.uvarint())
		size, rawLen := d.uvarint(), d.uvarint()
		copy(e.digest[:], d.take(uint64(digestBytes)))
		if d.bad || at+size > math.MaxUint32 || rawAt+rawLen > math.MaxUint32 {
			return nil, errBlock
		}
		e.at, e.size, e.rawAt, e.rawLen = uint32(at), uint32(size), uint32(rawAt), uint32(rawLen)
		at, rawAt = at+size, rawAt+rawLen
		out = append(out, e)
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
	slices []slice           // grows at the end and is cut at the front, never changed
	digest [digestBytes]byte // of the last one's batch
	events int
	bytes  int
	since  time.Time // when the oldest of it was met
}

func newTail() *tail {
	return &tail{open: map[int64]*pending{}, rows: map[int64]int{}}
}

// of gives a resource's slices and the digest of its last batch.
func (t *tail) of(resource int64) ([]slice, [digestBytes]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.open[resource]; p != nil {
		return p.slices, p.digest
	}
	return nil, [digestBytes]byte{}
}

func (t *tail) last() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// read takes over rows in order, as they are on disk. Those that it knows it
// leaves out.
func (t *tail) read(rows []logRow) error {
	for i := range rows {
		list, err := rows[i].entries()
		if err != nil {
			return err
		}
		t.add(rows[i:i+1], list)
	}
	return nil
}

// add takes over rows in order with the entries of their directories. Rows that
// it knows it leaves out.
func (t *tail) add(rows []logRow, list []entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.seen
	for i := range rows {
		if id := rows[i].id; id > known {
			t.seen, t.rows[id] = id, 0
			if rows[i].empty() {
				t.dead = append(t.dead, id)
			}
		}
	}
	now := time.Now()
	for i := range list {
		e := &list[i]
		if e.row <= known {
			continue
		}
		t.rows[e.row]++
		p := t.open[e.resource]
		if p == nil {
			p = &pending{since: now}
			t.open[e.resource] = p
		}
		p.slices = append(p.slices, e.slice)
		p.digest = e.digest
		p.events += int(e.n)
		p.bytes += int(e.size) + int(e.rawLen)
	}
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
		p.events -= int(s.n)
		p.bytes -= int(s.size) + int(s.rawLen)
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
