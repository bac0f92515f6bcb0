package sqlitestore

import (
	"context"
	"database/sql/driver"
)

// sweepDeleted deletes a portion of the events of deleted resources and
// reports whether there was any. A failure is tried again at the next tick.
func (s *Store) sweepDeleted() (found bool) {
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
func sweepStep(tx *tx) error {
	var resource int64
	found, err := tx.one(noContext, "SELECT resource FROM doomed LIMIT 1", nil, &resource)
	if err != nil || !found {
		return err
	}
	n, err := dropChunks(tx, resource, maxSeq)
	if err == nil && n < sweepRows {
		_, err = tx.run("DELETE FROM doomed WHERE resource = ?", resource)
	}
	return err
}

// dropChunks deletes at most sweepRows chunks of a resource that end before
// seq, oldest first, and returns how many.
func dropChunks(tx *tx, resource, seq int64) (n int, err error) {
	var keys []int64
	err = tx.query(noContext, "SELECT key FROM chunk INDEXED BY chunk_by_seq WHERE resource = ? AND last < ? ORDER BY last LIMIT ?",
		[]any{resource, seq, sweepRows}, func(row []driver.Value) (bool, error) {
			keys = append(keys, num(row[0]))
			return true, nil
		})
	for _, key := range keys {
		if err == nil {
			err = dropChunk(tx, resource, key)
		}
	}
	return len(keys), err
}

func dropChunk(tx *tx, resource, key int64) error {
	var data []byte
	if _, err := tx.one(noContext, "SELECT data FROM chunk WHERE key = ?", []any{key}, &data); err != nil {
		return err
	}
	events, err := decompress(data)
	if err != nil {
		return err
	}
	turns, err := turnsIn(events)
	if err != nil {
		return err
	}
	return dropChunkOf(tx, resource, key, turns)
}

// dropChunkOf deletes a chunk that has events of these turns.
func dropChunkOf(tx *tx, resource, key int64, turns []string) error {
	for _, turn := range turns {
		if _, err := tx.run("DELETE FROM chunk_turn WHERE resource = ? AND turn = ? AND chunk = ?", resource, turn, key); err != nil {
			return err
		}
	}
	if _, err := tx.run("DELETE FROM chunk_raw WHERE chunk = ?", key); err != nil {
		return err
	}
	_, err := tx.run("DELETE FROM chunk WHERE key = ?", key)
	return err
}
