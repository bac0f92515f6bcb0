package sqlitestore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/harness-mcp/harness-mcp/core"
)

// applicationID marks a database as ours, in the header field that SQLite has
// for this. It spells "hmcp".
const applicationID = 0x686d6370

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the scripts in order. Number n brings schema n-1 to n; one
// that was released is never edited.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var scripts []string
	for i, name := range names {
		var n int
		if _, err := fmt.Sscanf(path.Base(name), "%04d_", &n); err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s is not number %d", name, i+1)
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, string(text))
	}
	return scripts, nil
}

// migrate brings the database to the newest schema, all steps in one
// transaction, after a copy of the older database was stored beside it. It refuses,
// unchanged, a file that is not ours, a schema that is newer than this program,
// and an older one that another server still has open. The open lock is held.
func migrate(ctx context.Context, c *conn, file, dir string, scripts []string) error {
	version, err := inspect(ctx, c, file)
	if err != nil {
		return err
	}
	if version > len(scripts) {
		return core.Errorf(core.CodeStoreFailed, "the database %s has schema %d and this program knows %d", file, version, len(scripts)).
			WithHint("Run the newer harness-mcp that wrote it, or name another file with --db.")
	}
	if version == 0 { // only an empty file takes these
		for _, sql := range []string{pragma("page_size", pageSize), pragma("auto_vacuum", "INCREMENTAL")} {
			if err := c.script(sql); err != nil {
				return err
			}
		}
	}
	var mode string
	if _, err := c.one(ctx, "PRAGMA journal_mode = WAL", nil, &mode); err != nil {
		return err
	}
	if mode != "wal" {
		return core.Errorf(core.CodeStoreFailed, "the file system of %s cannot hold a write-ahead log", file).
			WithHint("Put the database on a local disk.")
	}
	if version == len(scripts) {
		return nil
	}
	if version > 0 {
		if err := beforeUpgrade(c, file, dir, version); err != nil {
			return err
		}
	}
	var b strings.Builder
	b.WriteString("BEGIN IMMEDIATE;\n")
	for _, sql := range scripts[version:] {
		b.WriteString(sql + "\n;")
	}
	b.WriteString(pragma("application_id", applicationID) + ";" + pragma("user_version", len(scripts)) + "; COMMIT")
	if err := c.script(b.String()); err != nil {
		_ = c.script("ROLLBACK") // what failed may have ended it
		return fmt.Errorf("migrating from schema %d to %d: %w", version, len(scripts), err)
	}
	return nil
}

// beforeUpgrade refuses to change the schema under a running server, and keeps
// a copy of the database as it is.
func beforeUpgrade(c *conn, file, dir string, version int) error {
	running, err := living(dir)
	if err != nil {
		return err
	}
	if len(running) > 0 {
		return core.Errorf(core.CodeStoreFailed, "%d older servers have the database %s open, which this version would change", len(running), file).
			WithHint("End them first: close the clients that started them. Nothing was changed.")
	}
	backup := fmt.Sprintf("%s.schema%d", file, version)
	if _, err := os.Stat(backup); err == nil {
		return nil // from an upgrade that was cut off: the database is what it was
	}
	part := backup + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := c.run("VACUUM INTO ?", part); err != nil {
		return fmt.Errorf("keeping a copy of the database before its upgrade: %w", err)
	}
	if err := os.Chmod(part, 0o600); err != nil {
		return err
	}
	return os.Rename(part, backup)
}

// inspect returns the schema version of a database of ours, 0 for an empty file.
func inspect(ctx context.Context, c *conn, file string) (version int, err error) {
	foreign := core.Errorf(core.CodeStoreFailed, "%s is not a database of harness-mcp", file).
		WithHint("Name another file with --db; this one was left as it is.")
	var app, user, tables int64
	for sql, into := range map[string]*int64{
		"PRAGMA application_id":              &app,
		"PRAGMA user_version":                &user,
		"SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if _, err := c.one(ctx, sql, nil, into); resultCode(err) == sqlite3.SQLITE_NOTADB {
			return 0, foreign
		} else if err != nil {
			return 0, err
		}
	}
	empty := app == 0 && user == 0 && tables == 0
	if app != applicationID && !empty {
		return 0, foreign
	}
	return int(user), nil
}
