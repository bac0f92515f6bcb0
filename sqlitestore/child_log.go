package sqlitestore

import (
	"context"
	"database/sql/driver"
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
)

// PutChild implements core.ChildLog.
func (s *Store) PutChild(ctx context.Context, child core.Child) error {
	child.At = child.At.Round(0).UTC()
	body, err := json.Marshal(child)
	if err != nil {
		return err
	}
	return s.write(ctx, "recording a child process", 1, 0, func(tx *tx) error {
		_, err := tx.run("INSERT OR REPLACE INTO child (instance, pid, body) VALUES (?, ?, ?)", child.Instance, child.PID, body)
		return err
	})
}

// DeleteChild implements core.ChildLog.
func (s *Store) DeleteChild(ctx context.Context, instance string, pid int) error {
	return s.write(ctx, "forgetting a child process", 1, 0, func(tx *tx) error {
		_, err := tx.run("DELETE FROM child WHERE instance = ? AND pid = ?", instance, pid)
		return err
	})
}

// Children implements core.ChildLog.
func (s *Store) Children(ctx context.Context, instance string) (children []core.Child, err error) {
	err = s.read(ctx, "listing child processes", func(c *conn) error {
		return c.query(ctx, "SELECT body FROM child WHERE ?1 = '' OR instance = ?1 ORDER BY instance, pid", []any{instance},
			func(row []driver.Value) (bool, error) {
				var child core.Child
				body, _ := row[0].([]byte)
				if err := decode(body, &child); err != nil {
					return false, err
				}
				children = append(children, child)
				return true, nil
			})
	})
	return children, err
}
