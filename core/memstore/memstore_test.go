package memstore_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/core/storetest"
)

func newMemStore(*testing.T) core.Store { return memstore.New() }

func TestMemStoreConforms(t *testing.T) { storetest.Run(t, newMemStore) }

func TestMemStoreKeepsItsDataForTheNextView(t *testing.T) {
	storetest.RunReopen(t, newMemStore, func(t *testing.T, s core.Store) core.Store {
		next := s.(*memstore.Store).Reopen()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return next
	})
}

// fill commits events of size bytes to a new session until it holds total.
func fill(t *testing.T, s core.Store, id string, size, total int) (last uint64) {
	t.Helper()
	data, _ := json.Marshal(strings.Repeat("x", size))
	b := core.Batch{Owner: "ann", Resource: id, Session: &core.SessionRecord{
		Session: core.Session{ID: id, Owner: "ann", Status: core.StatusIdle},
	}}
	for n := 0; n < total; n += size {
		b.ExpectSeq, last = last, last+1
		b.Events = []core.Event{{ID: fmt.Sprint(id, last), Resource: id, Seq: last, Type: core.TypeMessage, Data: data}}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

func kept(t *testing.T, s core.Store, id string) (bytes int, newest uint64) {
	t.Helper()
	events, err := s.Events(t.Context(), core.EventQuery{Owner: "ann", Resource: id, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		bytes += len(ev.Data)
		newest = ev.Seq
	}
	return bytes, newest
}

func TestMemStoreBoundsEachJournal(t *testing.T) {
	s := memstore.New()
	last := fill(t, s, "s", 1<<20, memstore.MemJournalBytes+8<<20)
	bytes, newest := kept(t, s, "s")
	if bytes > memstore.MemJournalBytes || bytes < memstore.MemJournalBytes/2 {
		t.Errorf("kept %d bytes, bound %d", bytes, memstore.MemJournalBytes)
	}
	if newest != last {
		t.Errorf("newest kept event is %d, want %d", newest, last)
	}
}

func TestMemStoreBoundsAllJournalsTogether(t *testing.T) {
	s := memstore.New()
	const each = memstore.MemJournalBytes / 2
	n := memstore.MemTotalBytes/each + 4
	for i := range n {
		fill(t, s, fmt.Sprint("s", i), 1<<20, each)
	}
	total := 0
	for i := range n {
		bytes, _ := kept(t, s, fmt.Sprint("s", i))
		total += bytes
	}
	if total > memstore.MemTotalBytes {
		t.Errorf("kept %d bytes, bound %d", total, memstore.MemTotalBytes)
	}
	if first, _ := kept(t, s, "s0"); first >= each {
		t.Errorf("the journal written longest ago still has %d bytes", first)
	}
	if last, _ := kept(t, s, fmt.Sprint("s", n-1)); last < each {
		t.Errorf("the journal written last has only %d bytes", last)
	}
}
