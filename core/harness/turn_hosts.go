package harness

import (
	"sync"

	"github.com/harness-mcp/harness-mcp/core/machine"
)

// maxTurnHosts bounds how many turns' sessions are remembered.
const maxTurnHosts = 4096

// turnHosts remembers which hosted session a turn was met in. A turn's id does
// not say so, and a look through a thousand sessions takes as long as ten
// events. It is a hint: whoever follows it looks whether the turn is there.
type turnHosts struct {
	mu sync.Mutex
	in map[key]string // session ids, by owner and turn
}

func (t *turnHosts) put(owner, turn, session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in == nil {
		t.in = map[key]string{}
	}
	for other := range t.in { // when there are too many, whichever comes first goes
		if len(t.in) < maxTurnHosts {
			break
		}
		delete(t.in, other)
	}
	t.in[key{owner, turn}] = session
}

func (t *turnHosts) get(owner, turn string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.in[key{owner, turn}]
}

// turnHost finds the hosted session that shows a turn.
func (h *Harness) turnHost(owner, turn string) *actor {
	if session := h.turnHosts.get(owner, turn); session != "" {
		if a := h.liveActor(owner, session); a != nil && a.view.Load().state.HasTurn(turn) {
			return a
		}
	}
	a := h.actorWith(owner, func(s *machine.State) bool { return s.HasTurn(turn) })
	if a != nil {
		h.turnHosts.put(a.owner, turn, a.id)
	}
	return a
}
