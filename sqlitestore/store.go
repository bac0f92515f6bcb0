// Package sqlitestore implements core.Store on one SQLite database, without cgo.
//
// # Writing
//
// One goroutine writes, on one connection. It takes whatever writes are
// queued into a single transaction and answers all of them when that is on
// disk: while one transaction syncs, the next group is collected, so the cost of a
// commit falls as the load rises, and no timer delays a single one. Within a
// group each write is checked for conflicts before it writes anything, so a
// conflict fails one caller only.
//
// A commit appends to the log: rows in the order of writing, shared by all batches of
// the transaction, without an index, each a page long and in a slot that
// is written again later. A batch without a snapshot changes these pages and no
// others. In the background slices of the log are packed into chunks of some
// hundred events of one resource, compressed and indexed.
//
// # Reading
//
// Reads run beside the writer, on connections of their own, and see the last
// committed state. A page of a journal comes from the chunks that may hold
// some of it, found by seq, turn and type in an index, and behind them from the
// log, so it costs what it returns however long the journal is. Raw frames are stored
// apart and are read only on request.
//
// # Files
//
// Beside the database FILE there are SQLite's FILE-wal and FILE-shm and the
// directory FILE-instances with a lock file per running server. Directories
// that Open makes have mode 0700, files 0600. Several servers may share one
// database; nothing but SQLite may open FILE while a server runs, since closing
// it would drop the locks that SQLite holds on it.
package sqlitestore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"github.com/harness-mcp/harness-mcp/core"
)

var _ core.Store = (*Store)(nil)

// The values of Options.Durability.
const (
	// Normal keeps every commit when this process is killed. A power failure may
	// lose the last seconds, in whole commits.
	Normal = "normal"
	// Full keeps every commit through a power failure too: each group is synced.
	Full = "full"
)

// Options configure a Store.
type Options struct {
	// Durability is Normal or Full; empty means Normal.
	Durability string
	// Log receives failures that no caller is told of; nil discards them.
	Log *slog.Logger
}

// Store is an open database. All methods may be called concurrently.
type Store struct {
	*instances
	dsn               string
	dbFile            string
	file              os.FileInfo // the file at dbFile when it was opened; see checkFile
	walFile           string
	walCheckpointSize int64    // walCheckpoint, but in tests
	walMaxSize        int64    // walFull, but in tests
	setup             []string // of the writing connection
	secret            []byte

	tail      *tail
	looks     sync.RWMutex // held by reads that use the tail; see look
	foreignMu sync.Mutex
	foreign   map[int64]bool // resources in the log that another server packs

	mu     sync.RWMutex // guards closed, and queue against sending after close
	closed bool
	queue  chan *write

	readers            chan *conn // free reading connections; nil ones are not open yet
	work               chan struct{}
	checkpointRequests chan checkpointKind // what the checkpointer is to do
	stop               chan struct{}       // closed to end the upkeep and the checkpointer

	log               *slog.Logger
	checkpointFailing bool        // by the checkpointer: the log could not be moved last time
	checkpointed      atomic.Bool // the log is long, and nearly all of it moved
	reviewed          time.Time   // by the upkeep: when the tail was compared with the disk
	ended             sync.WaitGroup
}

// Open opens the database at path, makes it if it is not there, brings it to
// the newest schema and joins it as a new instance. ctx bounds the opening
// only. Any number of processes may open one path at once.
//
// It fails with CodeStoreFailed, and leaves the file as it was, when that is
// not a database of harness-mcp or has a newer schema than this program knows.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s, err := openStore(ctx, path, o)
	return s, translate("opening the database "+path, err)
}

func openStore(ctx context.Context, path string, o Options) (_ *Store, err error) {
	syncing, err := synchronous(o.Durability)
	if err != nil {
		return nil, err
	}
	// Where the system has no fdatasync, SQLite goes on with fsync, which is as
	// safe.
	_, _ = sqlite.Fdatasync(true)
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	dir := path + "-instances"
	lock, err := lockDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()

	s := &Store{
		log:               cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		dsn:               dsn(path, lock.Name()),
		dbFile:            path,
		walFile:           path + "-wal",
		walCheckpointSize: walCheckpoint,
		walMaxSize:        walFull,
		setup: []string{syncing, pragma("wal_autocheckpoint", 0),
			pragma("cache_size", -writerCache), pragma("secure_delete", "FAST")},
		queue:              make(chan *write, queueLen),
		readers:            make(chan *conn, readerConns),
		tail:               newTail(),
		foreign:            map[int64]bool{},
		work:               make(chan struct{}, 1),
		checkpointRequests: make(chan checkpointKind, 1),
		stop:               make(chan struct{}),
	}
	c, err := open(s.dsn)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = c.close() // the cause is what matters
		}
	}()
	scripts, err := migrations()
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, c, path, dir, scripts); err != nil {
		return nil, err
	}
	if s.secret, err = secret(ctx, c); err != nil {
		return nil, err
	}
	rows, err := scanLog(ctx, c, 0)
	if err != nil {
		return nil, err
	}
	if err := s.tail.read(rows); err != nil {
		return nil, err
	}
	for _, sql := range s.setup {
		if err := c.script(sql); err != nil {
			return nil, err
		}
	}
	if err := restrict(path); err != nil {
		return nil, err
	}
	if s.file, err = os.Stat(path); err != nil {
		return nil, err
	}
	if s.instances, err = join(dir); err != nil {
		return nil, err
	}
	s.start(c)
	return s, nil
}

// synchronous returns the pragma for a word of Options.Durability.
func synchronous(durability string) (string, error) {
	switch durability {
	case Normal, "":
		return pragma("synchronous", "NORMAL"), nil
	case Full:
		return pragma("synchronous", "FULL"), nil
	}
	return "", core.Errorf(core.CodeInvalidArgument, "durability %q is not one of normal and full", durability)
}

// dsn names the database for SQLite, which gives a new file the mode of the
// file modeOf and its log and shared memory that of the database.
func dsn(path, modeOf string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") { // a volume name
		p = "/" + p
	}
	u := url.URL{Scheme: "file", Path: p}
	// SQLite reads %20 and not + as a space.
	return u.String() + "?modeof=" + strings.ReplaceAll(url.QueryEscape(modeOf), "+", "%20")
}

// restrict removes the access of group and others from the files of a database that
// has a wider mode.
func restrict(path string) error {
	for _, f := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(f, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// secret reads the database's secret, and creates it in a new database. It writes only
// then, so that opening does not wait for other servers' writes.
func secret(ctx context.Context, c *conn) (stored []byte, err error) {
	const read = "SELECT value FROM meta WHERE name = 'secret'"
	if found, err := c.one(ctx, read, nil, &stored); err != nil || found {
		return stored, err
	}
	fresh := make([]byte, secretBytes)
	rand.Read(fresh) // never fails
	if _, err := c.run("INSERT OR IGNORE INTO meta (name, value) VALUES ('secret', ?)", fresh); err != nil {
		return nil, err
	}
	_, err = c.one(ctx, read, nil, &stored)
	return stored, err
}

// start runs the goroutines of a store: the writer, the checkpointer, and the
// maintenance.
func (s *Store) start(c *conn) {
	for range readerConns {
		s.readers <- nil
	}
	s.ended.Go(s.checkpointLoop)
	s.ended.Go(s.maintenanceLoop)
	w := &writer{store: s, conn: c, cache: map[resourceID]*resource{}, byKey: map[int64]resourceID{}, unmeasured: walFull}
	s.ended.Go(w.run)
	s.wake() // a database may come with a log or with deletions to finish
}

// Secret returns 32 bytes that are random, private to this database, and
// never change.
func (s *Store) Secret() []byte { return bytes.Clone(s.secret) }

// Close writes what is queued, waits for reads to end and releases the
// instance. Calls on a closed store fail; another Close does nothing.
func (s *Store) Close() error {
	s.eraseAtClose()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.queue)
	s.mu.Unlock()

	close(s.stop)
	s.ended.Wait()
	var errs []error
	for range readerConns {
		if c := <-s.readers; c != nil {
			errs = append(errs, c.close())
		}
	}
	return translate("closing the database", errors.Join(append(errs, s.leave())...))
}

// read calls f with a reading connection; at most readerConns run at once.
func (s *Store) read(ctx context.Context, doing string, f func(c *conn) error) error {
	return translate(doing, s.withReader(ctx, f))
}

func (s *Store) withReader(ctx context.Context, f func(c *conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// Close waits for every connection to come back, so none may be taken
	// once closed is set. The lock is not held while waiting for one.
	var c *conn
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stop:
		return errClosed
	}
	defer func() { s.readers <- c }()
	select {
	case <-s.stop:
		return errClosed
	default:
	}
	if c == nil {
		var err error
		if c, err = s.reopen(pragma("query_only", 1), pragma("cache_size", -readerCache)); err != nil {
			return err
		}
	}
	err := f(c)
	if brokenConnection(err) {
		_ = c.close() // its cause is reported; the next read opens another
		c = nil
	}
	return err
}
