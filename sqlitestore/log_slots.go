package sqlitestore

import (
	"context"
	"database/sql/driver"
	"slices"
)

// Slots of the log are written again when their rows are dead. Several servers
// may know the same dead row: whoever takes its slot looks, within the
// transaction, that it is still there. The slot that the newest row leads to is
// for the next row, whoever writes that, and nobody takes it for another.

// deadRow is a row that nothing needs any more.
type deadRow struct {
	id, slot int64
	long     bool // it takes more than a page, which its slot should not keep
	doubt    bool // another row may have taken its slot
}

// markDead notes that a row has nothing left. t.mu is held.
func (t *tail) markDead(id int64, doubt bool) {
	h := t.rows[id]
	delete(t.rows, id)
	t.dead = append(t.dead, deadRow{id, h.slot, h.long, doubt})
}

// reserveDead returns a dead row whose slot may be written again. The last one that died
// comes first: the fewer pages are written in turns, the fewer a checkpoint
// moves.
func (t *tail) reserveDead() (deadRow, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.dead) - 1; i >= 0; i-- {
		if d := t.dead[i]; !d.long && d.slot != t.end.next && !t.reserved[d.slot] {
			t.dead = slices.Delete(t.dead, i, i+1)
			t.reserved[d.slot] = true
			return d, true
		}
	}
	return deadRow{}, false
}

// resetReserved is for the beginning of a transaction. A review during one
// may meet rows whose slots it has taken, which still look dead then.
func (t *tail) resetReserved() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.reserved)
}

// newSlot returns a slot that no row has had.
func (t *tail) newSlot() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.top = max(t.top, t.end.next) + 1
	return t.top
}

// takeSurplus takes dead rows that are to be deleted: all long ones, and those that
// are more than keep. The newest row stays, so that ids only ever rise.
func (t *tail) takeSurplus(keep, most int) (rows []deadRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	short := 0
	t.dead = slices.DeleteFunc(t.dead, func(d deadRow) bool {
		if !d.long {
			short++
		}
		goes := (d.long || short > keep) && d.id < t.end.id && d.slot != t.end.next && len(rows) < most
		if goes {
			rows = append(rows, d)
		}
		return goes
	})
	return rows
}

// freeSlot finds the slot for the row behind the next one.
func (t *tx) freeSlot() (int64, error) {
	for {
		d, ok := t.w.store.tail.reserveDead()
		if !ok {
			return t.w.store.tail.newSlot(), nil
		}
		if !d.doubt && !t.w.shared {
			return d.slot, nil
		}
		same, err := t.one(noContext, "SELECT 1 FROM log WHERE slot = ? AND id = ?", []any{d.slot, d.id})
		if err != nil || same {
			return d.slot, err
		}
	}
}

// addSpareSlots makes slots for the transactions to come, if there is none left. They
// begin with a row that was never written: number 0.
func (t *tx) addSpareSlots() error {
	tail := t.w.store.tail
	if n := len(t.rows); n == 0 || n > growFor || tail.hasFreeSlot() {
		return nil
	}
	for range growSlots {
		r := logRow{slot: tail.newSlot()}
		if err := r.write(t.conn); err != nil {
			return err
		}
		t.made = append(t.made, deadRow{slot: r.slot})
	}
	return nil
}

// hasFreeSlot reports whether a slot can be taken.
func (t *tail) hasFreeSlot() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.dead, func(d deadRow) bool { return !d.long && d.slot != t.end.next && !t.reserved[d.slot] })
}

// addDead takes rows over that are dead from the beginning.
func (t *tail) addDead(rows []deadRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dead = append(t.dead, rows...)
}

// lastDeletedRow is the name in meta of the highest id of a row that was deleted.
const lastDeletedRow = "log_shortened"

// highestDeletedRow returns the highest id of a row that was deleted.
func highestDeletedRow(ctx context.Context, c *conn) (id int64, err error) {
	_, err = c.one(ctx, "SELECT value FROM meta WHERE name = ?", []any{lastDeletedRow}, &id)
	return id, err
}

// shorten deletes dead rows, but for some whose slots are kept, and reports whether
// there were any.
func (s *Store) shorten(ctx context.Context, keep int) (found bool) {
	for range deadAtOnce {
		rows := s.tail.takeSurplus(keep, deadRows)
		if len(rows) == 0 {
			return found
		}
		found = true
		err := s.write(ctx, "shortening the log", len(rows), 0, func(tx *tx) error { return tx.deleteRows(rows) })
		if err != nil {
			break // the next review finds them again
		}
	}
	return found
}

// shortenIdle is shorten for a store that has nothing to do.
func (s *Store) shortenIdle() (found bool) {
	ctx, cancel := context.WithTimeout(context.Background(), busyTimeout)
	defer cancel()
	return s.shorten(ctx, keepIdleSlots)
}

func (t *tx) deleteRows(rows []deadRow) error {
	highest, err := highestDeletedRow(noContext, t.conn)
	if err != nil {
		return err
	}
	for _, d := range rows {
		if _, err := t.run("DELETE FROM log WHERE slot = ? AND id = ?", d.slot, d.id); err != nil {
			return err
		}
		highest = max(highest, d.id)
	}
	_, err = t.run("REPLACE INTO meta (name, value) VALUES (?, ?)", lastDeletedRow, highest)
	return err
}

// reviewRows compares what is known of the log's rows with what is there, as ids
// by slot: some have made way for others, and of some nobody knows any more that
// they are dead. Meanwhile that may have changed.
func (t *tail) reviewRows(there map[int64]int64, newest int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := map[int64]bool{}
	for id, h := range t.rows {
		if there[h.slot] != id && id <= newest {
			delete(t.rows, id)
			continue
		}
		held[h.slot] = true
	}
	dead := map[int64]bool{}
	t.dead = slices.DeleteFunc(t.dead, func(d deadRow) bool {
		id, ok := there[d.slot]
		dead[d.slot] = true
		return (!ok || id != d.id) && d.id <= newest
	})
	for slot, id := range there {
		t.top = max(t.top, slot) // others make slots, too
		if id <= newest && !held[slot] && !dead[slot] && slot != t.end.next {
			t.dead = append(t.dead, deadRow{id: id, slot: slot, doubt: true})
		}
	}
}

// slotsOf reads which row is in each slot of the log.
func slotsOf(ctx context.Context, c *conn) (map[int64]int64, error) {
	there := map[int64]int64{}
	err := c.query(ctx, "SELECT slot, id FROM log", nil, func(row []driver.Value) (bool, error) {
		there[num(row[0])] = num(row[1])
		return true, nil
	})
	return there, err
}
