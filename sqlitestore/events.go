package sqlitestore

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// maxSeq is the highest seq that a row can hold.
const maxSeq = math.MaxInt64

// Events implements core.Store. An unknown resource has no events. A
// page holds at most 10,000 events.
func (s *Store) Events(ctx context.Context, q core.EventQuery) (events []core.Event, err error) {
	err = s.read(ctx, "reading the journal of "+q.Resource, func(c *conn) error {
		p := page{q: q, limit: pageRows(q.Limit)}
		p.events = make([]core.Event, 0, min(p.limit, roomForEvents))
		if len(q.Types) > 0 {
			p.mask = typeMask(q.Types...)
		}
		if err := s.fill(ctx, c, &p); err != nil {
			return err
		}
		if len(p.events) > 0 {
			events = p.events
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if q.Tail {
		slices.Reverse(events)
	}
	return events, nil
}

// page is a page of events while it is filled, the newest first for a tail.
type page struct {
	q      core.EventQuery
	limit  int
	mask   int64 // of the wanted types; 0 for all
	events []core.Event
	size   int
	full   bool
	row    logRow // of the log, read last: its slices mostly follow each other
}

// fill reads a page within one transaction, from the chunks and from the log.
func (s *Store) fill(ctx context.Context, c *conn, p *page) error {
	return s.look(ctx, c, p.q.Owner, p.q.Resource, func(r resource, list []slice) error {
		p.q.After = max(p.q.After, uint64(max(r.trimmed, 1))-1)
		if p.q.Tail {
			if err := p.fromLog(ctx, c, list); err != nil || p.full {
				return err
			}
			return p.fromChunks(ctx, c, r.key)
		}
		if err := p.fromChunks(ctx, c, r.key); err != nil || p.full {
			return err
		}
		return p.fromLog(ctx, c, list)
	})
}

// look calls f within a read transaction with a resource, if it is there, and
// its slices of the log as the transaction sees them.
func (s *Store) look(ctx context.Context, c *conn, owner, id string, f func(r resource, list []slice) error) error {
	return s.lookAll(ctx, c, func(unpacked func(resource) []slice) error {
		r, found, err := readResource(ctx, c, owner, id)
		if err != nil || !found {
			return err
		}
		return f(r, unpacked(r))
	})
}

// lookAll calls f within a read transaction, with what gives a resource's
// slices of the log as the transaction sees them.
func (s *Store) lookAll(ctx context.Context, c *conn, f func(unpacked func(resource) []slice) error) error {
	// A slice is dropped from the tail when its chunk is on disk and no look
	// is under way: one that is not in the tail now is in this transaction's
	// chunks.
	s.looks.RLock()
	defer s.looks.RUnlock()
	end := s.tail.last()
	return c.snapshot(func() error {
		fresh, err := readLog(ctx, c, end)
		if err != nil {
			return err
		}
		if err := s.tail.read(fresh); err != nil {
			return err
		}
		newest := end.id
		if n := len(fresh); n > 0 {
			newest = fresh[n-1].id
		}
		return f(func(r resource) []slice {
			// What has been added since is not in this transaction; what is in
			// its chunks the row tells.
			list, _ := s.tail.of(r.key)
			return slices.DeleteFunc(slices.Clone(list), func(x slice) bool { return x.row <= r.packed || x.row > newest })
		})
	})
}

// fromLog adds the events of slices.
func (p *page) fromLog(ctx context.Context, c *conn, list []slice) error {
	for i := range list {
		x := list[i]
		if p.q.Tail {
			x = list[len(list)-1-i]
		}
		if x.n == 0 || x.last <= p.q.After || p.q.Until != 0 && x.first > p.q.Until {
			continue
		}
		if x.row != p.row.id {
			var err error
			if p.row, err = readRow(ctx, c, x, p.q.Raw); err != nil {
				return err
			}
		}
		events, raw, err := p.row.cut(x, p.q.Raw)
		if err != nil {
			return err
		}
		if err := p.add(events, raw); err != nil || p.full {
			return err
		}
	}
	return nil
}

// fromChunks adds the events of chunks.
func (p *page) fromChunks(ctx context.Context, c *conn, resource int64) error {
	sql, args := selectChunks(p.q, p.mask, resource)
	var keys []int64
	err := c.query(ctx, sql, args, func(row []driver.Value) (bool, error) {
		keys = append(keys, num(row[0]))
		return len(keys) < chunksAtOnce, nil
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		events, raw, err := readChunk(ctx, c, key, p.q.Raw)
		if err != nil {
			return err
		}
		if err := p.add(events, raw); err != nil || p.full {
			return err
		}
	}
	if len(keys) < chunksAtOnce {
		return nil
	}
	return p.behind(ctx, c, resource, keys[len(keys)-1])
}

// behind reads the chunks after one.
func (p *page) behind(ctx context.Context, c *conn, resource, chunk int64) error {
	var first, last int64
	if _, err := c.one(ctx, "SELECT first, last FROM chunk WHERE key = ?", []any{chunk}, &first, &last); err != nil {
		return err
	}
	if p.q.Tail {
		p.q.Until = uint64(first) - 1
		if p.q.Until == 0 {
			return nil
		}
	} else {
		p.q.After = uint64(last)
	}
	return p.fromChunks(ctx, c, resource)
}

// selectChunks finds the chunks that may hold events of a page, by an index
// alone.
func selectChunks(q core.EventQuery, mask, resource int64) (sql string, args []any) {
	var b strings.Builder
	after, until := min(q.After, maxSeq), min(cmp.Or(q.Until, maxSeq), maxSeq)
	if q.TurnID != "" {
		b.WriteString(`SELECT c.key FROM chunk_turn t JOIN chunk c ON c.key = t.chunk
			WHERE t.resource = ? AND t.turn = ? AND c.last > ? AND c.first <= ?`)
		args = []any{resource, q.TurnID, after, until}
	} else {
		b.WriteString("SELECT c.key FROM chunk c INDEXED BY chunk_by_seq WHERE c.resource = ? AND c.last > ? AND c.first <= ?")
		args = []any{resource, after, until}
	}
	if mask != 0 {
		b.WriteString(" AND c.types & ? != 0")
		args = append(args, mask)
	}
	order := "c.last"
	if q.TurnID != "" {
		order = "t.chunk" // keys rise with seq
	}
	b.WriteString(" ORDER BY " + order)
	if q.Tail {
		b.WriteString(" DESC")
	}
	return b.String(), args
}

// add takes what matches from a block, in the order of the page.
func (p *page) add(data, raw []byte) error {
	var all []core.Event // of the block, for a tail
	f, raws := framesOf(data), rawFrames{reader: reader{data: raw}}
	for f.next() {
		if p.q.Until != 0 && f.seq > p.q.Until {
			break
		}
		if !p.wants(&f.frame) {
			continue
		}
		ev := f.event(p.q.Resource)
		if p.q.Raw {
			ev.Raw = raws.of(f.seq)
		}
		if p.q.Tail {
			all = append(all, ev)
		} else if !p.take(ev) {
			break
		}
	}
	slices.Reverse(all)
	for _, ev := range all {
		if !p.take(ev) {
			break
		}
	}
	if raws.bad {
		return errBlock
	}
	return f.err()
}

func (p *page) wants(f *frame) bool {
	return f.seq > p.q.After && (p.q.TurnID == "" || f.turn == p.q.TurnID) &&
		(len(p.q.Types) == 0 || f.mask()&p.mask != 0 && slices.Contains(p.q.Types, f.kind()))
}

// take adds an event unless the page is full.
func (p *page) take(ev core.Event) (more bool) {
	p.size += len(ev.Data) + len(ev.Raw)
	if len(p.events) == p.limit || len(p.events) > 0 && p.q.MaxBytes > 0 && p.size > p.q.MaxBytes {
		p.full = true
		return false
	}
	p.events = append(p.events, ev)
	p.full = len(p.events) == p.limit
	return !p.full
}

// LastSeq implements core.Store. It stays when events are trimmed.
func (s *Store) LastSeq(ctx context.Context, owner, id string) (last uint64, err error) {
	err = s.read(ctx, "reading the cursor of "+id, func(c *conn) error {
		return s.look(ctx, c, owner, id, func(r resource, list []slice) error {
			last = lastOf(r, list)
			return nil
		})
	})
	return last, err
}

func lastOf(r resource, list []slice) uint64 {
	if n := len(list); n > 0 {
		return list[n-1].last
	}
	return uint64(r.lastSeq)
}

// pageRows is how many rows a page with this limit holds at most.
func pageRows(limit int) int {
	if limit <= 0 {
		return core.DefaultPage
	}
	return min(limit, maxRows)
}

// jsonList is a list as one argument for json_each.
func jsonList[T any](list []T) string {
	b, _ := json.Marshal(list) // strings and numbers always marshal
	return string(b)
}
