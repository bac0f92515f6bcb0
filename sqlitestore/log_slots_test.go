package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

// TestACommitWritesThePageOfItsRowAndNoOther counts what a commit adds to the
// write-ahead log once there are slots to be written again.
func TestACommitWritesThePageOfItsRowAndNoOther(t *testing.T) {
	const frame = pageSize + 24
	s := openTest(t, t.TempDir()+"/harness.db")
	b := newSession("s")
	b.Instance = s.Instance()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	further := func(n int) {
		t.Helper()
		if err := s.Commit(t.Context(), furtherBatch("s", last, n)); err != nil {
			t.Fatal(err)
		}
		last += uint64(n)
	}
	for range 40 {
		further(1)
	}
	s.pack(t.Context(), true)
	defer holdReader(t, s)() // lest the log restart meanwhile
	further(1)               // takes the slot that the row before has led to
	for _, events := range []int{1, 10, 20, 1} {
		const commits = 5
		before := s.walSize()
		for range commits {
			further(events)
		}
		if got := s.walSize() - before; got != commits*frame {
			t.Errorf("a commit of %d events writes %.1f pages", events, float64(got)/frame/commits)
		}
	}
}

func TestTheLogIsWrittenInTheSameSlotsAgain(t *testing.T) {
	s := openTest(t, t.TempDir()+"/harness.db")
	b := newSession("s")
	b.Instance = s.Instance()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	const each = 20
	for round := range uint64(10) {
		for i := range uint64(each) {
			if err := s.Commit(t.Context(), furtherBatch("s", round*each+i, 1)); err != nil {
				t.Fatal(err)
			}
		}
		s.pack(t.Context(), true)
	}
	var slots, highest int64
	if err := s.withReader(t.Context(), func(c *conn) error {
		_, err := c.one(t.Context(), "SELECT count(*), max(slot) FROM log", nil, &slots, &highest)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if most := int64(2*each + growSlots); slots > most || highest > most {
		t.Errorf("ten times %d commits took %d slots up to number %d", each, slots, highest)
	}
	events, err := s.Events(t.Context(), core.EventQuery{Owner: owner, Resource: "s", Limit: 1000})
	if err != nil || len(events) != 10*each {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// TestTheFirstSchemaIsBroughtToTheRing upgrades a database with a log of the
// first schema: short rows, a long one, and a hole where rows were packed.
func TestTheFirstSchemaIsBroughtToTheRing(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	lock, err := lockDir(t.Context(), path+"-instances")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	c, err := open(dsn(path, lock.Name()))
	if err != nil {
		t.Fatal(err)
	}
	err = migrate(t.Context(), c, path, path+"-instances", scripts[:1])
	if err == nil {
		_, err = c.run("INSERT INTO resource (key, owner, id, kind, provider, instance) VALUES (7, ?, 's', 'session', 'demo', 'ins_a')", owner)
	}
	seq := uint64(0)
	for _, row := range []struct {
		id     int64
		events int
	}{{3, 1}, {4, 60}, {9, 2}, {10, 19}} {
		var b block
		first := seq + 1
		for range row.events {
			seq++
			ev := testEvent("s", seq)
			ev.Raw = []byte(fmt.Sprintf(`{"raw":%d}`, seq))
			b.add(&ev)
		}
		r := logRow{id: row.id}
		r.add(&entry{slice: slice{first: first, last: seq, n: uint32(row.events)}, resource: 7}, b.events, b.raw)
		if err == nil {
			_, err = c.run("INSERT INTO log (id, dir, events, raw) VALUES (?, ?, ?, ?)", r.id, r.dir, r.events, r.raw)
		}
	}
	if err := errors.Join(err, c.close(), lock.Close()); err != nil {
		t.Fatal(err)
	}

	s := openTest(t, path)
	check := func(when string) {
		t.Helper()
		events, err := s.Events(t.Context(), core.EventQuery{Owner: owner, Resource: "s", Limit: 1000, Raw: true})
		if err != nil || len(events) != int(seq) {
			t.Fatalf("%s: %d of %d events, %v", when, len(events), seq, err)
		}
		for i, ev := range events {
			if n := uint64(i + 1); ev.Seq != n || string(ev.Data) != string(testEvent("s", n).Data) || n <= 82 && string(ev.Raw) != fmt.Sprintf(`{"raw":%d}`, n) {
				t.Fatalf("%s: event %d is %d: %s, %s", when, n, ev.Seq, ev.Data, ev.Raw)
			}
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	check("upgraded")
	for range 30 {
		if err := s.Commit(t.Context(), furtherBatch("s", seq, 3)); err != nil {
			t.Fatal(err)
		}
		seq += 3
	}
	check("written to")
	s.pack(t.Context(), true)
	check("packed")
	if err := s.Commit(t.Context(), furtherBatch("s", seq, 3)); err != nil {
		t.Fatal(err)
	}
	seq += 3
	check("written to again")
	if _, err := os.Stat(path + ".schema1"); err != nil {
		t.Errorf("no copy of the older database: %v", err)
	}
}

func TestAReviewAmidATransactionLeavesItsSlotsAlone(t *testing.T) {
	l := newTail()
	rows := []logRow{{id: 1, slot: 1, next: 2, dir: []byte{0}}, {id: 2, slot: 2, next: 3, dir: []byte{0}}, {id: 3, slot: 3, next: 4, dir: []byte{0}}}
	l.add(rows, []entry{{slice: slice{row: 1, slot: 1}, resource: 7}, {slice: slice{row: 2, slot: 2}, resource: 7}, {slice: slice{row: 3, slot: 3}, resource: 8}})
	l.drop(7, 2, false)
	l.resetReserved()
	got := map[int64]bool{}
	for range 3 {
		if d, ok := l.reserveDead(); ok && got[d.slot] {
			t.Errorf("slot %d is given to two rows", d.slot)
		} else if ok {
			got[d.slot] = true
		}
		l.reviewRows(map[int64]int64{1: 1, 2: 2, 3: 3}, 3)
	}
	if len(got) != 2 || !got[1] || !got[2] {
		t.Errorf("slots %v were given, of 1 and 2", got)
	}
}
