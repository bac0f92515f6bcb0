package harness

import (
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

// unstoredTurns are the turns that sessions could not store: a session itself
// shows the running one and the last. The zero value is ready. It is safe for
// concurrent use.
type unstoredTurns struct {
	mu    sync.Mutex
	turns map[key]core.Turn // by owner and turn id
}

// put keeps the newest row of a turn. The session bounds how many it keeps here.
func (u *unstoredTurns) put(owner string, t core.Turn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.turns == nil {
		u.turns = map[key]core.Turn{}
	}
	u.turns[key{owner, t.ID}] = t
}

// get returns the row in memory of a turn, and whether there is one.
func (u *unstoredTurns) get(owner, id string) (core.Turn, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	t, ok := u.turns[key{owner, id}]
	return t, ok
}

// drop removes a turn, so that it is read from the store again.
func (u *unstoredTurns) drop(owner, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.turns, key{owner, id})
}
