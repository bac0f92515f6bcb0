package sqlitestore

import (
	"errors"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/harness-mcp/harness-mcp/core"
)

// errClosed is the error of a closed store.
var errClosed = &core.Error{Code: core.CodeStoreFailed, Message: "the store is closed"}

// refusal reports whether err is the store's answer rather than its failure:
// nothing was written for it and others in the same group are not concerned.
func refusal(err error) bool {
	var conflict *core.ConflictError
	var coded *core.Error
	return errors.As(err, &conflict) || errors.As(err, &coded)
}

// failureOr is the failure of a look-up if there is one, else the refusal that
// follows from what it found.
func failureOr(failure, refusal error) error {
	if failure != nil {
		return failure
	}
	return refusal
}

// translate returns the error that callers get. Everything that comes from
// SQLite, the file system or an ended context is CodeStoreFailed with its
// cause; refusals stay as they are.
func translate(doing string, err error) error {
	if err == nil || refusal(err) {
		return err
	}
	failed := &core.Error{Code: core.CodeStoreFailed, Message: doing + " failed", Err: err}
	if core.IsContext(err) {
		failed.Message = doing + ": the wait for the store ended"
		return failed
	}
	switch {
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		failed.Message = doing + " failed: the files cannot be written (" + plainCause(err) + ")"
		failed.Hint = "Check the owner and mode of the database file and its directory, or name another file with --db."
	case errors.Is(err, syscall.ENOSPC):
		failed.Message = doing + ": the disk is full"
		failed.Hint = "Free space where the database is, or name another file with --db."
	case resultCode(err) == 0:
		failed.Message = doing + " failed: " + err.Error()
	}
	switch resultCode(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		failed.Message = doing + ": another process holds the database"
		failed.Retryable = true
	case sqlite3.SQLITE_FULL:
		failed.Message = doing + ": the disk is full"
		failed.Hint = "Free space where the database is; prune deletes ended resources."
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		failed.Message = doing + ": the database cannot be written"
		failed.Hint = "Check the owner and mode of the database file and its directory."
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		failed.Message = doing + ": the database is damaged"
		failed.Hint = "Move the file away and start again, or restore a copy."
	case sqlite3.SQLITE_IOERR:
		failed.Message = doing + ": the disk reported an error"
	}
	return failed
}

// plainCause is what the system said, without the call and the path.
func plainCause(err error) string {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// resultCode is SQLite's primary result code, 0 for another error.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// brokenConnection reports whether err may come from what a connection holds, such
// as its view of the file, so that a new one is worth a try.
func brokenConnection(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN:
		return true
	}
	return false
}

// standsAlone reports whether err may be the fault of one write of a group, so
// that the others are worth another attempt without it. A disk that is full
// or broken, or a lock that is held, would fail them all alike.
func standsAlone(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return false
	}
	return true
}
