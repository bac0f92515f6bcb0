package sqlitestore

import (
	"github.com/harness-mcp/harness-mcp/core"
)

// tx is one transaction of the writer, for a whole group of writes. It knows
// resources as they are with what the group has done so far.
type tx struct {
	*conn
	w       *writer
	rows    []logRow // of the log, to be inserted at the end
	next    int64    // id of the next row of the log
	dropped []int64  // resources that the group deletes
}

type resourceID struct{ owner, id string }

// begin sees to what other processes have done since the last transaction.
func (t *tx) begin() error {
	var version int64
	if _, err := t.one(noContext, "PRAGMA data_version", nil, &version); err != nil {
		return err
	}
	w := t.w
	if version != w.version || len(w.cache) > cacheResources {
		w.cache, w.byKey = map[resourceID]*resource{}, map[int64]resourceID{}
		fresh, err := readLog(noContext, t.conn, w.store.tail.last())
		if err != nil {
			return err
		}
		if err := w.store.tail.add(fresh); err != nil {
			return err
		}
		w.version = version
	}
	t.next = w.store.tail.last() + 1
	return nil
}

// resource gives a resource as it is now.
func (t *tx) resource(owner, id string) (r resource, found bool, err error) {
	k := resourceID{owner, id}
	if r := t.w.cache[k]; r != nil {
		return *r, true, nil
	}
	if owner == core.AllOwners { // writes name one
		return r, false, nil
	}
	r, found, err = readResource(noContext, t.conn, owner, id)
	if err != nil || !found {
		return r, found, err
	}
	for _, x := range t.w.store.tail.of(r.key) {
		if x.row > r.packed {
			r.lastSeq, r.digest = int64(x.last), x.digest[:]
		}
	}
	for i := range t.rows {
		list, err := t.rows[i].slices()
		if err != nil {
			return r, false, err
		}
		for _, x := range list {
			if x.resource == r.key {
				r.lastSeq, r.digest = int64(x.last), x.digest[:]
			}
		}
	}
	t.remember(k, r)
	return r, true, nil
}

func (t *tx) remember(k resourceID, r resource) {
	t.w.cache[k], t.w.byKey[r.key] = &r, k
}

// changed forgets a resource whose row is changed or which has slices in rows
// that are not written yet.
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

// log puts a batch's blocks into the log.
func (t *tx) log(x slice, events, raw []byte) {
	n := len(t.rows)
	if n == 0 || t.rows[n-1].size()+len(events)+len(raw)+2*digestBytes > rowBytes {
		t.rows = append(t.rows, logRow{id: t.next})
		t.next++
		n++
	}
	t.rows[n-1].add(x, events, raw)
}

// flush writes the rows of the log.
func (t *tx) flush() error {
	for _, r := range t.rows {
		if _, err := t.run("INSERT INTO log (id, dir, events, raw) VALUES (?, ?, ?, ?)", r.id, r.dir, notNull(r.events), notNull(r.raw)); err != nil {
			return err
		}
	}
	return nil
}

func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// committed takes over what is on disk now.
func (t *tx) committed() {
	s := t.w.store
	if err := s.tail.add(t.rows); err != nil {
		t.w.version = 0 // not one of ours: rows that are ours can be read
	}
	if len(t.dropped) == 0 {
		return
	}
	s.looks.Lock()
	defer s.looks.Unlock()
	for _, key := range t.dropped {
		s.tail.drop(key, maxSeq)
	}
}

// keyUsed says whether a key in a batch clashes with a stored one.
func (t *tx) keyUsed(k core.KeyRecord) (bool, error) {
	old, used, err := findKey(noContext, t.conn, k)
	return used && !k.Completes(old), err
}
