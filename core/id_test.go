package core_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestAnEventsIDIsAUUIDOfVersionSevenWithItsTime(t *testing.T) {
	before := time.Now()
	id := core.NewEventID()
	u, err := uuid.Parse(strings.TrimPrefix(id, core.PrefixEvent))
	if err != nil || core.PrefixEvent+u.String() != id {
		t.Fatalf("%s: %v", id, err)
	}
	if u.Version() != 7 || u.Variant() != uuid.RFC4122 {
		t.Errorf("%s has version %d and variant %s", id, u.Version(), u.Variant())
	}
	sec, ns := u.Time().UnixTime()
	if at := time.Unix(sec, ns); at.Before(before.Add(-time.Millisecond)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("%s is of %s, made at %s", id, at, before)
	}
}

func TestEventIDsSortInTheOrderInWhichTheyWereMade(t *testing.T) {
	const makers, each = 4, 5000
	made := make([][]string, makers)
	var wg sync.WaitGroup
	for i := range made {
		wg.Go(func() {
			for range each {
				made[i] = append(made[i], core.NewEventID())
			}
		})
	}
	wg.Wait()
	for _, ids := range made {
		if !slices.IsSorted(ids) {
			t.Error("one is before the one before it")
		}
	}
	all := slices.Concat(made...)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != makers*each {
		t.Errorf("%d ids, %d of them different", makers*each, n)
	}
}
