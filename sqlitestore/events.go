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

// Events implements core.Store. A resource that is not there has no events. A
// page holds at most 10,000 events.
func (s *Store) Events(ctx context.Context, q core.EventQuery) (events []core.Event, err error) {
	sql, args := selectEvents(q)
	size := 0
	err = s.read(ctx, "reading the journal of "+q.Resource, func(c *conn) error {
		return c.query(ctx, sql, args, func(row []driver.Value) (bool, error) {
			ev := scanEvent(q.Resource, row)
			size += len(ev.Data) + len(ev.Raw)
			if len(events) > 0 && q.MaxBytes > 0 && size > q.MaxBytes {
				return false, nil
			}
			events = append(events, ev)
			return true, nil
		})
	})
	if err != nil {
		return nil, err
	}
	if q.Tail {
		slices.Reverse(events)
	}
	return events, nil
}

// selectEvents builds the statement for a query. There are few different ones,
// so that they stay prepared: lists go in as one JSON argument.
func selectEvents(q core.EventQuery) (sql string, args []any) {
	var b strings.Builder
	b.WriteString("SELECT e.seq, e.version, e.at, e.type, e.turn, e.request, e.provider, e.id, e.data")
	if q.Raw {
		b.WriteString(", r.frame")
	}
	index := "event_by_seq"
	if q.TurnID != "" {
		index = "event_by_turn"
	}
	b.WriteString(" FROM event e INDEXED BY " + index)
	if q.Raw {
		b.WriteString(" LEFT JOIN raw_frame r ON r.event = e.key")
	}
	resource, owner := resourceKey(q.Owner, q.Resource)
	b.WriteString(" WHERE e.resource = " + resource + " AND e.seq > ? AND e.seq <= ?")
	args = append(owner, min(q.After, maxSeq), min(cmp.Or(q.Until, maxSeq), maxSeq))
	if q.TurnID != "" {
		b.WriteString(" AND e.turn = ?")
		args = append(args, q.TurnID)
	}
	if len(q.Types) > 0 {
		b.WriteString(" AND e.type IN (SELECT value FROM json_each(?))")
		args = append(args, jsonList(q.Types))
	}
	b.WriteString(" ORDER BY e.seq")
	if q.Tail {
		b.WriteString(" DESC")
	}
	b.WriteString(" LIMIT ?")
	return b.String(), append(args, pageRows(q.Limit))
}

// resourceKey is the SQL for a resource's key and the arguments it takes. With
// AllOwners an id that several owners chose means the newest.
func resourceKey(owner, id string) (sql string, args []any) {
	if owner == core.AllOwners {
		return "(SELECT max(key) FROM resource WHERE id = ?)", []any{id}
	}
	return "(SELECT key FROM resource WHERE id = ? AND owner = ?)", []any{id, owner}
}

func scanEvent(resource string, row []driver.Value) core.Event {
	ev := core.Event{
		Resource:      resource,
		Seq:           uint64(num(row[0])),
		SchemaVersion: int(num(row[1])),
		At:            fromNanos(num(row[2])),
		Type:          core.EventType(text(row[3])),
		TurnID:        text(row[4]),
		RequestID:     text(row[5]),
		Provider:      text(row[6]),
		ID:            text(row[7]),
		Data:          blob(row[8]),
	}
	if len(row) > 9 {
		ev.Raw = blob(row[9])
	}
	return ev
}

// LastSeq implements core.Store. It stays when events are trimmed.
func (s *Store) LastSeq(ctx context.Context, owner, resource string) (uint64, error) {
	key, args := resourceKey(owner, resource)
	var seq int64
	err := s.read(ctx, "reading the cursor of "+resource, func(c *conn) error {
		_, err := c.one(ctx, "SELECT last_seq FROM resource WHERE key = "+key, args, &seq)
		return err
	})
	return uint64(seq), err
}

// pageRows is how many rows a page with this limit holds at most.
func pageRows(limit int) int {
	if limit <= 0 {
		return core.DefaultPage
	}
	return min(limit, maxRows)
}

// jsonList is a list of strings as one argument for json_each.
func jsonList[S ~string](list []S) string {
	b, _ := json.Marshal(list) // strings always marshal
	return string(b)
}
