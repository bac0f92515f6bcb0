package sqlitestore

import "context"

// resource is a row of that table.
type resource struct {
	key       int64
	kind      string
	instance  string
	lastSeq   int64
	lastBatch []byte
}

// noContext is for reads within a transaction of the writer: they are point
// look-ups, and an interrupt would break the writes of others.
var noContext = context.Background()

func findResource(tx *conn, owner, id string) (r resource, found bool, err error) {
	found, err = tx.one(noContext, "SELECT key, kind, instance, last_seq, last_batch FROM resource WHERE id = ? AND owner = ?",
		[]any{id, owner}, &r.key, &r.kind, &r.instance, &r.lastSeq, &r.lastBatch)
	return r, found, err
}

// dropResource deletes a resource and its snapshots and dooms its events.
func dropResource(tx *conn, key int64) error {
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
	return nil
}

// Delete implements core.Store. The resource is gone at once and as a whole;
// its events, which nothing finds any more, are deleted portion by portion
// before Delete returns, or later should ctx end.
func (s *Store) Delete(ctx context.Context, owner, id string) error {
	_, err := s.deleteIf(ctx, owner, id, func(*conn, resource) (bool, error) { return true, nil })
	return err
}

func (s *Store) deleteIf(ctx context.Context, owner, id string, may func(tx *conn, r resource) (bool, error)) (deleted bool, err error) {
	const doing = "deleting"
	err = s.write(ctx, doing, 1, 0, func(tx *conn) error {
		deleted = false
		r, ok, err := findResource(tx, owner, id)
		if err == nil && ok {
			ok, err = may(tx, r)
		}
		if err != nil || !ok {
			return err
		}
		deleted = true
		return dropResource(tx, r.key)
	})
	if err != nil || !deleted {
		return false, err
	}
	for more := true; err == nil && more; {
		err = s.write(ctx, doing, sweepRows, 0, func(tx *conn) (err error) {
			if more, err = tx.one(noContext, "SELECT 1 FROM doomed LIMIT 1", nil); err != nil {
				return err
			}
			return sweepStep(tx)
		})
	}
	return true, nil // the rest of the sweeping is the checkpointer's
}

// Trim implements core.Store. It deletes portion by portion, so that a reader
// may meanwhile see a journal that begins earlier.
func (s *Store) Trim(ctx context.Context, owner, resource string, before uint64) error {
	for {
		var n int64
		err := s.write(ctx, "trimming "+resource, sweepRows, 0, func(tx *conn) error {
			n = 0
			r, found, err := findResource(tx, owner, resource)
			if err == nil && found {
				n, err = dropEvents(tx, r.key, min(before, maxSeq))
			}
			return err
		})
		if err != nil || n < sweepRows {
			return err
		}
	}
}

// Claim implements core.Store.
func (s *Store) Claim(ctx context.Context, owner, id, from, to string) (claimed bool, err error) {
	var n int64
	err = s.write(ctx, "claiming "+id, 1, 0, func(tx *conn) (err error) {
		n, err = tx.run("UPDATE resource SET instance = ? WHERE id = ? AND owner = ? AND instance = ?", to, id, owner, from)
		return err
	})
	return err == nil && n == 1, err
}
