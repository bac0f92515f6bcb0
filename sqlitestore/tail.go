package sqlitestore

import (
	"slices"
	"sync"
	"time"
)

// tail is what this process knows of the log: the directories up to a row. A
// reader reads the rest within its transaction.
type tail struct {
	mu   sync.Mutex
	end  logPosition        // of what was read
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

// pending is what a resource has in the log.
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

// last is the end of what was read.
func (t *tail) last() logPosition {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end
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

// drop forgets a resource's slices up to a row: they are packed, or the
// resource is gone. It is in doubt who may write their rows' slots again when
// that was another process's doing.
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
