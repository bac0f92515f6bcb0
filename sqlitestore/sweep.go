package sqlitestore

import "context"

// sweepDoomed deletes a portion of the events of deleted resources and says
// whether there was any. Failures are met again at the next tick.
func (s *Store) sweepDoomed() (found bool) {
	ctx, cancel := context.WithTimeout(context.Background(), busyTimeout)
	defer cancel()
	_ = s.read(ctx, "sweeping", func(c *conn) (err error) {
		found, err = c.one(ctx, "SELECT 1 FROM doomed LIMIT 1", nil)
		return err
	})
	if found {
		_ = s.write(ctx, "sweeping", sweepRows, 0, sweepStep)
	}
	return found
}

// sweepStep deletes one portion of one deleted resource's events.
func sweepStep(tx *conn) error {
	var resource int64
	found, err := tx.one(context.Background(), "SELECT resource FROM doomed LIMIT 1", nil, &resource)
	if err != nil || !found {
		return err
	}
	n, err := dropEvents(tx, resource, maxSeq)
	if err == nil && n < sweepRows {
		_, err = tx.run("DELETE FROM doomed WHERE resource = ?", resource)
	}
	return err
}

// dropEvents deletes at most sweepRows events of a resource before seq, oldest
// first, and says how many.
func dropEvents(tx *conn, resource int64, before uint64) (int64, error) {
	const oldest = "(SELECT key FROM event INDEXED BY event_by_seq WHERE resource = ? AND seq < ? ORDER BY seq LIMIT ?)"
	if _, err := tx.run("DELETE FROM raw_frame WHERE event IN "+oldest, resource, before, sweepRows); err != nil {
		return 0, err
	}
	return tx.run("DELETE FROM event WHERE key IN "+oldest, resource, before, sweepRows)
}
