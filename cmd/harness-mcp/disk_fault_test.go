//go:build linux

package main_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/sqlitestore"
)

// TestASlowDiskMakesCallsSlowAndNothingElse has every commit take 300 ms.
func TestASlowDiskMakesCallsSlowAndNothingElse(t *testing.T) {
	const commit = 300 * time.Millisecond
	v, disk := startWithFaults(t, filepath.Join(t.TempDir(), "journal.db"), "--durability", "full") // the other does not sync each commit
	held := v.started(t)
	_, met := disk.on(fault{calls: syncs, delay: commit})
	turn := v.within(t, 20*commit, "send_message", args{"session_id": held, "prompt": "slow 60000\nsay never"})
	var group sync.WaitGroup
	for range 4 { // beside others, whose commits are joined
		group.Go(func() {
			id := v.started(t)
			g, ok := v.ask(t.Context(), "send_message", args{"session_id": id, "prompt": "stream 50\nsay done", "wait_ms": 60000})
			if !ok || g.Status != "completed" || g.Text == "" {
				t.Errorf("a turn on a slow disk: %+v", g)
			}
			if d := v.durability(t, id); d != "durable" {
				t.Errorf("a slow disk is taken for a broken one: %s", d)
			}
		})
	}
	// Reading needs no commit, and control calls need a few.
	v.within(t, 5*commit, "inspect", args{"id": held})
	v.within(t, 5*commit, "list", args{"kind": "sessions"})
	v.within(t, 20*commit, "interrupt", args{"session_id": held})
	g := v.within(t, 20*commit, "await", args{"ids": []string{turn.TurnID}, "wait_ms": 60000})
	if len(g.Results) != 1 || g.Results[0].Status != "cancelled" {
		t.Errorf("the interrupted turn: %+v", g)
	}
	p := v.within(t, 20*commit, "start_process", args{"executable": "sleep", "argv": []string{oddSeconds()}})
	v.within(t, 20*commit, "close", args{"id": p.ProcessID, "force": true})
	v.within(t, 20*commit, "close", args{"id": held, "force": true})
	group.Wait()
	if met() == 0 {
		t.Error("no commit was slow")
	}
}

// TestASlowDiskIsNotWaitedForByCommitsThatPromiseNoPower has every sync take a
// second. With durability normal only the moving of the log syncs, so many
// commits take no longer than a few of them.
func TestASlowDiskIsNotWaitedForByCommitsThatPromiseNoPower(t *testing.T) {
	const aSync, turns = time.Second, 40
	v, disk := startWithFaults(t, filepath.Join(t.TempDir(), "journal.db"), "--durability", "normal")
	id := v.started(t)
	_, met := disk.on(fault{calls: syncs, delay: aSync})
	begin := time.Now()
	for range turns { // each commits twice or more
		g, ok := v.ask(t.Context(), "send_message", args{"session_id": id, "prompt": "say done", "wait_ms": 60000})
		if !ok || g.Status != "completed" {
			t.Fatalf("a turn on a slow disk: %+v", g)
		}
	}
	if took := time.Since(begin); took > turns*aSync {
		t.Errorf("%d turns took %v, as if each commit had synced", turns, took)
	}
	waitFor(t, "the log to be moved", func() bool { return met() > 0 })
	if d := v.durability(t, id); d != "durable" {
		t.Errorf("a slow disk is taken for a broken one: %s", d)
	}
}

func TestADiskThatFailsInMidRunIsLivedThrough(t *testing.T) {
	for _, durability := range durabilities {
		for name, f := range map[string]fault{
			"input or output error": {calls: writes, err: unix.EIO},
			"no writing of the log": {calls: writes, file: "-wal", err: unix.EIO},
			"read-only from now on": {calls: writes, err: unix.EROFS},
			// With durability normal the first commit of an empty log syncs.
			"no sync": {calls: syncs, err: unix.EIO},
		} {
			t.Run(durability+", "+name, func(t *testing.T) {
				v, disk := startWithFaults(t, filepath.Join(t.TempDir(), "journal.db"), "--durability", durability)
				id, p := v.started(t), v.watched(t)
				stop, met := disk.onEmptyLog(t, f)
				afterwards := endsOnceStored(t, v, p)
				checkDegradedAndRecovers(t, v, id, stop)
				afterwards()
				if met() == 0 {
					t.Error("nothing has failed")
				}
			})
		}
	}
}

// TestAFailureToMoveTheLogIsSurvived has everything fail that is written to the
// database itself. Commits go to its log, so they do not, whatever the
// durability; and when the disk is well again, so is the log.
func TestAFailureToMoveTheLogIsSurvived(t *testing.T) {
	for _, durability := range durabilities {
		t.Run(durability, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "journal.db")
			v, disk := startWithFaults(t, db, "--durability", durability)
			id := v.started(t)
			emptyLog(t, db)
			stop, met := disk.on(fault{calls: slices.Concat(writes, syncs), file: "db", err: unix.EIO})
			said := func(what string) {
				t.Helper()
				g, ok := v.ask(t.Context(), "send_message", args{"session_id": id, "prompt": "say " + what, "wait_ms": 40000})
				if !ok || g.Status != "completed" || g.Text != what {
					t.Errorf("a turn: %+v", g)
				}
			}
			said("while it fails")
			waitFor(t, "an attempt", func() bool { return met() > 0 })
			waitFor(t, "a word to the operator", func() bool { return strings.Contains(v.Stderr(), "cannot be moved into the database") })
			said("after that")
			if d := v.durability(t, id); d != "durable" {
				t.Errorf("the session is %s", d)
			}
			stop()
			said("when it is over")
			emptyLog(t, db)
			waitFor(t, "a word that it is over", func() bool { return strings.Contains(v.Stderr(), "moved into the database again") })
			v.watch(t.Context(), id)
			v.kill(t)
			withJournal(t, db, func(s *sqlitestore.Store) { checkToldFacts(t, s, id, v.told[id], false) })
		})
	}
}

// TestAServerThatDiesOnADiskThatFailsHasNotLied kills a server on a disk that
// began to fail in the middle of a turn. What was shown as stored is there; a
// session that never said otherwise has lost nothing; and of one that was not
// stored in the end, the next server says so, too.
func TestAServerThatDiesOnADiskThatFailsHasNotLied(t *testing.T) {
	for _, durability := range durabilities {
		for name, f := range map[string]fault{
			"nothing is written":          {calls: writes, err: unix.EIO},
			"the log is not written":      {calls: writes, file: "-wal", err: unix.EIO},
			"some of the log is not":      {calls: writes, file: "-wal", err: unix.EIO, first: 3, step: 7},
			"the database is not written": {calls: writes, file: "db", err: unix.EIO},
			"nothing is synced":           {calls: syncs, err: unix.EIO},
			"some is not synced":          {calls: syncs, err: unix.EIO, first: 2, step: 3},
			"the log is not synced":       {calls: syncs, file: "-wal", err: unix.EIO},
			"the database is not synced":  {calls: syncs, file: "db", err: unix.EIO},
			"the disk is full":            {calls: writes, err: unix.ENOSPC},
			"no file can be cut":          {calls: cuts, err: unix.EIO},
		} {
			t.Run(durability+", "+name, func(t *testing.T) { t.Parallel(); checkCrashWithFault(t, durability, f) })
		}
	}
}

func checkCrashWithFault(t *testing.T, durability string, f fault) {
	db := filepath.Join(t.TempDir(), "journal.db")
	v, disk := startWithFaults(t, db, "--durability", durability)
	id := v.started(t)
	v.turn(t.Context(), "send_message", id, "slow 20\nstream 100")
	v.turn(t.Context(), "follow_up", id, "slow 1200\nsay while the log is moved\nslow 20\nstream 20")
	stop, met := disk.on(f)
	late, ok := v.ask(t.Context(), "follow_up", args{"session_id": id, "prompt": "slow 1200\nsay much later"})
	if !ok || !v.watch(t.Context(), id) {
		t.Fatalf("work goes on whatever the disk does: %+v", late.Error)
	}
	told := v.told[id]
	waitFor(t, "the state and the journal to say the same", func() bool {
		return v.watch(t.Context(), id) && told.lossy == (v.durability(t, id) == string(core.DurabilityDegraded))
	})
	v.kill(t)
	stop()
	t.Logf("%d calls failed; the session has said that it is not stored: %v, and says so now: %v", met(), told.failed, told.lossy)
	if met() == 0 {
		t.Error("nothing has failed")
	}
	if !told.failed { // else its acceptance may have been live only
		told.turns = append(told.turns, late.TurnID)
	}
	reason := core.ReasonServerRestarted
	if told.lossy {
		reason = core.ReasonDurabilityLost
	}
	next := startKilledServer(t, db, "--durability", durability)
	if g, _ := next.ask(t.Context(), "inspect", args{"id": id}); g.Reason != string(reason) && f.step == 0 { // else it may have recovered since
		t.Errorf("the next server says %s, %q, want %q", g.Status, g.Reason, reason)
	}
	next.kill(t)
	withJournal(t, db, func(s *sqlitestore.Store) { checkToldFacts(t, s, id, told, true) })
}
