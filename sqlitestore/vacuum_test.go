package sqlitestore

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// TestTheFileGivesSpaceBackWhenSessionsAreDeleted fills a journal, deletes most
// of it as retention and prune do, and wants the file itself to shrink while
// the store is open, and what was kept to be whole.
func TestTheFileGivesSpaceBackWhenSessionsAreDeleted(t *testing.T) {
	const sessions, eventsEach = 12, 100
	path := t.TempDir() + "/harness.db"
	s := openTest(t, path)
	filler := strings.Repeat("what does not pack well: ", 4)
	for i := range sessions {
		id := fmt.Sprint("s", i)
		b := newSession(id)
		b.Session.Session.Status = core.StatusClosed
		for n := range uint64(eventsEach) {
			e := testEvent(id, n+1)
			e.Data = []byte(fmt.Sprintf(`{"item":"i","text":%q}`, noise(uint64(i)<<32|n, 16<<10)+filler))
			b.Events = append(b.Events, e)
		}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		var all int64
		for _, suffix := range []string{"", "-wal"} {
			if info, err := os.Stat(path + suffix); err == nil {
				all += info.Size()
			}
		}
		return all
	}
	within := func(what string, holds func() bool) {
		t.Helper()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for late := time.After(time.Minute); !holds(); {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%s: the file has %d bytes", what, size())
			}
		}
	}
	full := size()
	if full < 8<<20 {
		t.Fatalf("%d bytes are too few to tell", full)
	}
	for i := 1; i < sessions; i++ {
		id := fmt.Sprint("s", i)
		rec, err := s.Session(t.Context(), owner, id)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := s.DeleteEnded(t.Context(), owner, id, rec.Instance, eventsEach); !ok || err != nil {
			t.Fatalf("%s was not deleted: %v", id, err)
		}
	}
	within("deleted", func() bool { return size() < full/2 })
	events, err := s.Events(t.Context(), core.EventQuery{Owner: owner, Resource: "s0", Limit: eventsEach + 1})
	if err != nil || len(events) != eventsEach {
		t.Errorf("%d events are left of what was kept, %v", len(events), err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("%d bytes, and %d after deleting eleven of twelve", full, size())
}

// noise returns n letters that no packing makes much shorter.
func noise(seed uint64, n int) string {
	out := make([]byte, n)
	for i := range out {
		seed = seed*6364136223846793005 + 1442695040888963407
		out[i] = 'a' + byte(seed>>59)%26
	}
	return string(out)
}
