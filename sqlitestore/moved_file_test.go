package sqlitestore

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestADatabaseThatIsNoLongerInItsPlaceTakesNoCommit(t *testing.T) {
	cases := map[string]struct {
		take func(path string) error
		word string
	}{
		"deleted":  {func(p string) error { return os.Remove(p) }, "deleted"},
		"moved":    {func(p string) error { return os.Rename(p, p+".old") }, "moved"},
		"replaced": {replaceFile, "replaced"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/harness.db"
			s := openTest(t, path)
			if err := s.Commit(t.Context(), newSession("s", 1)); err != nil {
				t.Fatal(err)
			}
			if err := c.take(path); err != nil {
				t.Fatal(err)
			}
			err := s.Commit(t.Context(), furtherBatch("s", 1, 1))
			var coded *core.Error
			if !errors.As(err, &coded) || coded.Code != core.CodeStoreFailed || !strings.Contains(coded.Message, c.word) || coded.Hint == "" {
				t.Errorf("got %v, want store_failed that says %q", err, c.word)
			}
			if name != "replaced" {
				if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("something lies at the path again: %v", err)
				}
			}
		})
	}
}

func replaceFile(path string) error {
	if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func TestADatabaseThatIsMovedBackServesAgain(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	s := openTest(t, path)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), newSession("s", 1)); core.CodeOf(err) != core.CodeStoreFailed {
		t.Errorf("meanwhile: got %v, want store_failed", err)
	}
	if err := os.Rename(path+".old", path); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), newSession("s", 1)); err != nil {
		t.Errorf("moved back: %v", err)
	}
}

func TestNoReaderMakesADatabaseWhereItsOwnIsGone(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	s := openTest(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range readerConns {
		_, _ = s.LastSeq(t.Context(), owner, "s") // whatever it says
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something lies at the path again: %v", err)
	}
}
