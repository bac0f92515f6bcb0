package harness

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// hostedAt returns a harness without goroutines that hosts sessions in states.
func hostedAt(states map[key]machine.State) *Harness {
	h := &Harness{registry: newRegistry(), quit: make(chan struct{})}
	for k, s := range states {
		a := &actor{host: h, owner: k.owner, id: k.id, inbox: newInbox()}
		a.view.Store(&published{state: s})
		h.actors[k] = a
	}
	return h
}

func TestASessionIsFoundByItsTurnForItsOwnerOnly(t *testing.T) {
	running := machine.State{Turn: &machine.ActiveTurn{Rec: core.Turn{ID: "trn_1"}}}
	h := hostedAt(map[key]machine.State{{"me", "ses_a"}: {}, {"me", "ses_b"}: running, {"you", "ses_c"}: {}})
	for id := range 1000 {
		h.actors[key{"them", fmt.Sprint("ses_", id)}] = h.actors[key{"you", "ses_c"}]
	}
	has := func(turn string) func(*machine.State) bool {
		return func(s *machine.State) bool { return s.HasTurn(turn) }
	}
	for _, owner := range []string{"me", core.AllOwners} {
		if a := h.actorWith(owner, has("trn_1")); a != h.actors[key{"me", "ses_b"}] {
			t.Errorf("for %q it is not found where it is", owner)
		}
	}
	if h.actorWith("you", has("trn_1")) != nil || h.actorWith("me", has("trn_2")) != nil {
		t.Error("another owner, or another turn, is found")
	}
	if n := len(h.actorsOf("me")); n != 2 {
		t.Errorf("%d sessions of one owner", n)
	}
}

func TestAPlaceAConversationAndATurnIDAreHeldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hostedAt(nil)
		h.telemetry = noTelemetry{}
		session := func(id string) *actor {
			return newActor(h, nil, machine.State{Base: &machine.Base{Config: core.SessionConfig{Owner: "me", SessionID: id}}}, 0)
		}
		limits := core.Limits{MaxSessions: 2, MaxSessionsPerOwner: 3}
		cfg := core.SessionConfig{Provider: "p", ProviderSesID: "conv"}
		a := session("ses_a")
		for _, c := range []struct {
			what string
			a    *actor
			cfg  core.SessionConfig
			want core.Code
		}{
			{"the first", a, cfg, ""},
			{"the same id", session("ses_a"), core.SessionConfig{}, core.CodeSessionInUse},
			{"the same conversation", session("ses_b"), cfg, core.CodeSessionInUse},
			{"a fork of it", session("ses_b"), core.SessionConfig{Provider: "p", ProviderSesID: "conv", Fork: true}, ""},
			{"one too many", session("ses_c"), core.SessionConfig{}, core.CodeCapacity},
		} {
			err := h.add(c.a, c.cfg, limits)
			if got := core.CodeOf(err); err != nil && got != c.want || err == nil && c.want != "" {
				t.Errorf("%s: %v, want %q", c.what, err, c.want)
			}
		}
		h.forget(session("ses_a")) // another of this id: the place stays
		if h.liveActor("me", "ses_a") != a {
			t.Error("an actor lost its place to one that never had it")
		}
		h.forget(a)
		if h.liveActor("me", "ses_a") != nil || len(h.convs) != 0 {
			t.Error("the place, or the conversation, is still held")
		}

		free, ok := h.reserveTurnID(key{"me", "trn_1"})
		if _, again := h.reserveTurnID(key{"me", "trn_1"}); !ok || again {
			t.Error("a turn id is reserved twice")
		}
		if _, other := h.reserveTurnID(key{"you", "trn_1"}); !other {
			t.Error("another owner's turn id is refused")
		}
		free()
		if _, ok = h.reserveTurnID(key{"me", "trn_1"}); !ok {
			t.Error("a freed turn id is refused")
		}

		if !h.shut() || h.shut() {
			t.Error("only the first call shuts")
		}
		if err := h.add(session("ses_d"), core.SessionConfig{}, limits); core.CodeOf(err) != core.CodeShuttingDown || core.CodeOf(h.refuseIfDown()) != core.CodeShuttingDown {
			t.Errorf("after the end: %v", err)
		}
		close(h.quit)
		h.wg.Wait()
	})
}
