package tools

import (
	"testing"
)

func TestWhatTheClientsOfAnOwnerWatchIsCountedTogether(t *testing.T) {
	watching := func(owner string, uris ...string) *subscriber {
		a := &subscriber{owner: owner, watched: map[string]*subscription{}}
		for _, uri := range uris {
			a.watched[uri] = &subscription{uses: 1}
		}
		return a
	}
	u := &resourceUpdates{clients: map[string]*subscriber{"1": watching("o", "a", "b"), "2": watching("o", "a"), "3": watching("p", "c")}}
	for owner, want := range map[string]int{"o": 3, "p": 1, "q": 0} {
		if got := u.watchedBy(owner); got != want {
			t.Errorf("%s watches %d resources, not %d", owner, got, want)
		}
	}
}
