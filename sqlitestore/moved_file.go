package sqlitestore

import (
	"errors"
	"io/fs"
	"os"

	"github.com/harness-mcp/harness-mcp/core"
)

// checkFile returns CodeStoreFailed if the path no longer names the file that was
// opened. A deleted or replaced file can be written to until it is closed, and then all
// of it is lost, so no commit is accepted on it. It calls stat and opens nothing. A
// file that is moved back is accepted again.
func (s *Store) checkFile() error {
	now, err := os.Stat(s.dbFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fileChanged("was deleted or moved away")
	case err == nil && !os.SameFile(s.file, now):
		return fileChanged("was replaced by another file")
	}
	return nil // SQLite reports other errors of the path where they matter
}

// reopen connects again to the file that Open has opened. It never creates one.
func (s *Store) reopen(setup ...string) (*conn, error) {
	if err := s.checkFile(); err != nil {
		return nil, err
	}
	return open(s.dsn+"&mode=rw", setup...)
}

func fileChanged(what string) error {
	return &core.Error{
		Code:    core.CodeStoreFailed,
		Message: "the database file " + what + " while the server runs",
		Hint:    "Put the file back together with its -wal file, or restart the server, which opens the file at the path then.",
	}
}
