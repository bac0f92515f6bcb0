package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

// onWriter runs statements on the writing connection.
func onWriter(t *testing.T, s *Store, statements ...string) {
	t.Helper()
	err := s.write(t.Context(), "preparing", 1, 0, func(tx *tx) error {
		for _, sql := range statements {
			if err := tx.script(sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFullDiskFailsTheCommitAndLeavesNoHalf(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	if err := s.Commit(t.Context(), newSession("s", 1)); err != nil {
		t.Fatal(err)
	}
	onWriter(t, s, pragma("max_page_count", 40))
	last := uint64(1)
	var failed error
	for failed == nil {
		if failed = s.Commit(t.Context(), furtherBatch("s", last, 100)); failed == nil {
			last += 100
		}
	}
	var coded *core.Error
	if !errors.As(failed, &coded) || coded.Code != core.CodeStoreFailed || coded.Hint == "" {
		t.Errorf("got %v", failed)
	}
	if got, err := s.LastSeq(t.Context(), owner, "s"); err != nil || got != last {
		t.Errorf("last seq %d, %v; want %d", got, err, last)
	}
	onWriter(t, s, pragma("max_page_count", 1<<30))
	if err := s.Commit(t.Context(), furtherBatch("s", last, 100)); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestABrokenConnectionIsReplaced(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	err := s.write(t.Context(), "breaking", 1, 0, func(tx *tx) error { return tx.script("ROLLBACK") })
	if core.CodeOf(err) != core.CodeStoreFailed {
		t.Errorf("got %v", err)
	}
	if err := s.Commit(t.Context(), newSession("s", 1)); err != nil {
		t.Errorf("the next commit: %v", err)
	}
}

// holdReader begins a read that keeps the log from being emptied, until the
// function it returns is called.
func holdReader(t *testing.T, s *Store) (release func()) {
	t.Helper()
	c, err := open(s.dsn, "BEGIN")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.one(t.Context(), "SELECT 1 FROM resource", nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestALongLogIsEmptiedByTheWriter(t *testing.T) {
	t.Parallel() // it mostly waits
	s, limit := openWithShortLog(t)
	release := holdReader(t, s)
	last := uint64(0)
	for s.walSize() < 2*limit { // a reader holds the log: commits go on
		if err := s.Commit(t.Context(), furtherBatch("s", last, 50)); err != nil {
			t.Fatal(err)
		}
		last += 50
	}
	release()
	// Commits go on, so the checkpointer does not find the store idle.
	waitFor(t, "a short log", func() bool {
		last++
		if err := s.Commit(t.Context(), furtherBatch("s", last-1, 1)); err != nil {
			t.Fatal(err)
		}
		return logLength(t, s) < limit
	})
}

func TestAnEndlessReaderDoesNotFillTheDisk(t *testing.T) {
	t.Parallel() // it mostly waits
	s, limit := openWithShortLog(t)
	release := holdReader(t, s)
	last := uint64(0)
	var failed error
	for failed == nil && s.walSize() < 20*limit {
		if failed = s.Commit(t.Context(), furtherBatch("s", last, 50)); failed == nil {
			last += 50
		}
	}
	if core.CodeOf(failed) != core.CodeStoreFailed {
		t.Errorf("got %v with a log of %d bytes", failed, s.walSize())
	}
	release()
	if err := s.Commit(t.Context(), furtherBatch("s", last, 1)); err != nil {
		t.Errorf("after the reader: %v", err)
	}
}

// logLength is how much the log has in its file that is not free for anew.
func logLength(t *testing.T, s *Store) int64 {
	t.Helper()
	c, err := open(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := passiveCheckpoint(c)
	if err := errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// openWithShortLog opens a store whose log is long at limit and full at eight
// times that.
func openWithShortLog(t *testing.T) (s *Store, limit int64) {
	limit = 256 << 10
	s = openTest(t, t.TempDir()+"/harness.db")
	if err := s.Commit(t.Context(), newSession("s")); err != nil {
		t.Fatal(err)
	}
	// The limits belong to the writer: they are set on its goroutine.
	err := s.write(t.Context(), "limiting", 1, 0, func(*tx) error {
		s.walCheckpointSize, s.walMaxSize = limit, 8*limit
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, limit
}

func TestErrorsAreTranslated(t *testing.T) {
	conflict := &core.ConflictError{Kind: "seq"}
	coded := core.Errorf(core.CodeNotFound, "there is none")
	for name, tc := range map[string]struct {
		err  error
		code core.Code
		same bool
	}{
		"nil":      {err: nil, same: true},
		"conflict": {err: conflict, same: true},
		"coded":    {err: coded, same: true},
		"ended":    {err: context.DeadlineExceeded, code: core.CodeStoreFailed},
		"file":     {err: os.ErrPermission, code: core.CodeStoreFailed},
	} {
		got := translate("doing", tc.err)
		if tc.same && got != tc.err {
			t.Errorf("%s: got %v", name, got)
		}
		if !tc.same && (core.CodeOf(got) != tc.code || !errors.Is(got, tc.err)) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestADirectoryThatCannotBeMadeIsReported(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), file+"/harness.db", Options{})
	if core.CodeOf(err) != core.CodeStoreFailed {
		t.Errorf("got %v", err)
	}
}

// TestAFailedOpenLeavesNothingRunning opens a directory as a database; goleak
// and the count of lock files tell what stayed behind.
func TestAFailedOpenLeavesNothingRunning(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/harness.db", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir+"/harness.db", Options{}); core.CodeOf(err) != core.CodeStoreFailed {
		t.Errorf("got %v", err)
	}
	locks, err := filepath.Glob(dir + "/harness.db-instances/ins_*")
	if err != nil || len(locks) != 0 {
		t.Errorf("lock files %v, %v", locks, err)
	}
}

func TestAQueryEndsWithItsContext(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	ctx, cancel := context.WithCancel(t.Context())
	rows := 0
	err := s.read(ctx, "counting", func(c *conn) error {
		const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n"
		return c.query(ctx, endless, nil, func([]driver.Value) (bool, error) {
			if rows++; rows == 10 {
				cancel()
			}
			return true, nil
		})
	})
	if !errors.Is(err, context.Canceled) || rows != 10 {
		t.Errorf("got %v after %d rows", err, rows)
	}
	if _, err := s.LastSeq(t.Context(), owner, "s"); err != nil {
		t.Errorf("the connection afterwards: %v", err)
	}
}

func TestStatementsAreBounded(t *testing.T) {
	c, err := open(dsn(t.TempDir()+"/x.db", t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for i := range 3 * maxStatements {
		var got int64
		if _, err := c.one(t.Context(), fmt.Sprintf("SELECT %d", i), nil, &got); err != nil || got != int64(i) {
			t.Fatalf("got %d, %v", got, err)
		}
	}
	if len(c.statements) > maxStatements {
		t.Errorf("%d statements are kept, bound %d", len(c.statements), maxStatements)
	}
}
