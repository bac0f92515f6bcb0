package tools

import (
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestAtALimitTheListOfWhatCountsIsSuggested(t *testing.T) {
	for limit, kind := range map[string]string{
		"max_sessions": "sessions", "max_sessions_per_owner": "sessions",
		"max_processes": "processes", "max_processes_per_owner": "processes",
	} {
		c := &call{surface: &surface{}}
		next := c.afterError(core.Errorf(core.CodeCapacity, "full").Retry(), map[string]any{"limit": limit})
		if len(next) != 1 || next[0].Tool != "list" || next[0].Arguments["kind"] != kind {
			t.Errorf("%s: %+v", limit, next)
		}
	}
}

func TestWhatTheClientsOfAnOwnerWatchIsCountedTogether(t *testing.T) {
	watching := func(owner string, uris ...string) *audience {
		a := &audience{owner: owner, watched: map[string]*watched{}}
		for _, uri := range uris {
			a.watched[uri] = &watched{uses: 1}
		}
		return a
	}
	u := &updates{clients: map[string]*audience{"1": watching("o", "a", "b"), "2": watching("o", "a"), "3": watching("p", "c")}}
	for owner, want := range map[string]int{"o": 3, "p": 1, "q": 0} {
		if got := u.watchedBy(owner); got != want {
			t.Errorf("%s watches %d resources, not %d", owner, got, want)
		}
	}
}
