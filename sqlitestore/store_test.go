package sqlitestore

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/storetest"
)

// owner owns what these tests store.
const owner = "ann"

// openTest opens a store that ends with the test.
func openTest(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, Options{Durability: Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

// newSession is the batch that creates a session with some events.
func newSession(id string, seqs ...uint64) core.Batch {
	b := core.Batch{
		Owner: owner, Resource: id, Instance: "ins_a", Create: true,
		Session: &core.SessionRecord{Session: core.Session{
			ID: id, Owner: owner, Provider: "demo", Status: core.StatusIdle,
			CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0),
		}},
	}
	for _, seq := range seqs {
		b.Events = append(b.Events, testEvent(id, seq))
	}
	return b
}

func testEvent(id string, seq uint64) core.Event {
	return core.Event{
		SchemaVersion: core.SchemaVersion, ID: core.NewEventID(), Resource: id, Seq: seq,
		Provider: "demo", TurnID: "trn_0123456789", Type: core.TypeMessageDelta, At: time.Unix(2, 0),
		Data: json.RawMessage(fmt.Sprintf(`{"item":"msg_1","text":"%0300d"}`, seq)),
	}
}

// furtherBatch is a batch of n events behind expect.
func furtherBatch(id string, expect uint64, n int) core.Batch {
	b := core.Batch{Owner: owner, Resource: id, Instance: "ins_a", ExpectSeq: expect}
	for i := range uint64(n) {
		b.Events = append(b.Events, testEvent(id, expect+1+i))
	}
	return b
}

func TestStoreConforms(t *testing.T) {
	for _, durability := range []string{Normal, Full} {
		t.Run(durability, func(t *testing.T) {
			open := func(t *testing.T, path string) core.Store {
				s, err := Open(t.Context(), path, Options{Durability: durability})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			fresh := func(t *testing.T) core.Store { return open(t, t.TempDir()+"/harness.db") }
			if durability == Full { // the other differs in one setting only
				storetest.Run(t, fresh)
			}
			storetest.RunReopen(t, fresh, func(t *testing.T, s core.Store) core.Store {
				path := strings.TrimSuffix(s.(*Store).walFile, "-wal")
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				return open(t, path)
			})
		})
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "harness")
	s := openTest(t, dir+"/harness.db")
	if err := s.Commit(t.Context(), newSession("s", 1)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.Walk(filepath.Dir(dir), func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		seen++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 8 { // two directories, instances with two locks, database, log, shared memory
		t.Errorf("saw only %d files", seen)
	}
}

func TestAWiderModeIsNarrowed(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	openTest(t, path).Close()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	openTest(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAnOddPathIsTakenLiterally(t *testing.T) {
	path := t.TempDir() + "/a b?mode=ro#%41&x/harness?.db"
	s := openTest(t, path)
	if err := s.Commit(t.Context(), newSession("s", 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// openRefused wants Open to refuse and to leave the file as it is.
func openRefused(t *testing.T, path, hint string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{})
	if err == nil {
		s.Close()
		t.Fatal("the file was opened")
	}
	var coded *core.Error
	if !errors.As(err, &coded) || coded.Code != core.CodeStoreFailed || !strings.Contains(coded.Hint, hint) {
		t.Errorf("got %#v, want store_failed with a hint of %q", err, hint)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the file was changed")
	}
}

// edit changes a database behind the store's back.
func edit(t *testing.T, path string, statements ...string) {
	t.Helper()
	c, err := open(dsn(path, path), statements...)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
}

func TestAForeignFileIsRefused(t *testing.T) {
	path := t.TempDir() + "/notes.txt"
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	openRefused(t, path, "left as it is")

	path = t.TempDir() + "/other.db"
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	edit(t, path, "CREATE TABLE other (x)")
	openRefused(t, path, "left as it is")
}

func TestANewerSchemaIsRefused(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	openTest(t, path).Close()
	edit(t, path, pragma("user_version", 999))
	openRefused(t, path, "newer harness-mcp")
}

func TestAnUnknownDurabilityIsRefused(t *testing.T) {
	_, err := Open(t.Context(), t.TempDir()+"/harness.db", Options{Durability: "some"})
	if core.CodeOf(err) != core.CodeInvalidArgument {
		t.Errorf("got %v", err)
	}
}

func TestOpenStopsWaitingForTheLockWithItsContext(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	lock, err := lockDir(t.Context(), path+"-instances")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, path, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestSettingsAreInForce(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	settings := func(c *conn, want map[string]int64) {
		t.Helper()
		for name, w := range want {
			var got int64
			if _, err := c.one(t.Context(), "PRAGMA "+name, nil, &got); err != nil || got != w {
				t.Errorf("%s = %d, %v; want %d", name, got, err, w)
			}
		}
	}
	if err := s.write(t.Context(), "looking", 1, 0, func(tx *tx) error {
		settings(tx.conn, map[string]int64{"page_size": pageSize, "auto_vacuum": 2, "synchronous": 1, "wal_autocheckpoint": 0,
			"busy_timeout": busyTimeout.Milliseconds(), "application_id": applicationID})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.read(t.Context(), "looking", func(c *conn) error {
		settings(c, map[string]int64{"query_only": 1, "mmap_size": 0, "busy_timeout": busyTimeout.Milliseconds()})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// plan returns SQLite's plan for a statement.
func plan(t *testing.T, s *Store, sql string, args []any) string {
	t.Helper()
	var steps []string
	err := s.read(t.Context(), "explaining", func(c *conn) error {
		return c.query(t.Context(), "EXPLAIN QUERY PLAN "+sql, args, func(row []driver.Value) (bool, error) {
			text, _ := row[3].(string)
			steps = append(steps, text)
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "; ")
}

func TestPagesOfEventsCostWhatTheyReturn(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	for name, q := range map[string]core.EventQuery{
		"cursor":    {After: 5},
		"tail":      {Tail: true},
		"types":     {Types: []core.EventType{core.TypeMessage}},
		"turn":      {TurnID: "t", After: 5},
		"turn tail": {TurnID: "t", Tail: true},
	} {
		sql, args := selectChunks(q, typeMask(q.Types...), 1)
		got := plan(t, s, sql, args)
		bounds := "SEARCH c USING COVERING INDEX chunk_by_seq (resource=? AND last>?)"
		if q.TurnID != "" {
			bounds = "SEARCH t USING PRIMARY KEY (resource=? AND turn=?)"
		}
		if !strings.Contains(got, bounds) || strings.Contains(got, "SCAN") || strings.Contains(got, "B-TREE") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestPagesOfListsCostWhatTheyReturn(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	live := true
	for name, q := range map[string]core.ListQuery{
		"owner":   {Owner: owner, Before: core.Cursor(time.Unix(1, 0), "x")},
		"session": {Owner: owner, SessionID: "s", Limit: 3},
		"live":    {Owner: core.AllOwners, Live: &live},
	} {
		sql, args, err := selectList(core.KindTurn, q)
		if err != nil {
			t.Fatal(err)
		}
		got := plan(t, s, sql, args)
		if strings.Contains(got, "SCAN") || q.SessionID != "" && !strings.Contains(got, "snapshot_by_resource (resource=? AND kind=?)") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestOneBadWriteOfAGroupFailsAlone(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	broken := errors.New("broken")
	good := func(id string) *write {
		return &write{ctx: t.Context(), done: make(chan error, 1), apply: func(tx *tx) error {
			return putKey(tx, core.KeyRecord{Owner: owner, Tool: "t", Key: id})
		}}
	}
	bad := &write{ctx: t.Context(), done: make(chan error, 1), apply: func(tx *tx) error {
		return errors.Join(putKey(tx, core.KeyRecord{Owner: owner, Tool: "t", Key: "bad"}), broken)
	}}
	left, leave := context.WithCancel(t.Context())
	leave()
	gone := good("gone")
	gone.ctx = left
	group := []*write{good("a"), bad, good("b"), gone}

	// The group is written through a writer of its own, so that it is one.
	c, err := open(s.dsn, s.setup...)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{store: s, conn: c}
	w.commit(group)
	if err := w.conn.close(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, broken, nil, context.Canceled} {
		if err := <-group[i].done; !errors.Is(err, want) {
			t.Errorf("write %d: got %v, want %v", i, err, want)
		}
	}
	for key, want := range map[string]core.Code{"a": "", "b": "", "bad": core.CodeNotFound, "gone": core.CodeNotFound} {
		if _, err := s.Key(t.Context(), owner, "t", key); core.CodeOf(err) != want {
			t.Errorf("key %s: got %v, want %q", key, err, want)
		}
	}
}

func TestACommitWhoseCallerLeavesReturnsAtOnceAndMayBeWritten(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	entered, release := make(chan struct{}), make(chan struct{})
	blocked := make(chan error, 1)
	go func() {
		blocked <- s.write(t.Context(), "blocking", 1, 0, func(*tx) error {
			close(entered)
			<-release
			return nil
		})
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	b := newSession("s", 1)
	done := make(chan error, 1)
	go func() { done <- s.Commit(ctx, b) }()
	for len(s.queue) == 0 { // the batch is queued behind the blocked writer
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || core.CodeOf(err) != core.CodeStoreFailed {
		t.Errorf("got %v", err)
	}
	clear(b.Events[0].Data) // the caller's memory again
	close(release)
	if err := <-blocked; err != nil {
		t.Error(err)
	}
}

func TestALockedDatabaseFailsAndRecovers(t *testing.T) {
	t.Parallel() // it mostly waits
	s := openTest(t, t.TempDir()+"/harness.db")
	other, err := open(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.script("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*busyTimeout)
	defer cancel()
	err = s.Commit(ctx, newSession("s", 1))
	var coded *core.Error
	if !errors.As(err, &coded) || coded.Code != core.CodeStoreFailed || !coded.Retryable {
		t.Errorf("got %v", err)
	}
	if err := other.script("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), newSession("s", 1)); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

func TestTheLogIsEmptiedWhenWorkEnds(t *testing.T) {
	t.Parallel() // it mostly waits
	s := openTest(t, t.TempDir()+"/harness.db")
	if err := s.Commit(t.Context(), newSession("s", 1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	length := s.walSize()
	waitFor(t, "the database to have it", func() bool {
		info, err := os.Stat(s.dbFile)
		return err == nil && info.Size() > 20*pageSize
	})
	if err := s.Commit(t.Context(), furtherBatch("s", 3, 1)); err != nil {
		t.Fatal(err)
	}
	if got := s.walSize(); got != length {
		t.Errorf("the next commit brings the log to %d bytes after %d: it does not begin anew", got, length)
	}
}

// waitFor polls: what it waits for is another goroutine's work on a file.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestEventsOfReplacedSessionsAreSwept(t *testing.T) {
	t.Parallel() // it mostly waits
	path := t.TempDir() + "/harness.db"
	s := openTest(t, path)
	if err := s.Commit(t.Context(), newSession("s")); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), furtherBatch("s", 0, 2*sweepRows*chunkEvents)); err != nil {
		t.Fatal(err)
	}
	s.pack(t.Context(), true)
	b := newSession("s", 1)
	b.Replace = true
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the old events to go", func() bool {
		var events, doomed int64
		err := s.read(t.Context(), "counting", func(c *conn) error {
			_, err := c.one(t.Context(), "SELECT (SELECT coalesce(sum(n), 0) FROM chunk), (SELECT count(*) FROM doomed)", nil, &events, &doomed)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return events == 1 && doomed == 0
	})
}

func TestReadersAreNotHeldUpByAnOpenTransaction(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	if err := s.Commit(t.Context(), newSession("s", 1)); err != nil {
		t.Fatal(err)
	}
	err := s.write(t.Context(), "blocking", 1, 0, func(*tx) error {
		last, err := s.LastSeq(t.Context(), owner, "s")
		if last != 1 {
			return fmt.Errorf("last seq %d, %w", last, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCloseWritesWhatIsQueued(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	s := openTest(t, path)
	const n = 50
	done := make(chan error, n)
	for i := range n {
		go func() { done <- s.Commit(t.Context(), newSession(fmt.Sprint("s", i), 1)) }()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	acked := 0
	for range n {
		if err := <-done; err == nil {
			acked++
		} else if !errors.Is(err, errClosed) {
			t.Errorf("got %v", err)
		}
	}
	rows, err := openTest(t, path).Sessions(t.Context(), core.ListQuery{Owner: owner})
	if err != nil || len(rows) != acked {
		t.Errorf("%d sessions acknowledged, %d stored, %v", acked, len(rows), err)
	}
}

func TestAnOpeningWaitsForNobodyWhoWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	first, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	other, err := open(first.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.script("BEGIN IMMEDIATE"); err != nil { // another server's transaction, as long as it lasts
		t.Fatal(err)
	}
	begin := time.Now()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatalf("after %s: %v", time.Since(begin), err)
	}
	if err := other.script("ROLLBACK"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
