package sqlitestore

import (
	"cmp"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// tx is one transaction of the writer, for a whole group of writes. It reads
// resources with the changes that the group has made so far.
type tx struct {
	*conn
	w       *writer
	adds    []addition // to the log, to be written at the end
	rows    []logRow   // of the log, once written
	list    []entry    // of those rows
	made    []deadRow  // slots for rows to come
	dropped []int64    // resources that the group deletes
}

// addition is what a batch adds to the log.
type addition struct {
	entry
	events, raw []byte
}

type resourceID struct{ owner, id string }

// begin reads what other processes have changed since the last transaction.
func (t *tx) begin() error {
	var version int64
	if _, err := t.one(noContext, "PRAGMA data_version", nil, &version); err != nil {
		return err
	}
	w := t.w
	if version != w.version || len(w.cache) > cacheResources {
		w.shared = w.shared || version != w.version && w.began
		w.began = true
		clear(w.cache)
		clear(w.byKey)
		fresh, err := readLog(noContext, t.conn, w.store.tail.last())
		if err != nil {
			return err
		}
		if err := w.store.tail.read(fresh); err != nil {
			return err
		}
		w.version = version
	}
	return nil
}

// resource returns the cached resource, nil if there is none. A caller that changes it
// also writes the change to the database: a rollback drops the whole cache.
func (t *tx) resource(owner, id string) (*resource, error) {
	k := resourceID{owner, id}
	if r := t.w.cache[k]; r != nil {
		return r, nil
	}
	if owner == core.AllOwners { // writes name one
		return nil, nil
	}
	r, found, err := readResource(noContext, t.conn, owner, id)
	if err != nil || !found {
		return nil, err
	}
	if list, digest := t.w.store.tail.of(r.key); len(list) > 0 {
		if end := list[len(list)-1]; end.row > r.packed {
			r.lastSeq, r.digest = int64(end.last), digest
		}
	}
	for i := range t.adds {
		if e := &t.adds[i].entry; e.resource == r.key {
			r.lastSeq, r.digest = int64(e.last), e.digest
		}
	}
	t.remember(k, &r)
	return &r, nil
}

func (t *tx) remember(k resourceID, r *resource) {
	t.w.cache[k], t.w.byKey[r.key] = r, k
}

// changed drops a resource from the cache, because its row changes.
func (t *tx) changed(key int64) {
	if k, ok := t.w.byKey[key]; ok {
		delete(t.w.cache, k)
		delete(t.w.byKey, key)
	}
}

func (t *tx) forget(owner, id string) {
	if r := t.w.cache[resourceID{owner, id}]; r != nil {
		t.changed(r.key)
	}
}

// log adds a batch's blocks to the log. Those of one resource stay in order.
func (t *tx) log(e entry, events, raw []byte) {
	t.adds = append(t.adds, addition{e, events, raw})
}

// flush writes the rows of the log. Resources are in them in order of their
// keys, so that packing some of them reads few rows.
func (t *tx) flush() error {
	order := make([]int, len(t.adds))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(t.adds[x].resource, t.adds[y].resource), cmp.Compare(x, y))
	})
	t.list = make([]entry, 0, len(t.adds))
	t.w.store.tail.resetReserved()
	end := t.w.store.tail.last()
	for _, i := range order {
		a := &t.adds[i]
		n := len(t.rows)
		if n == 0 || t.rows[n-1].size()+len(a.events)+len(a.raw)+entryBytes > rowBytes {
			var err error
			if end, err = t.addRow(end); err != nil {
				return err
			}
			n++
		}
		t.rows[n-1].add(&a.entry, a.events, a.raw)
		t.list = append(t.list, a.entry)
	}
	for i := range t.rows {
		if err := t.rows[i].write(t.conn); err != nil {
			return err
		}
	}
	return t.addSpareSlots()
}

// addRow begins a row at the end of the log, with the memory of an earlier
// transaction's if there is any, and returns the end behind it.
func (t *tx) addRow(end logPosition) (logPosition, error) {
	n := len(t.rows)
	if n == cap(t.rows) {
		t.rows = append(t.rows, logRow{})
	}
	t.rows = t.rows[:n+1]
	r := &t.rows[n]
	*r = logRow{id: end.id + 1, slot: end.next, dir: r.dir[:0], events: r.events[:0], raw: r.raw[:0]}
	var err error
	r.next, err = t.freeSlot()
	return logPosition{r.id, r.next}, err
}

// keep reserves the memory for the next transaction, up to keepAdds and keepRows.
func (t *tx) keep() {
	for i := range t.rows[:min(len(t.rows), keepRows)] {
		if r := &t.rows[i]; r.borrowed || cap(r.dir)+cap(r.events)+cap(r.raw) > 4*rowBytes {
			*r = logRow{}
		}
	}
	clear(t.adds) // nobody's blocks are held
	t.w.adds, t.w.rows = t.adds[:0:min(cap(t.adds), keepAdds)], t.rows[:0:min(cap(t.rows), keepRows)]
}

// committed updates the cache and the tail after a commit.
func (t *tx) committed() {
	s := t.w.store
	s.tail.add(t.rows, t.list)
	s.tail.addDead(t.made)
	if len(t.dropped) == 0 {
		return
	}
	s.looks.Lock()
	defer s.looks.Unlock()
	for _, key := range t.dropped {
		s.tail.drop(key, maxSeq, false)
	}
}

// keyUsed reports whether a key in a batch conflicts with a stored one.
func (t *tx) keyUsed(k core.KeyRecord) (bool, error) {
	old, used, err := findKey(noContext, t.conn, k)
	return used && !k.Completes(old), err
}
