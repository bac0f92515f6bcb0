package sqlitestore

import (
	"slices"
	"sync"
	"time"
)

// tail holds the directories of the log's rows up to end. A reader reads the rest
// within its transaction. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	end  logPosition        // of the rows that were read
	top  int64              // the highest slot that is known
	open map[int64]*pending // by resource
	rows map[int64]held     // by row
	dead []deadRow
	// reserved are the slots that the writer's transaction has taken.
	reserved map[int64]bool
}

// held is a row that has slices which are not packed.
type held struct {
	slot int64
	left int // of its slices
	long bool
}

// pending holds the slices of a resource in the log.
type pending struct {
	slices []slice           // grows at the end and is cut at the front, never changed
	digest [digestBytes]byte // of the last one's batch
	events int
	bytes  int
	since  time.Time // when the oldest of it was met
}

func newTail() *tail {
	return &tail{end: start, open: map[int64]*pending{}, rows: map[int64]held{}, reserved: map[int64]bool{}}
}

// of returns a resource's slices and the digest of its last batch.
func (t *tail) of(resource int64) ([]slice, [digestBytes]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.open[resource]; p != nil {
		return p.slices, p.digest
	}
	return nil, [digestBytes]byte{}
}

// last is the end of the rows that were read.
func (t *tail) last() logPosition {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end
}

// read adds rows in order, as they are on disk. It skips rows that it has.
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

// add adds rows in order with the entries of their directories. It skips rows that it
// has.
func (t *tail) add(rows []logRow, list []entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.end.id
	for i := range rows {
		r := &rows[i]
		t.top = max(t.top, r.slot, r.next)
		if r.id <= known {
			continue
		}
		t.end, t.rows[r.id] = logPosition{r.id, r.next}, held{slot: r.slot}
		if r.empty() {
			t.markDead(r.id, true)
		}
	}
	now := time.Now()
	for i := range list {
		e := &list[i]
		if e.row <= known {
			continue
		}
		h := t.rows[e.row]
		h.left++
		h.long = h.long || e.size+e.rawLen > rowBytes
		t.rows[e.row] = h
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

// drop removes a resource's slices up to a row: they are packed, or the resource is
// deleted. doubt is set when another process did that: it may reuse the rows' slots
// too.
func (t *tail) drop(resource, upTo int64, doubt bool) {
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
		if h, ok := t.rows[s.row]; ok {
			h.left--
			t.rows[s.row] = h
			if h.left == 0 {
				t.markDead(s.row, doubt)
			}
		}
	}
	p.slices = p.slices[n:]
	p.since = time.Now()
	if len(p.slices) == 0 {
		delete(t.open, resource)
	}
}

// dueForPacking returns resources whose slices are worth packing.
func (t *tail) dueForPacking(now time.Time, all bool) (keys []int64) {
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

// withSlices returns the resources that have something in the log.
func (t *tail) withSlices() (keys []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.open {
		keys = append(keys, key)
	}
	return keys
}
