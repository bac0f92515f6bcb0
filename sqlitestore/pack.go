package sqlitestore

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Packing moves slices of the log into chunks. A server packs what its own
// sessions wrote; the elected one also what dead servers left. Readers return the
// same events before, during and after.

// pack packs the resources that are due, or with all every one that is this server's. It
// reports whether something of this server's is left.
func (s *Store) pack(ctx context.Context, all bool) (more bool) {
	begin := time.Now()
	keys := s.tail.dueForPacking(begin, all)
	for some := range slices.Chunk(keys, packWrites) {
		for left := true; left; {
			if !all && time.Since(begin) > packFor {
				return true
			}
			jobs, last, err := s.prepare(ctx, some)
			if err == nil && len(jobs) > 0 {
				err = s.writePacked(ctx, jobs)
			}
			if err != nil {
				return true // tried again at the next tick
			}
			left = !last
		}
	}
	return s.hasOwnSlices()
}

// hasOwnSlices reports whether something is in the log that this server may pack.
func (s *Store) hasOwnSlices() bool {
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	keys := s.tail.withSlices()
	for _, key := range keys {
		if !s.foreign[key] {
			return true
		}
	}
	return false
}

// packing is what replaces a resource's slices.
type packing struct {
	key        int64
	was, now   int64 // packed, before and after
	last       uint64
	digest     [digestBytes]byte
	merge      int64 // the last chunk, if it is written again; 0 for none
	mergeTurns []string
	left       []slice
	chunker
	gone bool
}

// prepare reads slices of resources, if they are this server's to pack, row
// after row, and makes chunks of them, up to packAtOnce. It reports whether these are
// the last.
func (s *Store) prepare(ctx context.Context, keys []int64) (jobs []*packing, last bool, err error) {
	var others []int64
	err = s.withReader(ctx, func(c *conn) error {
		return s.lookAll(ctx, c, func(unpacked func(resource) []slice) error {
			for _, key := range keys {
				r := resource{key: key}
				found, err := c.one(ctx, "SELECT instance, packed, trimmed FROM resource WHERE key = ?", []any{key}, &r.instance, &r.packed, &r.trimmed)
				if err != nil {
					return err
				}
				list := unpacked(r)
				switch {
				case !found: // its slices are dead
					jobs = append(jobs, &packing{key: key, gone: true})
					continue
				case !s.mayPack(r.instance):
					others = append(others, key)
					continue
				case len(list) == 0:
					continue
				}
				p := &packing{key: key, was: r.packed, left: list, chunker: chunker{after: uint64(max(r.trimmed, 1)) - 1}}
				_, p.digest = s.tail.of(key)
				jobs = append(jobs, p)
			}
			return packRows(ctx, c, jobs)
		})
	})
	last = true
	for _, p := range jobs {
		p.close()
		last = last && len(p.left) == 0
	}
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	for _, key := range others {
		s.foreign[key] = true
	}
	return slices.DeleteFunc(jobs, func(p *packing) bool { return !p.gone && p.now == 0 }), last, err
}

// packRows hands slices to their chunks, row by row in the order of writing, so
// that each row is read once. A row is packed whole: its id says how far a
// resource is.
func packRows(ctx context.Context, c *conn, jobs []*packing) error {
	for room := packAtOnce; room > 0; {
		first := firstSlice(jobs)
		if first == nil {
			return nil
		}
		row, err := readRow(ctx, c, *first, true)
		if err != nil {
			return err
		}
		for _, p := range jobs {
			for len(p.left) > 0 && p.left[0].row == row.id {
				n, err := p.next(ctx, c, &row)
				if err != nil {
					return err
				}
				room -= n
			}
		}
	}
	return nil
}

// firstSlice returns the slice that was written first, nil if there is none.
func firstSlice(jobs []*packing) (first *slice) {
	for _, p := range jobs {
		if len(p.left) > 0 && (first == nil || p.left[0].row < first.row) {
			first = &p.left[0]
		}
	}
	return first
}

// next hands a resource's next slice to its chunks, and returns how long it was.
func (p *packing) next(ctx context.Context, c *conn, row *logRow) (bytes int, err error) {
	x := p.left[0]
	if p.now == 0 {
		if err := p.reopen(ctx, c); err != nil {
			return 0, err
		}
	}
	events, raw, err := row.cut(x, true)
	if err != nil {
		return 0, err
	}
	if err := p.add(events, raw); err != nil {
		return 0, err
	}
	p.now, p.last, p.left = x.row, x.last, p.left[1:]
	return len(events) + len(raw), nil
}

// mayPack reports whether this server packs what an instance owns.
func (s *Store) mayPack(instance string) bool {
	instance, _, _ = strings.Cut(instance, ":") // a session that is being opened
	return instance == s.id || !s.Alive(instance) && s.Elected()
}

// reopen continues the last chunk of the resource, if that is small.
func (p *packing) reopen(ctx context.Context, c *conn) error {
	var key, n int64
	var head []byte
	found, err := c.one(ctx, "SELECT key, n, substr(data, 1, ?) FROM chunk WHERE resource = ? ORDER BY last DESC LIMIT 1", []any{frameHead, p.key}, &key, &n, &head)
	if err != nil || !found || n > chunkEvents/2 {
		return err
	}
	var h zstd.Header
	if err := h.Decode(head); err != nil {
		return err
	}
	if h.FrameContentSize > chunkBytes/2 {
		return nil
	}
	events, raw, err := readChunk(ctx, c, key, true)
	if err != nil {
		return err
	}
	if p.mergeTurns, err = turnsIn(events); err != nil {
		return err
	}
	p.merge = key
	return p.add(events, raw)
}

// writePacked puts chunks in the place of slices. A resource that was deleted
// or packed meanwhile is left alone.
func (s *Store) writePacked(ctx context.Context, jobs []*packing) error {
	var done []*packing
	err := s.write(ctx, "packing", packWrites, 0, func(tx *tx) error {
		done = done[:0]
		for _, p := range jobs {
			if p.gone {
				p.now = maxSeq
				done = append(done, p)
				continue
			}
			n, err := tx.run("UPDATE resource SET packed = ?, last_seq = ?, last_batch = ? WHERE key = ? AND packed = ?", p.now, p.last, p.digest[:], p.key, p.was)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if p.merge != 0 {
				if err := dropChunkOf(tx, p.key, p.merge, p.mergeTurns); err != nil {
					return err
				}
			}
			for i := range p.done {
				if err := p.done[i].put(tx, p.key); err != nil {
					return err
				}
			}
			done = append(done, p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.looks.Lock() // until the looks that began before are over
	defer s.looks.Unlock()
	for _, p := range done {
		s.tail.drop(p.key, p.now, false)
	}
	return nil
}

// review compares the tail with what other servers have packed and deleted,
// and takes over what no other server packs.
func (s *Store) review(ctx context.Context) error {
	keys := s.tail.withSlices()
	packed := map[int64]int64{}
	var there map[int64]int64
	newest := s.tail.last().id
	err := s.withReader(ctx, func(c *conn) error {
		return c.snapshot(func() error {
			err := c.query(ctx, "SELECT key, packed FROM resource WHERE key IN (SELECT value FROM json_each(?))", []any{jsonList(keys)},
				func(row []driver.Value) (bool, error) {
					packed[num(row[0])] = num(row[1])
					return true, nil
				})
			if err != nil {
				return err
			}
			there, err = slotsOf(ctx, c)
			return err
		})
	})
	if err != nil {
		return err
	}
	s.looks.Lock()
	defer s.looks.Unlock()
	for _, key := range keys {
		upTo, ok := packed[key]
		if !ok {
			upTo = newest // deleted; a newer resource has another key
		}
		s.tail.drop(key, upTo, true)
	}
	s.tail.reviewRows(there, newest)
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	clear(s.foreign)
	return nil
}
