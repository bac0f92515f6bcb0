package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"modernc.org/sqlite"
)

// conn is one SQLite connection with its prepared statements. It uses
// the driver directly: database/sql would add a lock, a pool and a copy to
// each of the many small statements of a commit. One goroutine uses it at a
// time.
type conn struct {
	c          driver.Conn
	statements map[string]driver.Stmt
}

// open connects to the database that dsn names and runs the statements that
// set the connection up.
func open(dsn string, setup ...string) (*conn, error) {
	raw, err := (&sqlite.Driver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	c := &conn{c: raw, statements: map[string]driver.Stmt{}}
	setup = append([]string{pragma("busy_timeout", busyTimeout.Milliseconds()), pragma("temp_store", "MEMORY")}, setup...)
	for _, sql := range setup {
		if err := c.script(sql); err != nil {
			_ = c.close() // the cause is what matters
			return nil, err
		}
	}
	return c, nil
}

func pragma(name string, value any) string { return fmt.Sprintf("PRAGMA %s = %v", name, value) }

// prepare returns the statement for sql, kept for the next use.
func (c *conn) prepare(sql string) (driver.Stmt, error) {
	if s, ok := c.statements[sql]; ok {
		return s, nil
	}
	if len(c.statements) >= maxStatements {
		for text, s := range c.statements { // any one: this is a bound, not a cache policy
			delete(c.statements, text)
			if err := s.Close(); err != nil {
				return nil, err
			}
			break
		}
	}
	s, err := c.c.Prepare(sql)
	if err != nil {
		return nil, err
	}
	c.statements[sql] = s
	return s, nil
}

// exec runs a statement and returns the number of rows it changed and the rowid
// of the last one it inserted.
func (c *conn) exec(sql string, args ...any) (driver.Result, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	return s.(driver.StmtExecContext).ExecContext(context.Background(), bind(args))
}

// run is exec for callers that want the number of changed rows only.
func (c *conn) run(sql string, args ...any) (changed int64, err error) {
	r, err := c.exec(sql, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// script runs statements that are not worth keeping prepared.
func (c *conn) script(sql string) error {
	s, err := c.c.Prepare(sql)
	if err != nil {
		return err
	}
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return errors.Join(err, s.Close())
}

// query runs a statement and calls each with its rows until each says stop.
// The row is valid during the call; blobs and texts in it may be kept.
func (c *conn) query(ctx context.Context, sql string, args []any, each func(row []driver.Value) (more bool, err error)) (err error) {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := rows.Next(row); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if more, err := each(row); err != nil || !more {
			return err
		}
	}
}

// one reads a single row into dest: pointers to int64, string or []byte.
func (c *conn) one(ctx context.Context, sql string, args []any, dest ...any) (found bool, err error) {
	err = c.query(ctx, sql, args, func(row []driver.Value) (bool, error) {
		found = true
		for i, d := range dest {
			switch d := d.(type) {
			case *int64:
				*d, _ = row[i].(int64)
			case *string:
				*d, _ = row[i].(string)
			case *[]byte:
				*d, _ = row[i].([]byte)
			}
		}
		return false, nil
	})
	return found, err
}

// snapshot runs f within a read transaction: all of its queries see the same
// committed state.
func (c *conn) snapshot(f func() error) error {
	if _, err := c.run("BEGIN"); err != nil {
		return err
	}
	err := f()
	_, end := c.run("COMMIT")
	return errors.Join(err, end)
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

// bind numbers the arguments and turns them into what the driver takes.
func bind(args []any) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		out[i].Ordinal = i + 1
		switch v := a.(type) {
		case int:
			out[i].Value = int64(v)
		case uint64:
			out[i].Value = int64(v)
		case bool:
			out[i].Value = int64(0)
			if v {
				out[i].Value = int64(1)
			}
		case time.Time:
			out[i].Value = nanos(v)
		case []byte:
			if v != nil { // a nil slice would be stored as an empty blob
				out[i].Value = v
			}
		default:
			out[i].Value = v
		}
	}
	return out
}
