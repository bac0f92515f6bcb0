package sqlitestore

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// secretText is a text of which no other has a part of its length.
func secretText(n int) string { return noise(uint64(n)*7919+1, 40) }

// filesWith returns the files below a directory that have a text.
func filesWith(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if bytes.Contains(body, []byte(text)) {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// fill commits a session with a secret text in its title, its events, its raw frames
// and its turn, and another session beside it.
func fill(t *testing.T, s *Store, id, secret string, events int) {
	t.Helper()
	b := newSession(id)
	b.Session.Session.Title = secret
	b.Session.Session.Status = core.StatusClosed
	other := newSession(id + "-kept")
	other.Session.Session.Status = core.StatusClosed
	for n := range uint64(events) {
		e := testEvent(id, n+1)
		e.Data = []byte(fmt.Sprintf(`{"text":%q}`, secret))
		e.Raw = []byte(fmt.Sprintf(`{"frame":%q,"n":%d}`, secret, n))
		b.Events = append(b.Events, e)
		k := testEvent(id+"-kept", n+1)
		k.Data = []byte(fmt.Sprintf(`{"text":"kept %d"}`, n))
		other.Events = append(other.Events, k)
	}
	for _, batch := range []core.Batch{b, other} {
		if err := s.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t *testing.T, s *Store, id string) {
	t.Helper()
	rec, err := s.Session(t.Context(), owner, id)
	if err != nil {
		t.Fatal(err)
	}
	last, err := s.LastSeq(t.Context(), owner, id)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.DeleteEnded(t.Context(), owner, id, rec.Instance, last); !ok || err != nil {
		t.Fatalf("%s was not deleted: %v", id, err)
	}
}

func TestWhatIsDeletedLeavesTheFiles(t *testing.T) {
	for _, tc := range []struct {
		name   string
		events int
		pack   bool // before the deletion
	}{
		{"in the log", 3, false},
		{"in chunks", 600, true},
		{"long rows", 3000, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "harness.db")
			s := openTest(t, path)
			var secrets []string
			for i := range 3 {
				secrets = append(secrets, secretText(i))
				fill(t, s, fmt.Sprint("s", i), secrets[i], tc.events)
			}
			if tc.pack {
				if err := s.Pack(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if len(filesWith(t, filepath.Dir(path), secrets[0])) == 0 {
				t.Fatal("the text is in no file: this test cannot fail")
			}
			for i := range secrets {
				remove(t, s, fmt.Sprint("s", i))
			}
			until(t, func() string {
				for _, secret := range secrets {
					if files := filesWith(t, filepath.Dir(path), secret); len(files) > 0 {
						return "the text is still in " + strings.Join(files, ", ")
					}
				}
				return ""
			})
			for i := range secrets {
				events, err := s.Events(t.Context(), core.EventQuery{Owner: owner, Resource: fmt.Sprint("s", i, "-kept"), Limit: tc.events + 1})
				if err != nil || len(events) != tc.events {
					t.Errorf("%d events are left of what was kept, %v", len(events), err)
				}
			}
			if err := s.Check(t.Context()); err != nil {
				t.Error(err)
			}
			fill(t, s, "after", secretText(9), 3) // the log goes on
			if _, err := s.Session(t.Context(), owner, "after"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAClosingStoreErasesWhatWasDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "harness.db")
	s := openTest(t, path)
	beside := openTest(t, path) // the last connection would remove the write-ahead log
	fill(t, s, "s", secretText(1), 100)
	remove(t, s, "s")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files := filesWith(t, filepath.Dir(path), secretText(1)); len(files) > 0 {
		t.Errorf("the text is still in %v", files)
	}
	if err := beside.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheNextServerErasesWhatADeadOneDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "harness.db")
	s := openTest(t, path)
	fill(t, s, "s", secretText(1), 100)
	// Deleted and noted in one transaction; nothing after it happens here.
	err := s.write(t.Context(), "deleting", 1, 0, func(tx *tx) error {
		r, err := tx.resource(owner, "s")
		if err != nil {
			return err
		}
		return dropResource(tx, r.key)
	})
	if err != nil {
		t.Fatal(err)
	}
	var noted bool
	_ = s.read(t.Context(), "looking", func(c *conn) (err error) {
		noted, err = c.one(context.Background(), "SELECT 1 FROM meta WHERE name = ?", []any{toErase})
		return err
	})
	if !noted {
		t.Error("what is to be erased is not noted")
	}
	openTest(t, path)
	until(t, func() string {
		if files := filesWith(t, filepath.Dir(path), secretText(1)); len(files) > 0 {
			return fmt.Sprint("the text is still in ", files)
		}
		return ""
	})
}

// until waits until what is wrong is "".
func until(t *testing.T, wrong func() string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); wrong() != ""; {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal(wrong())
		}
	}
}
