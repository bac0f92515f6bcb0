package sqlitestore

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// Session implements core.Store.
func (s *Store) Session(ctx context.Context, owner, id string) (core.SessionRecord, error) {
	rec, in, err := get[core.SessionRecord](ctx, s, core.KindSession, owner, id)
	rec.Instance = in
	return rec, err
}

// Turn implements core.Store.
func (s *Store) Turn(ctx context.Context, owner, id string) (core.TurnRecord, error) {
	rec, _, err := get[core.TurnRecord](ctx, s, core.KindTurn, owner, id)
	return rec, err
}

// Request implements core.Store.
func (s *Store) Request(ctx context.Context, owner, id string) (core.Request, error) {
	rec, _, err := get[core.Request](ctx, s, core.KindRequest, owner, id)
	return rec, err
}

// Process implements core.Store.
func (s *Store) Process(ctx context.Context, owner, id string) (core.ProcessRecord, error) {
	rec, in, err := get[core.ProcessRecord](ctx, s, core.KindProcess, owner, id)
	rec.Instance = in
	return rec, err
}

// get reads one snapshot and the instance that owns its resource.
func get[T any](ctx context.Context, s *Store, kind core.ResourceKind, owner, id string) (rec T, instance string, err error) {
	sql := `SELECT s.body, r.instance FROM snapshot s JOIN resource r ON r.key = s.resource
		WHERE s.id = ? AND s.kind = ?`
	args := []any{id, string(kind)}
	if owner == core.AllOwners {
		sql += " ORDER BY s.key DESC LIMIT 1"
	} else {
		sql += " AND s.owner = ?"
		args = append(args, owner)
	}
	err = s.read(ctx, "reading "+id, func(c *conn) error {
		var body []byte
		found, err := c.one(ctx, sql, args, &body, &instance)
		if err != nil {
			return err
		}
		if !found {
			return core.Errorf(core.CodeNotFound, "there is no %s %s", kind, id)
		}
		return decode(body, &rec)
	})
	return rec, instance, err
}

// Sessions implements core.Store.
func (s *Store) Sessions(ctx context.Context, q core.ListQuery) ([]core.SessionRecord, error) {
	return list(ctx, s, core.KindSession, q, func(r *core.SessionRecord, in string) { r.Instance = in })
}

// Turns implements core.Store.
func (s *Store) Turns(ctx context.Context, q core.ListQuery) ([]core.TurnRecord, error) {
	return list(ctx, s, core.KindTurn, q, func(*core.TurnRecord, string) {})
}

// Requests implements core.Store.
func (s *Store) Requests(ctx context.Context, q core.ListQuery) ([]core.Request, error) {
	return list(ctx, s, core.KindRequest, q, func(*core.Request, string) {})
}

// Processes implements core.Store.
func (s *Store) Processes(ctx context.Context, q core.ListQuery) ([]core.ProcessRecord, error) {
	return list(ctx, s, core.KindProcess, q, func(r *core.ProcessRecord, in string) { r.Instance = in })
}

// list reads a page of snapshots of one kind, newest first. A page holds at
// most 10,000 rows.
func list[T any](ctx context.Context, s *Store, kind core.ResourceKind, q core.ListQuery, own func(*T, string)) ([]T, error) {
	sql, args, err := selectList(kind, q)
	if err != nil {
		return nil, err
	}
	var out []T
	err = s.read(ctx, "listing", func(c *conn) error {
		return c.query(ctx, sql, args, func(row []driver.Value) (bool, error) {
			var rec T
			body, _ := row[0].([]byte)
			instance, _ := row[1].(string)
			if err := decode(body, &rec); err != nil {
				return false, err
			}
			own(&rec, instance)
			out = append(out, rec)
			return true, nil
		})
	})
	return out, err
}

// selectList builds the statement for a page. A filter that a kind of row does
// not know matches none of them.
func selectList(kind core.ResourceKind, q core.ListQuery) (sql string, args []any, err error) {
	var b strings.Builder
	index := ""
	if q.SessionID != "" { // the planner would rather walk all of the owner's rows in order
		index = "INDEXED BY snapshot_by_resource "
	}
	b.WriteString("SELECT s.body, r.instance FROM snapshot s " + index + "JOIN resource r ON r.key = s.resource WHERE s.kind = ?")
	args = []any{string(kind)}
	where := func(on bool, cond string, a ...any) {
		if on {
			b.WriteString(" AND " + cond)
			args = append(args, a...)
		}
	}
	switch {
	case q.SessionID == "":
	case q.Owner == core.AllOwners:
		where(true, "s.resource IN (SELECT key FROM resource WHERE id = ? AND kind = ?)", q.SessionID, string(core.KindSession))
	default:
		where(true, "s.resource = (SELECT key FROM resource WHERE id = ? AND owner = ? AND kind = ?)", q.SessionID, q.Owner, string(core.KindSession))
	}
	where(q.Owner != core.AllOwners, "s.owner = ?", q.Owner)
	where(q.TurnID != "", "s.turn = ?", q.TurnID)
	where(q.Provider != "", "r.provider = ?", q.Provider)
	where(q.Instance != "", "r.instance = ?", q.Instance)
	where(len(q.Status) > 0, "s.status IN (SELECT value FROM json_each(?))", jsonList(q.Status))
	if q.Live != nil && *q.Live {
		where(true, "s.live = 1") // written out, so that the index of live rows applies
	} else if q.Live != nil {
		where(true, "s.live = 0")
	}
	where(!q.EndedBefore.IsZero(), "s.live = 0 AND s.ended < ?", q.EndedBefore)
	if q.Before != "" {
		p, err := core.ParseCursor(q.Before)
		if err != nil {
			return "", nil, err
		}
		where(true, "(s.created, s.id) < (?, ?)", p.At, p.ID)
	}
	b.WriteString(" ORDER BY s.created DESC, s.id DESC, s.owner LIMIT ?")
	return b.String(), append(args, pageRows(q.Limit)), nil
}

// decode reads a stored body.
func decode(body []byte, into any) error { return json.Unmarshal(body, into) }
