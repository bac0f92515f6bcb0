package harness

import (
	"fmt"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

func TestTurnHostsRememberBoundedManyAndTellOwnersApart(t *testing.T) {
	var hosts turnHosts
	for i := range 2 * maxTurnHosts {
		hosts.put("me", fmt.Sprint("trn_", i), "ses_1")
	}
	if n := len(hosts.in); n > maxTurnHosts {
		t.Errorf("%d turns are remembered", n)
	}
	if last := fmt.Sprint("trn_", 2*maxTurnHosts-1); hosts.get("me", last) != "ses_1" {
		t.Error("the last turn is forgotten")
	}
	hosts.put("you", "trn_own", "ses_2")
	if hosts.get("you", "trn_own") != "ses_2" || hosts.get("me", "trn_own") != "" {
		t.Error("an owner's turn is met under another's")
	}
}

// A hint that is not true any more leads to the session that has the turn.
func TestATurnIsFoundWhereItIsWhateverWasRemembered(t *testing.T) {
	running := machine.State{Turn: &machine.ActiveTurn{Rec: core.Turn{ID: "trn_1"}}}
	h := &Harness{actors: map[key]*actor{}}
	for _, id := range []string{"ses_a", "ses_b"} {
		a := &actor{host: h, owner: "me", id: id}
		a.view.Store(&published{})
		h.actors[key{"me", id}] = a
	}
	b := h.actors[key{"me", "ses_b"}]
	b.view.Store(&published{state: running})
	for _, remembered := range []string{"", "ses_a", "ses_gone", "ses_b"} {
		h.turnHosts.put("me", "trn_1", remembered)
		for _, owner := range []string{"me", core.AllOwners} {
			if got := h.turnHost(owner, "trn_1"); got != b {
				t.Errorf("remembered in %q, asked for %q: not found where it is", remembered, owner)
			}
		}
	}
	if h.turnHost("you", "trn_1") != nil {
		t.Error("another owner finds it")
	}
	if got := h.turnHosts.get("me", "trn_1"); got != "ses_b" {
		t.Errorf("then %q is remembered", got)
	}
}
