package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

// upgrade opens the database as a later version of this program would.
func upgrade(t *testing.T, path string, more ...string) error {
	t.Helper()
	lock, err := lockDir(t.Context(), path+"-instances")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	c, err := open(dsn(path, lock.Name()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	scripts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	return migrate(t.Context(), c, path, path+"-instances", append(scripts, more...))
}

func TestAnUpgradeWaitsForNobodyAndChangesNothingUnderARunningServer(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	old := startServer(t, "open", path)
	old.line(t)
	if err := upgrade(t, path, "CREATE TABLE later (x)"); core.CodeOf(err) != core.CodeStoreFailed || core.AsError(err).Hint == "" {
		t.Errorf("an upgrade under a running server: %v", err)
	}
	if err := openTest(t, path).Commit(t.Context(), newSession("s", 1)); err != nil {
		t.Errorf("the old schema is not in order: %v", err)
	}
	old.end(t)
}

func TestAnUpgradeKeepsACopyAndIsWholeOrNotAtAll(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	s, err := Open(t.Context(), path, Options{Durability: Normal})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Commit(t.Context(), newSession("s", 1, 2)), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := upgrade(t, path, "CREATE TABLE later (x)", "CREATE TABLE wrong wrong"); err == nil {
		t.Fatal("a broken step succeeded")
	}
	read := func(path string) error {
		s, err := Open(context.Background(), path, Options{Durability: Normal})
		if err != nil {
			return err
		}
		events, err := s.Events(context.Background(), core.EventQuery{Owner: owner, Resource: "s"})
		if err == nil && len(events) != 2 {
			err = errors.New("events are missing")
		}
		return errors.Join(err, s.Close())
	}
	if err := read(path); err != nil {
		t.Errorf("after an upgrade that failed: %v", err)
	}
	if err := upgrade(t, path, "CREATE TABLE later (x)"); err != nil {
		t.Fatal(err)
	}
	if err := read(path); core.CodeOf(err) != core.CodeStoreFailed {
		t.Errorf("an upgraded database is opened by the older program: %v", err)
	}
	scripts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	copied := fmt.Sprintf("%s.schema%d", path, len(scripts))
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the copy: %v, %v", info, err)
	}
	if err := read(copied); err != nil {
		t.Errorf("the copy: %v", err)
	}
}
