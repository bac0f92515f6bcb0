package sqlitestore

import (
	"context"
	"database/sql/driver"
	"strings"
	"time"
)

// Packing moves slices of the log into chunks. A server packs what its own
// sessions wrote; the elected one also what dead servers left. Readers see no
// difference, before, after or between.

// pack packs what is worth it, or with all everything that is this server's,
// and says whether something of its own is left for later.
func (s *Store) pack(ctx context.Context, all bool) (more bool) {
	keys := s.tail.ripe(time.Now(), all)
	if len(keys) > packResources && !all {
		keys, more = keys[:packResources], true
	}
	for len(keys) > 0 {
		jobs, n, err := s.prepare(ctx, keys)
		if err == nil && len(jobs) > 0 {
			err = s.writePacked(ctx, jobs)
		}
		if err != nil {
			return true // met again at the next tick
		}
		keys = keys[n:]
	}
	s.deleteDead(ctx)
	return more || s.waiting()
}

// waiting says whether something is in the log that this server may pack.
func (s *Store) waiting() bool {
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	keys, _ := s.tail.known()
	for _, key := range keys {
		if !s.foreign[key] {
			return true
		}
	}
	return false
}

// packing is what replaces a resource's slices.
type packing struct {
	key      int64
	was, now int64 // packed, before and after
	last     uint64
	digest   [digestBytes]byte
	merge    int64 // the last chunk, if it is written again; 0 for none
	chunks   []chunk
	gone     bool
}

// portion is the part of a resource's slices that is packed at once.
func portion(list []slice, room int) (part []slice, bytes int) {
	for i, x := range list {
		// A row is packed whole: what is packed is known by the last row.
		if bytes >= room && i > 0 && x.row != list[i-1].row {
			return list[:i], bytes
		}
		bytes += int(x.size) + int(x.rawLen)
	}
	return list, bytes
}

// prepare reads slices of resources, if they are this server's to pack, and
// makes chunks of them, up to packAtOnce. It says how many of the resources are
// done with that: the next one may have more.
func (s *Store) prepare(ctx context.Context, keys []int64) (jobs []packing, n int, err error) {
	var others []int64
	var rows rowCache // resources share the rows of the log
	room := packAtOnce
	err = s.withReader(ctx, func(c *conn) error {
		return s.lookAll(ctx, c, func(unpacked func(resource) []slice) error {
			for ; n < len(keys) && room > 0 && len(jobs) < packWrites; n++ {
				r := resource{key: keys[n]}
				found, err := c.one(ctx, "SELECT instance, packed, trimmed FROM resource WHERE key = ?", []any{r.key}, &r.instance, &r.packed, &r.trimmed)
				if err != nil {
					return err
				}
				list := unpacked(r)
				switch {
				case !found: // its slices are dead
					jobs = append(jobs, packing{key: r.key, gone: true})
					continue
				case !s.packs(r.instance):
					others = append(others, r.key)
					continue
				case len(list) == 0:
					continue
				}
				part, bytes := portion(list, room)
				room -= bytes
				p := packing{key: r.key, was: r.packed}
				if err := p.read(ctx, c, r, part, &rows); err != nil {
					return err
				}
				if _, p.digest = s.tail.of(r.key); len(part) < len(list) {
					p.digest = [digestBytes]byte{} // the log tells it
					n--
					room = 0
				}
				jobs = append(jobs, p)
			}
			return nil
		})
	})
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	for _, key := range others {
		s.foreign[key] = true
	}
	return jobs, n, err
}

// packs says whether this server packs what an instance owns.
func (s *Store) packs(instance string) bool {
	instance, _, _ = strings.Cut(instance, ":") // a session that is being opened
	return instance == s.id || !s.Alive(instance) && s.Elected()
}

// read makes chunks of the slices, behind the events of a small last chunk.
func (p *packing) read(ctx context.Context, c *conn, r resource, list []slice, rows *rowCache) error {
	pack := chunker{after: uint64(max(r.trimmed, 1)) - 1}
	var key, n, size int64
	found, err := c.one(ctx, "SELECT key, n, length(data) FROM chunk WHERE resource = ? ORDER BY last DESC LIMIT 1", []any{r.key}, &key, &n, &size)
	if err != nil {
		return err
	}
	if found && n <= chunkEvents/2 && size <= chunkBytes/16 {
		events, raw, err := readChunk(ctx, c, key, true)
		if err != nil {
			return err
		}
		if err := pack.add(events, raw); err != nil {
			return err
		}
		p.merge = key
	}
	for _, x := range list {
		events, raw, err := rows.slice(ctx, c, x, true)
		if err != nil {
			return err
		}
		if err := pack.add(events, raw); err != nil {
			return err
		}
	}
	end := list[len(list)-1]
	p.now, p.last, p.chunks = end.row, end.last, pack.close()
	return nil
}

// writePacked puts chunks in the place of slices. A resource that was deleted
// or packed meanwhile is left alone.
func (s *Store) writePacked(ctx context.Context, jobs []packing) error {
	var done []packing
	err := s.write(ctx, "packing", packWrites, 0, func(tx *tx) error {
		done = done[:0]
		for _, p := range jobs {
			if p.gone {
				done = append(done, packing{key: p.key, now: maxSeq})
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
				if err := dropChunk(tx, p.key, p.merge); err != nil {
					return err
				}
			}
			for i := range p.chunks {
				if err := p.chunks[i].put(tx, p.key); err != nil {
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
		s.tail.drop(p.key, p.now)
	}
	return nil
}

// deleteDead deletes rows of the log that nothing needs any more.
func (s *Store) deleteDead(ctx context.Context) {
	for {
		ids := s.tail.takeDead(deadRows)
		if len(ids) == 0 {
			return
		}
		err := s.write(ctx, "shortening the log", len(ids), 0, func(tx *tx) error {
			for _, id := range ids {
				if _, err := tx.run("DELETE FROM log WHERE id = ?", id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return // the next review finds them again
		}
	}
}

// review compares the tail with what other servers have packed and deleted,
// and takes up what nobody else packs any more.
func (s *Store) review(ctx context.Context) error {
	keys, rows := s.tail.known()
	packed := map[int64]int64{}
	there := map[int64]bool{}
	newest := s.tail.last()
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
			return c.query(ctx, "SELECT id FROM log", nil, func(row []driver.Value) (bool, error) {
				there[num(row[0])] = true
				return true, nil
			})
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
		s.tail.drop(key, upTo)
	}
	var gone []int64
	for _, id := range rows {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	s.tail.forget(gone)
	s.tail.revive(there, newest)
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	clear(s.foreign)
	return nil
}
