// Package storetest is the conformance suite of core.Store. What every store
// must do is written here once, as checks; each store runs all of them:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) core.Store { return mystore.New(t.TempDir()) })
//	}
//
// A store that keeps its data is also closed and opened again, with RunReopen,
// and killed while it writes, with RunCrash, whose Writer comes first in
// TestMain.
//
// A check is a plain function from a fresh store to an error, so that the
// suite is itself tested: the tests of this package run it against stores that
// are broken on purpose, and name the check that must notice.
//
// The contract has some corners that the method comments leave open. The
// checks settle them:
//
//   - The exact same batch as the last one of its resource is accepted and
//     changes nothing. An earlier one is a conflict like any other.
//   - A batch with Replace begins a new aggregate, so its ExpectSeq is 0.
//   - A batch without a snapshot needs a stored aggregate: CodeNotFound.
//   - Sessions and processes share one space of ids, turns and requests have
//     one each. Ids of different owners never meet.
//   - A batch whose parts contradict each other is CodeInternal. One that
//     brings a snapshot or key twice means the last.
//   - Events and LastSeq of a resource that is not there are empty and 0.
//   - LastSeq stays when events are trimmed: a seq is never used again.
//   - Not live means ended for the filters Live and EndedBefore, so an
//     unavailable session counts; a session ended at its UpdatedAt.
//   - A key in a batch completes the claim that PutKey made of it, if that has
//     the same ArgsHash and no Resource yet; any other stored key is a conflict.
//   - Keys outlive the aggregate that they made.
//   - Writes name one owner: AllOwners is for reads.
//   - An ended context and a closed store return CodeStoreFailed; the first
//     wraps the context's error.
package storetest

import (
	"context"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

// Check is one thing that every store must do. Run gets a store of its own and
// returns what is wrong with it; it may close it.
type Check struct {
	Name string
	Run  func(ctx context.Context, s core.Store) error
}

// ReopenCheck is one thing that a store must do which keeps its data. Reopen
// closes s and opens the same data again.
type ReopenCheck struct {
	Name string
	Run  func(ctx context.Context, s core.Store, reopen func(s core.Store) core.Store) error
}

// Run checks the stores that open makes. Each call of open must return a new,
// empty store; Run closes it.
func Run(t *testing.T, open func(t *testing.T) core.Store) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			if err := c.Run(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}

// RunReopen checks what a durable store keeps. Reopen is given an open store;
// it closes it and opens the same data again.
func RunReopen(t *testing.T, open func(t *testing.T) core.Store, reopen func(t *testing.T, s core.Store) core.Store) {
	for _, c := range ReopenChecks() {
		t.Run(c.Name, func(t *testing.T) {
			s := open(t)
			defer func() { s.Close() }()
			err := c.Run(t.Context(), s, func(old core.Store) core.Store {
				s = reopen(t, old)
				return s
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Checks lists what every store must do.
func Checks() []Check {
	return []Check{
		{"events come back whole and in order", eventsInOrder},
		{"seq may have gaps", seqGaps},
		{"a page begins after its cursor and ends at until", pageAfterUntil},
		{"limit bounds a page", pageLimit},
		{"tail gives the newest events in order", pageTail},
		{"max bytes bounds a page but gives one event", pageMaxBytes},
		{"events of one turn", pageTurn},
		{"events of some types", pageTypes},
		{"raw frames only on request", pageRaw},
		{"a large event survives", largeEvent},
		{"an unknown journal is empty", unknownJournal},

		{"a seq that is not expected is a conflict", expectSeq},
		{"the exact same batch is accepted", sameBatch},
		{"a refused batch leaves nothing", atomicBatch},
		{"a malformed batch is refused", malformedBatch},
		{"create needs a free id", createNeedsFreeID},
		{"replace drops the old aggregate", replaceDropsOld},
		{"a batch without a snapshot needs an aggregate", needsAggregate},
		{"snapshots are updated", snapshotsUpdated},
		{"ids are unique per owner", idsUnique},
		{"what is given is not kept", givenNotKept},
		{"what is returned belongs to the caller", returnedNotShared},
		{"what may be secret is not stored", secretsNotStored},

		{"rows that are not there", rowsNotFound},
		{"lists give newest first", listsNewestFirst},
		{"lists page by cursor", listsPage},
		{"lists filter by session and turn", filterSessionTurn},
		{"lists filter by provider, status and instance", filterColumns},
		{"lists filter by life and end", filterLife},
		{"a cursor of another kind is refused", badCursor},
		{"owners do not see each other", ownersApart},
		{"all owners are seen together", allOwners},

		{"a key is put once", keyOnce},
		{"keys are written with their batch", keyInBatch},
		{"a batch completes a claimed key", keyCompleted},
		{"keys are deleted and swept", keysGo},
		{"one racer claims an aggregate", claimRace},
		{"children are remembered until they are reaped", childLog},
		{"trim drops the oldest events", trim},
		{"delete takes all that hangs on it", deleteCascades},
		{"an instance is alive", instanceAlive},
		{"a server alone is elected", oneSweeper},
		{"answers wait for the session's instance", answers},
		{"answers go with age and session", answersGo},
		{"what has ended is listed", endedList},
		{"only what has ended and stands still is deleted", deleteEnded},
		{"the size grows with the data", sizeGrows},
		{"the secret stays the same", secretStays},

		{"resources commit side by side", commitSideBySide},
		{"one writer of many wins a seq", seqRace},
		{"an ended context is refused", endedContext},
		{"a closed store refuses", closedStore},
	}
}
