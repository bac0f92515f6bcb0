package main_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/sqlitestore"
)

// journalOf opens the database as it is and looks through all of it.
func journalOf(t *testing.T, db string, look func(s *sqlitestore.Store, sessions []core.SessionRecord)) {
	t.Helper()
	withJournal(t, db, func(s *sqlitestore.Store) { look(s, sessionsOf(t, s, nil)) })
}

// withJournal opens the database as it is, and wants every page of it whole.
func withJournal(t *testing.T, db string, look func(s *sqlitestore.Store)) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), db, sqlitestore.Options{Durability: sqlitestore.Normal})
	if err != nil {
		t.Fatalf("opening after the crash: %v", err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	look(s)
}

// sessionsOf lists the sessions that are not known yet, newest first.
func sessionsOf(t *testing.T, s *sqlitestore.Store, known map[string]bool) (fresh []core.SessionRecord) {
	t.Helper()
	q := core.ListQuery{Owner: core.AllOwners, Limit: 100}
	for {
		page, err := s.Sessions(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		before := len(fresh)
		for _, rec := range page {
			if !known[rec.Session.ID] {
				fresh = append(fresh, rec)
			}
			q.Before = core.Cursor(rec.Session.CreatedAt, rec.Session.ID)
		}
		if len(page) < q.Limit || len(fresh) == before {
			return fresh
		}
	}
}

func eventsOf(t *testing.T, s *sqlitestore.Store, id string) []core.Event {
	t.Helper()
	const most = 10_000
	events, err := s.Events(t.Context(), core.EventQuery{Owner: core.AllOwners, Resource: id, Limit: most})
	if err != nil {
		t.Fatal(err)
	}
	if len(events) == most {
		t.Fatalf("%s has more events than are looked at", id)
	}
	return events
}

// checkSession wants a journal in order, with one end for each turn that has
// ended, and rows that say the same. It returns the ids of the events by seq, and
// the turns.
func checkSession(t *testing.T, s *sqlitestore.Store, rec core.SessionRecord, ended bool) (events map[uint64]string, turns []string) {
	t.Helper()
	id, last, ends := rec.Session.ID, uint64(0), map[string]core.EventType{}
	events = map[uint64]string{}
	for _, e := range eventsOf(t, s, id) {
		if e.Seq <= last {
			t.Errorf("%s: seq %d follows %d", id, e.Seq, last)
		}
		last, events[e.Seq] = e.Seq, e.ID
		if was, twice := ends[e.TurnID]; twice && e.Type.EndsTurn() {
			t.Errorf("%s: turn %s ended as %s and as %s", id, e.TurnID, was, e.Type)
		} else if e.Type.EndsTurn() {
			ends[e.TurnID] = e.Type
		}
	}
	if ended && rec.Session.Status.Live() {
		t.Errorf("%s is %s and its server is dead", id, rec.Session.Status)
	}
	rows, err := s.Turns(t.Context(), core.ListQuery{Owner: core.AllOwners, SessionID: id, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		turns = append(turns, r.Turn.ID)
		end, has := ends[r.Turn.ID]
		if has != r.Turn.Status.Ended() || has && end != core.EventType("turn_"+string(r.Turn.Status)) {
			t.Errorf("%s: turn %s is %s and its journal ends with %q", id, r.Turn.ID, r.Turn.Status, end)
		}
		if ended && !has {
			t.Errorf("%s: turn %s has no end", id, r.Turn.ID)
		}
	}
	return events, turns
}

// checkToldFacts wants all that a client was told of a session.
func checkToldFacts(t *testing.T, s *sqlitestore.Store, id string, told *toldFacts, ended bool) {
	t.Helper()
	rec, err := s.Session(t.Context(), core.AllOwners, id)
	switch {
	case core.CodeOf(err) == core.CodeNotFound && told.pruning:
		return
	case err != nil:
		t.Errorf("%s was shown: %v", id, err)
		return
	case told.pruned:
		t.Errorf("%s was pruned and is back", id)
	case told.closed && rec.Session.Status != core.StatusClosed:
		t.Errorf("%s was closed and is %s", id, rec.Session.Status)
	}
	events, turns := checkSession(t, s, rec, ended)
	var lost []uint64
	for seq, event := range told.events {
		if events[seq] != event {
			lost = append(lost, seq)
		}
	}
	if len(lost) > 0 {
		first := slices.Min(lost)
		t.Errorf("%s: %d events were shown and are gone; the first, %d, as %s, and is %q", id, len(lost), first, told.events[first], events[first])
	}
	for _, turn := range told.turns {
		if !slices.Contains(turns, turn) {
			t.Errorf("%s: turn %s was taken and is gone", id, turn)
		}
	}
}

// crashes are rounds of work and sudden death on one journal.
type crashes struct {
	db, cwd string
	told    map[string]*toldFacts // by session, of all rounds
	known   map[string]bool       // sessions that an earlier round has looked at
}

// TestNothingThatWasShownIsLostWhenAServerIsKilled kills busy servers at random
// moments, again and again on the same journal. The first half of the rounds
// share one, which grows; the others restart now and then.
func TestNothingThatWasShownIsLostWhenAServerIsKilled(t *testing.T) {
	const anew = 10
	rounds := amount(t, "CRASHES", 5)
	var c *crashes
	for n := range rounds {
		if c == nil || n >= rounds/2 && (n-rounds/2)%anew == 0 {
			if c != nil {
				c.rest(t)
			}
			c = &crashes{db: filepath.Join(t.TempDir(), "journal.db"), cwd: t.TempDir(), told: map[string]*toldFacts{}, known: map[string]bool{}}
		}
		if !t.Run(fmt.Sprint("round ", n), func(t *testing.T) { c.round(t, n) }) {
			c.keep(t)
			return
		}
	}
	c.rest(t)
}

// round has one server die while it starts and the next while it works, and
// looks at what they leave behind.
func (c *crashes) round(t *testing.T, n int) {
	durability := []string{"--durability", durabilities[n%len(durabilities)]}
	boot := time.Duration(rand.IntN(50)) * time.Millisecond
	life := time.Duration(100+rand.IntN(700)) * time.Millisecond
	if n%5 == 4 { // long enough to pack the log and to move it into the database
		life += time.Duration(1000+rand.IntN(2000)) * time.Millisecond
	}
	t.Logf("%s: killed %v after its start, and another %v after its opening", durability, boot, life)
	c.dieAtBoot(t, boot, durability)
	v := startKilledServer(t, c.db, durability...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { v.live(ctx, c.cwd) })
	}
	time.Sleep(life) // the moment is what is random
	v.kill(t)
	group.Wait()
	maps.Copy(c.told, v.told)
	c.look(t, v.told)
	if n/2%2 == 0 { // before the next server, or not
		if out, err := exec.Command(binary, "list", "sessions", "--db", c.db).CombinedOutput(); err != nil {
			t.Errorf("list: %v\n%s", err, out)
		}
	}
}

// dieAtBoot kills a server that has just begun to start, perhaps while it makes
// the database or puts to rest what the last one left.
func (c *crashes) dieAtBoot(t *testing.T, after time.Duration, argv []string) {
	t.Helper()
	cmd := serveCommand(t, c.db, argv...)
	in, err := cmd.StdinPipe() // stays open: its end is a shutdown
	if err == nil {
		defer in.Close()
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(after) // the moment is what is random
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a server that was to be killed has ended by itself")
	}
}

// sample is how many sessions of earlier rounds are looked at again.
const sample = 20

// look checks what a round wrote and some of what was there before. It does so
// on a copy, so that the next server meets the files as the dead one left them.
func (c *crashes) look(t *testing.T, told map[string]*toldFacts) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	c.copyTo(t, copied)
	withJournal(t, copied, func(s *sqlitestore.Store) {
		for id, story := range told {
			checkToldFacts(t, s, id, story, false)
		}
		for _, rec := range sessionsOf(t, s, c.known) {
			if id := rec.Session.ID; told[id] == nil { // its start was not answered any more
				checkSession(t, s, rec, false)
				c.told[id] = &toldFacts{}
			}
		}
		older := slices.Collect(maps.Keys(c.known))
		rand.Shuffle(len(older), func(i, j int) { older[i], older[j] = older[j], older[i] })
		for _, id := range older[:min(sample, len(older))] {
			checkToldFacts(t, s, id, c.told[id], false)
		}
	})
	for id := range c.told {
		c.known[id] = true
	}
}

// rest wants the next server to need no repair: it finds everything, at rest.
func (c *crashes) rest(t *testing.T) {
	t.Helper()
	v := startKilledServer(t, c.db)
	v.ask(t.Context(), "list", args{"kind": "sessions"})
	events, failed := 0, 0
	journalOf(t, c.db, func(s *sqlitestore.Store, sessions []core.SessionRecord) {
		for _, rec := range sessions {
			checkSession(t, s, rec, true)
		}
		for id, story := range c.told {
			checkToldFacts(t, s, id, story, true)
			if events += len(story.events); story.failed {
				failed++
			}
		}
		if len(sessions) == 0 || events == 0 {
			t.Errorf("%d sessions and %d events", len(sessions), events)
		}
		t.Logf("%d sessions; clients saw %d stored events, and of %d sessions that they were not stored", len(sessions), events, failed)
	})
}

// copyTo copies the database and its log.
func (c *crashes) copyTo(t *testing.T, db string) {
	t.Helper()
	for _, part := range []string{"", "-wal"} {
		from, err := os.Open(c.db + part)
		if os.IsNotExist(err) && part != "" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		to, err := os.Create(db + part)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// keep puts the files of a failure where the end of the test does not delete
// them.
func (c *crashes) keep(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "harness-mcp-crash-")
	if err != nil {
		t.Fatal(err)
	}
	c.copyTo(t, filepath.Join(dir, "journal.db"))
	t.Logf("the journal is kept in %s", dir)
}

// TestTenServersShareAJournal runs ten servers on one file, kills one every
// now and then and starts another in its place.
func TestTenServersShareAJournal(t *testing.T) {
	db, cwd := filepath.Join(t.TempDir(), "journal.db"), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	start := func(n int) *killedServer {
		v := startKilledServer(t, db, "--durability", durabilities[n%len(durabilities)])
		group.Go(func() { v.live(ctx, cwd) })
		return v
	}
	var starting sync.WaitGroup
	servers := make([]*killedServer, 10)
	for i := range servers { // all at once, on an empty directory
		starting.Go(func() { servers[i] = start(i) })
	}
	starting.Wait()
	all := slices.Clone(servers)
	end := time.Now().Add(time.Duration(amount(t, "CROWD_SECONDS", 6)) * time.Second)
	for time.Now().Before(end) {
		time.Sleep(time.Second) // work goes on between two kills
		i := rand.IntN(len(servers))
		servers[i].kill(t)
		servers[i] = start(len(all))
		all = append(all, servers[i])
	}
	// Another server's session is awaited here, and ends when its server dies.
	s, ok := servers[0].ask(ctx, "start_session", args{"provider": "demo", "cwd": cwd})
	turn, ok2 := servers[0].ask(ctx, "send_message", args{"session_id": s.SessionID, "prompt": "slow 60000\nsay never"})
	if !ok || !ok2 {
		t.Fatalf("a session among ten: %+v %+v", s, turn)
	}
	waiting := make(chan got, 1)
	go func() {
		g, _ := servers[1].ask(ctx, "await", args{"ids": []string{turn.TurnID}, "wait_ms": 30000})
		waiting <- g
	}()
	if g, _ := servers[2].ask(ctx, "follow_up", args{"session_id": s.SessionID, "prompt": "say x"}); g.Error.Code != string(core.CodeOtherInstance) {
		t.Errorf("a command on another server's session: %+v", g.Error)
	}
	servers[0].kill(t)
	if g := <-waiting; len(g.Results) != 1 || g.Results[0].Status != "interrupted" || g.Results[0].Reason != "server_restarted" {
		t.Errorf("await on a server that died: %+v", g)
	}
	for _, v := range servers {
		v.kill(t)
	}
	cancel()
	group.Wait()
	c := &crashes{db: db, told: map[string]*toldFacts{}}
	for _, v := range all {
		maps.Copy(c.told, v.told)
	}
	if c.rest(t); t.Failed() {
		c.keep(t)
	}
}
