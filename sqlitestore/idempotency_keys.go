package sqlitestore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Key implements core.Store.
func (s *Store) Key(ctx context.Context, owner, tool, key string) (k core.KeyRecord, err error) {
	err = s.read(ctx, "looking an idempotency key up", func(c *conn) error {
		stored, found, err := findKey(ctx, c, core.KeyRecord{Owner: owner, Tool: tool, Key: key})
		if err == nil && !found {
			err = core.Errorf(core.CodeNotFound, "the idempotency key is free")
		}
		k = stored
		return err
	})
	return k, err
}

func findKey(ctx context.Context, c *conn, k core.KeyRecord) (stored core.KeyRecord, found bool, err error) {
	var body []byte
	found, err = c.one(ctx, "SELECT body FROM idempotency_key WHERE owner = ? AND tool = ? AND key = ?",
		[]any{k.Owner, k.Tool, k.Key}, &body)
	if err == nil && found {
		err = decode(body, &stored)
	}
	return stored, found, err
}

// PutKey implements core.Store.
func (s *Store) PutKey(ctx context.Context, k core.KeyRecord) error {
	return s.write(ctx, "keeping an idempotency key", 1, 0, func(tx *tx) error {
		if _, used, err := findKey(noContext, tx.conn, k); err != nil || used {
			return failureOr(err, &core.ConflictError{Kind: "key", ID: k.Key})
		}
		return putKey(tx, k)
	})
}

// putKey stores a key, over its claim if there is one.
func putKey(tx *tx, k core.KeyRecord) error {
	k.At = k.At.Round(0).UTC()
	body, err := json.Marshal(k)
	if err != nil {
		return err
	}
	_, err = tx.run("INSERT OR REPLACE INTO idempotency_key (owner, tool, key, at, body) VALUES (?, ?, ?, ?, ?)",
		k.Owner, k.Tool, k.Key, k.At, body)
	return err
}

// DeleteKey implements core.Store.
func (s *Store) DeleteKey(ctx context.Context, owner, tool, key string) error {
	return s.write(ctx, "freeing an idempotency key", 1, 0, func(tx *tx) error {
		_, err := tx.run("DELETE FROM idempotency_key WHERE owner = ? AND tool = ? AND key = ?", owner, tool, key)
		return err
	})
}

// SweepKeys implements core.Store.
func (s *Store) SweepKeys(ctx context.Context, before time.Time) error {
	return s.write(ctx, "sweeping idempotency keys", sweepRows, 0, func(tx *tx) error {
		if _, err := tx.run("DELETE FROM answer WHERE at < ?", before); err != nil {
			return err
		}
		_, err := tx.run("DELETE FROM idempotency_key WHERE at < ?", before)
		return err
	})
}
