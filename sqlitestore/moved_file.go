package sqlitestore

import (
	"errors"
	"io/fs"
	"os"

	"github.com/harness-mcp/harness-mcp/core"
)

// checkFile reports whether the database still lies where it was opened. A file that
// was deleted or replaced can be written to until it is closed, and then all of
// it is gone without a word, so nothing is promised on it any more. It asks by
// the path alone and opens nothing. A file that is moved back serves again; what
// else lies there now is not this store's.
func (s *Store) checkFile() error {
	now, err := os.Stat(s.dbFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fileChanged("was deleted or moved away")
	case err == nil && !os.SameFile(s.file, now):
		return fileChanged("was replaced by another file")
	}
	return nil // what else is wrong with the path, SQLite meets if it matters
}

// reopen connects again to the database that Open has opened. It makes no new
// one where that is gone.
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
		Hint:    "Put the file back with its -wal beside it, or restart the server, which begins with what lies there then.",
	}
}
