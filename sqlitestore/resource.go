package sqlitestore

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
)

// resource is a row of that table. Of the writer's own, digest and lastSeq are
// those of the last commit, packed or not.
type resource struct {
	key      int64
	kind     string
	provider string
	instance string
	packed   int64
	lastSeq  int64
	digest   [digestBytes]byte
	trimmed  int64
}

// noContext is for reads within a transaction of the writer: they are point
// look-ups, and an interrupt would break the writes of others.
var noContext = context.Background()

// readResource reads a resource's row. With AllOwners an id that several owners
// chose means the newest.
func readResource(ctx context.Context, c *conn, owner, id string) (r resource, found bool, err error) {
	sql, args := "SELECT key, kind, provider, instance, packed, last_seq, last_batch, trimmed FROM resource WHERE id = ? ", []any{id}
	if owner == core.AllOwners {
		sql += "ORDER BY key DESC LIMIT 1"
	} else {
		sql, args = sql+"AND owner = ?", append(args, owner)
	}
	var digest []byte
	found, err = c.one(ctx, sql, args, &r.key, &r.kind, &r.provider, &r.instance, &r.packed, &r.lastSeq, &digest, &r.trimmed)
	copy(r.digest[:], digest)
	return r, found, err
}

// dropResource deletes a resource and its snapshots and dooms its events.
func dropResource(tx *tx, key int64) error {
	tx.changed(key)
	tx.dropped = append(tx.dropped, key)
	for _, sql := range []string{
		"DELETE FROM snapshot WHERE resource = ?",
		"DELETE FROM answer WHERE resource = ?",
		"DELETE FROM resource WHERE key = ?",
		"INSERT INTO doomed (resource) VALUES (?)",
	} {
		if _, err := tx.run(sql, key); err != nil {
			return err
		}
	}
	return noteErase(tx)
}

// Delete implements core.Store. The resource is gone at once and as a whole;
// its events, which nothing finds any more, are deleted portion by portion
// before Delete returns, or later should ctx end.
func (s *Store) Delete(ctx context.Context, owner, id string) error {
	_, err := s.deleteIf(ctx, owner, id, func(*tx, *resource) (bool, error) { return true, nil })
	return err
}

func (s *Store) deleteIf(ctx context.Context, owner, id string, may func(tx *tx, r *resource) (bool, error)) (deleted bool, err error) {
	const doing = "deleting"
	err = s.write(ctx, doing, 1, 0, func(tx *tx) error {
		deleted = false
		r, err := tx.resource(owner, id)
		if err != nil || r == nil {
			return err
		}
		if ok, err := may(tx, r); err != nil || !ok {
			return err
		}
		deleted = true
		return dropResource(tx, r.key)
	})
	if err != nil || !deleted {
		return false, err
	}
	for more := true; err == nil && more; {
		err = s.write(ctx, doing, sweepRows, 0, func(tx *tx) (err error) {
			if more, err = tx.one(noContext, "SELECT 1 FROM doomed LIMIT 1", nil); err != nil {
				return err
			}
			return sweepStep(tx)
		})
	}
	return true, nil // the rest of the sweeping is the checkpointer's
}

// Trim implements core.Store.
func (s *Store) Trim(ctx context.Context, owner, id string, before uint64) error {
	for more := true; more; {
		err := s.write(ctx, "trimming "+id, sweepRows, 0, func(tx *tx) error {
			r, err := tx.resource(owner, id)
			if more = false; err != nil || r == nil {
				return err
			}
			tx.changed(r.key)
			seq := min(int64(min(before, maxSeq-1)), r.lastSeq+1) // what comes later is not meant
			if _, err := tx.run("UPDATE resource SET trimmed = max(trimmed, ?) WHERE key = ?", seq, r.key); err != nil {
				return err
			}
			n, err := dropChunks(tx, r.key, seq)
			if more = n == sweepRows; err == nil {
				err = noteErase(tx)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Claim implements core.Store.
func (s *Store) Claim(ctx context.Context, owner, id, from, to string) (claimed bool, err error) {
	var n int64
	err = s.write(ctx, "claiming "+id, 1, 0, func(tx *tx) (err error) {
		tx.forget(owner, id)
		n, err = tx.run("UPDATE resource SET instance = ? WHERE id = ? AND owner = ? AND instance = ?", to, id, owner, from)
		return err
	})
	return err == nil && n == 1, err
}
