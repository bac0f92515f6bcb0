package sqlitestore

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/harness-mcp/harness-mcp/core"
)

// applicationID marks a database as ours, in the header field that SQLite has
// for this. It spells "hmcp".
const applicationID = 0x686d6370

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations gives the scripts in order. Number n brings schema n-1 to n; one
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

// migrate brings the database to the newest schema, each step in a transaction
// of its own. It refuses, unchanged, a file that is not ours and a schema that
// is newer than this program. The open lock is held.
func migrate(ctx context.Context, c *conn, file string) error {
	scripts, err := migrations()
	if err != nil {
		return err
	}
	version, err := inspect(ctx, c, file)
	if err != nil {
		return err
	}
	if version > len(scripts) {
		return core.Errorf(core.CodeStoreFailed, "the database %s has schema %d and this program knows %d", file, version, len(scripts)).
			WithHint("Run the newer harness-mcp that wrote it, or name another file with --db.")
	}
	if version == 0 { // only an empty file takes its page size
		if err := c.script(pragma("page_size", pageSize) + ";" + pragma("auto_vacuum", "INCREMENTAL")); err != nil {
			return err
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
	for n := version; n < len(scripts); n++ {
		step := "BEGIN IMMEDIATE;\n" + scripts[n] + "\n;" +
			pragma("application_id", applicationID) + ";" + pragma("user_version", n+1) + "; COMMIT"
		if err := c.script(step); err != nil {
			return fmt.Errorf("migrating to schema %d: %w", n+1, err)
		}
	}
	return nil
}

// inspect gives the schema version of a database of ours, 0 for an empty file.
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
