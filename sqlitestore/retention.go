package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/harness-mcp/harness-mcp/core"
)

// DeleteEnded implements core.Store.
func (s *Store) DeleteEnded(ctx context.Context, owner, id, instance string, last uint64) (bool, error) {
	return s.deleteIf(ctx, owner, id, func(tx *tx, r *resource) (bool, error) {
		if r.instance != instance || r.lastSeq != int64(last) {
			return false, nil
		}
		var live int64
		found, err := tx.one(noContext, "SELECT live FROM snapshot WHERE id = ? AND kind = ? AND owner = ?", []any{id, r.kind, owner}, &live)
		return found && live == 0, err
	})
}

// Ended implements core.Store.
func (s *Store) Ended(ctx context.Context, limit int) (ended []core.EndedResource, err error) {
	err = s.read(ctx, "listing what has ended", func(c *conn) error {
		return s.lookAll(ctx, c, func(unpacked func(resource) []slice) error {
			return c.query(ctx, `SELECT r.owner, r.id, r.kind, r.instance, s.ended, r.key, r.packed, r.last_seq
				FROM snapshot s INDEXED BY snapshot_ended JOIN resource r ON r.key = s.resource
				WHERE s.live = 0 AND s.kind IN ('session', 'process') ORDER BY s.ended, s.id, s.owner LIMIT ?`, []any{pageRows(limit)},
				func(row []driver.Value) (bool, error) {
					r := resource{key: num(row[5]), packed: num(row[6]), lastSeq: num(row[7])}
					ended = append(ended, core.EndedResource{Owner: text(row[0]), ID: text(row[1]), Kind: core.ResourceKind(text(row[2])),
						Instance: text(row[3]), At: fromNanos(num(row[4])), LastSeq: lastOf(r, unpacked(r))})
					return true, nil
				})
		})
	})
	return ended, err
}

// Size implements core.Store: the pages in use, wherever they are.
func (s *Store) Size(ctx context.Context) (size int64, err error) {
	err = s.read(ctx, "measuring the database", func(c *conn) error {
		var pages, free, bytes int64
		for sql, into := range map[string]*int64{"PRAGMA page_count": &pages, "PRAGMA freelist_count": &free, "PRAGMA page_size": &bytes} {
			if _, err := c.one(ctx, sql, nil, into); err != nil {
				return err
			}
		}
		size = (pages - free) * bytes
		return nil
	})
	return size, err
}

func num(v driver.Value) int64   { n, _ := v.(int64); return n }
func text(v driver.Value) string { s, _ := v.(string); return s }
func blob(v driver.Value) []byte { b, _ := v.([]byte); return b }

// Check reads the whole database and says what is wrong with it.
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, "checking", func(c *conn) error {
		var verdict string
		_, err := c.one(ctx, "PRAGMA integrity_check", nil, &verdict)
		if err == nil && verdict != "ok" {
			err = core.Errorf(core.CodeStoreFailed, "the database is damaged: %s", verdict).
				WithHint("Move the file away and start again, or restore a copy.")
		}
		return err
	})
}

// Copy writes the database as it is now to a new file, compact and closed: a
// backup that may be taken while servers run.
func (s *Store) Copy(path string) error {
	c, err := open(s.dsn) // a reading connection may write nowhere
	if err == nil {
		_, err = c.run("VACUUM INTO ?", path)
		err = errors.Join(err, c.close())
	}
	return translate("copying the database", err)
}

// Pack moves what this server has in the log into chunks now, instead of when
// it is worth it, and returns the log's room back. Readers notice nothing.
func (s *Store) Pack(ctx context.Context) error {
	s.pack(ctx, true)
	s.shorten(ctx, 0)
	return ctx.Err()
}
