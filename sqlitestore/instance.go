package sqlitestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// instances is the directory beside the database in which each running server
// holds the lock of a file of its own. A lock that is free belongs to a server
// that is gone: the system releases it with the process.
type instances struct {
	dir  string
	id   string
	held *os.File

	mu    sync.Mutex
	sweep *os.File // holds the lock of the elected server; nil without it
}

// openLock is the file whose lock is held while a store is opened. Creating
// the database, migrating it, and creating and deleting lock files all
// happen under it, so that any number of servers may start at once.
const openLock = "open.lock"

// sweepLock is the file whose lock the elected server holds until it ends.
const sweepLock = "sweep.lock"

// Elected reports whether this server is the one that sweeps. It tries for the
// lock each time until it has it.
func (in *instances) Elected() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.sweep != nil {
		return true
	}
	f, err := os.OpenFile(filepath.Join(in.dir, sweepLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	if ok, _ := tryLock(f, true); !ok {
		f.Close()
		return false
	}
	in.sweep = f
	return true
}

// lockDir makes the directory and waits for its open lock. The caller closes
// the file to free it.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, openLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		ok, err := tryLock(f, true)
		if ok {
			return f, nil
		}
		if err == nil {
			select {
			case <-time.After(lockRetry):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return nil, errors.Join(err, f.Close())
	}
}

// join deletes the lock files of servers that are gone and locks one for this
// server. The open lock is held.
func join(dir string) (*instances, error) {
	in := &instances{dir: dir, id: core.NewID(core.PrefixInstance)}
	ids, err := lockFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !in.Alive(id) {
			if err := os.Remove(in.path(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
	}
	in.held, err = os.OpenFile(in.path(in.id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if ok, err := tryLock(in.held, true); !ok {
		return nil, errors.Join(errors.New("the lock of a new instance is taken"), err, in.leave())
	}
	return in, nil
}

// lockFiles lists the instances that have a lock file, alive or not.
func lockFiles(dir string) (ids []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		id, isLock := strings.CutSuffix(e.Name(), ".lock")
		if isLock && e.Name() != openLock && e.Name() != sweepLock {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// living returns the instances of the running servers.
func living(dir string) (ids []string, err error) {
	all, err := lockFiles(dir)
	in := &instances{dir: dir}
	for _, id := range all {
		if in.Alive(id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

func (in *instances) path(id string) string { return filepath.Join(in.dir, id+".lock") }

// Instance returns the id of this server's instance.
func (in *instances) Instance() string { return in.id }

// Alive reports whether the instance still holds its lock. It reports true when the
// system returns an error: taking over a live server's sessions is worse than leaving
// a dead one's.
func (in *instances) Alive(instance string) bool {
	if instance == "" || instance != filepath.Base(instance) {
		return false
	}
	f, err := os.Open(in.path(instance))
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	if err != nil {
		return true
	}
	defer f.Close()
	free, err := tryLock(f, false)
	return !free || err != nil
}

// leave releases the instance's locks.
func (in *instances) leave() error {
	err := in.held.Close()
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.sweep != nil {
		err = errors.Join(err, in.sweep.Close())
		in.sweep = nil
	}
	if gone := os.Remove(in.path(in.id)); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
