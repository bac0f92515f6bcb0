package sqlitestore

import (
	"context"
	"database/sql/driver"
	"slices"
)

// Slots of the log are written again when their rows are dead. Several servers may
// know the same dead row: the one that takes its slot checks within the transaction
// that the row is still there. The slot in next of the newest row is reserved for the
// next row, whichever server writes it.

// deadRow is a row without slices that are not packed.
type deadRow struct {
	id, slot int64
	long     bool // it takes more than a page, which its slot should not keep
	doubt    bool // another row may have taken its slot
}

// markDead records that all slices of a row are packed. t.mu is held.
func (t *tail) markDead(id int64, doubt bool) {
	h := t.rows[id]
	delete(t.rows, id)
	t.dead = append(t.dead, deadRow{id, h.slot, h.long, doubt})
}

// reserveDead returns a dead row whose slot may be written again, the last one
// first: the fewer different pages are written, the fewer a checkpoint moves.
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

// resetReserved begins a transaction. A review during one may find rows whose slots
// it has taken and which still look dead.
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
// are more than keep. The newest row stays, so that ids never repeat.
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

// addSpareSlots makes growSlots slots for later transactions, if there is none left.
// Each begins with an empty row of id 0.
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

// addDead adds rows that are dead from the start.
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

// shortenIdle is shorten for an idle store, which keeps fewer slots.
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

// reviewRows compares the known rows with the stored ones, given as ids by slot, up to
// row newest. It removes rows that another server has overwritten, and adds dead rows
// that no server knows any more.
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

// slotsOf returns the id of the row in each slot of the log.
func slotsOf(ctx context.Context, c *conn) (map[int64]int64, error) {
	there := map[int64]int64{}
	err := c.query(ctx, "SELECT slot, id FROM log", nil, func(row []driver.Value) (bool, error) {
		there[num(row[0])] = num(row[1])
		return true, nil
	})
	return there, err
}
