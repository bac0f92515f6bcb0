package sqlitestore

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"math"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// A commit is written to the log: a table in the order of writing, without an
// index. A row holds slices of several resources, one after another, and a
// directory that names the resource of each, so that a transaction of a hundred
// batches writes a few full pages and nothing else. Each process reads every
// directory once and keeps where a resource's slices are. The packer moves
// slices into chunks, which are indexed; a row whose slices have all been moved
// is dead, and its slot is written again.

// slice is one batch's events within a row of the log, or some of them.
type slice struct {
	row, slot     int64
	first, last   uint64
	n             uint32
	at, size      uint32 // where its events are in the row
	rawAt, rawLen uint32
}

// entry is a slice's entry in a row's directory.
type entry struct {
	slice
	resource int64
	digest   [digestBytes]byte // of the batch
}

// digestBytes is the length of a batch's digest.
const digestBytes = len(core.BatchDigest{})

// logRow is a row that is being filled or has been read.
type logRow struct {
	id, slot, next   int64
	dir, events, raw []byte
	borrowed         bool // the blocks are a batch's own
}

// add appends a batch's blocks to the row and sets their offsets in e. Blocks that fill
// a row alone are not copied.
func (r *logRow) add(e *entry, events, raw []byte) {
	e.row, e.slot, e.at, e.size = r.id, r.slot, uint32(len(r.events)), uint32(len(events))
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

// empty reports whether a row has no entries.
func (r *logRow) empty() bool { return len(r.dir) == 0 }

func (r *logRow) size() int { return len(r.dir) + len(r.events) + len(r.raw) }

// pad returns how many bytes a row lacks of full pages. SQLite would join a row that
// leaves most of a page free with its neighbours, and would leave most of the first
// page free for one that is a little too long.
func (r *logRow) pad() int {
	n := r.size()
	if n <= rowBytes {
		return rowBytes - n
	}
	return overflowPage - 1 - (n-rowBytes-1)%overflowPage
}

// entries reads a row's directory.
func (r *logRow) entries() (out []entry, err error) {
	d := reader{data: r.dir}
	var at, rawAt uint64
	for len(d.data) > 0 {
		e := entry{resource: int64(d.uvarint())}
		e.row, e.slot, e.first, e.last, e.n = r.id, r.slot, d.uvarint(), d.uvarint(), uint32(d.uvarint())
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

// logPosition is a position in the log: the id of the row that was read last, and the
// slot of the row after it.
type logPosition struct{ id, next int64 }

// start is the position before the first row.
var start = logPosition{next: 1}

// readLog reads the directories of the rows after a position, except dead ones. It
// follows next from row to row. Where a slot was reused in the meantime it reads all
// rows instead.
func readLog(ctx context.Context, c *conn, at logPosition) (rows []logRow, err error) {
	for {
		var r logRow
		found, err := c.one(ctx, "SELECT slot, id, next, dir FROM log WHERE slot = ?", []any{at.next}, &r.slot, &r.id, &r.next, &r.dir)
		if err != nil {
			return nil, err
		}
		if !found || r.id == 0 { // a slot that was never written, or not since it was made again
			if lost, err := highestDeletedRow(ctx, c); err != nil || lost <= at.id {
				return rows, err
			}
		} else if r.id <= at.id {
			return rows, nil // it is free for the row to come
		} else if r.id == at.id+1 {
			rows, at = append(rows, r), logPosition{r.id, r.next}
			continue
		}
		rest, err := scanLog(ctx, c, at.id)
		return append(rows, rest...), err
	}
}

// scanLog reads the directories of all rows behind one.
func scanLog(ctx context.Context, c *conn, after int64) (rows []logRow, err error) {
	err = c.query(ctx, "SELECT slot, id, next, dir FROM log WHERE id > ?", []any{after}, func(row []driver.Value) (bool, error) {
		rows = append(rows, logRow{slot: num(row[0]), id: num(row[1]), next: num(row[2]), dir: blob(row[3])})
		return true, nil
	})
	slices.SortFunc(rows, func(x, y logRow) int { return cmp.Compare(x.id, y.id) })
	return rows, err
}

// readRow reads the events of a slice's row, and with raw the frames.
func readRow(ctx context.Context, c *conn, x slice, raw bool) (row logRow, err error) {
	sql := "SELECT events FROM log WHERE slot = ? AND id = ?"
	dest := []any{&row.events}
	if raw {
		sql, dest = "SELECT events, raw FROM log WHERE slot = ? AND id = ?", append(dest, &row.raw)
	}
	row.id = x.row
	found, err := c.one(ctx, sql, []any{x.slot, x.row}, dest...)
	if err == nil && !found {
		err = errBlock
	}
	return row, err
}

// cut returns a slice's blocks.
func (r *logRow) cut(x slice, raw bool) (events, frames []byte, err error) {
	if uint64(x.at)+uint64(x.size) > uint64(len(r.events)) || raw && uint64(x.rawAt)+uint64(x.rawLen) > uint64(len(r.raw)) {
		return nil, nil, errBlock
	}
	events = r.events[x.at : x.at+x.size]
	if raw {
		frames = r.raw[x.rawAt : x.rawAt+x.rawLen]
	}
	return events, frames, nil
}

// write puts a row into its slot.
func (r *logRow) write(c *conn) error {
	_, err := c.run("REPLACE INTO log (slot, id, next, dir, events, raw, pad) VALUES (?, ?, ?, ?, ?, ?, zeroblob(?))",
		r.slot, r.id, r.next, notNull(r.dir), notNull(r.events), notNull(r.raw), r.pad())
	return err
}

func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
