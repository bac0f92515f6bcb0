package harness_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// ids lists the sessions that are left, the oldest first.
func (w *world) ids() []string {
	w.t.Helper()
	l, err := w.List(w.t.Context(), me.Owner, core.ListRequest{Kind: core.KindSession, Limit: 200})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, x := range l.Items {
		out = append(out, x.ID)
	}
	slices.Sort(out)
	return out
}

func (w *world) closed(id string) {
	w.t.Helper()
	w.start(func(r *core.StartRequest) { r.Config.SessionID = id })
	w.wait(w.send(id, "say "+fmt.Sprintf("%010000d", 1)).ID)
	if _, err := w.Close(w.t.Context(), me, core.CloseRequest{ID: id}); err != nil {
		w.t.Fatal(err)
	}
}

func TestWhatEndedLongAgoIsSwept(t *testing.T) {
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{Retention: 48 * time.Hour}, func(t *testing.T, w *world) {
		w.start(func(r *core.StartRequest) {
			r.Config.SessionID = "live"
			r.Config.Timeouts.SessionIdle = -1
		})
		w.closed("a")
		time.Sleep(24 * time.Hour)
		w.closed("b")
		time.Sleep(26 * time.Hour)
		if got := w.ids(); !slices.Equal(got, []string{"b", "live"}) {
			t.Errorf("left: %v", got)
		}
	})
}

func TestTheOldestGoWhenAllTogetherTakeTooMuch(t *testing.T) {
	inWorldOn(t, func() core.Store { return memstore.New() }, core.Limits{RetentionBytes: 150_000}, func(t *testing.T, w *world) {
		w.start(func(r *core.StartRequest) {
			r.Config.SessionID = "live"
			r.Config.Timeouts.SessionIdle = -1
		})
		for i := range 10 {
			w.closed(fmt.Sprintf("s%d", i))
			time.Sleep(time.Minute)
		}
		time.Sleep(2 * time.Hour)
		got := w.ids()
		if len(got) < 3 || len(got) > 9 || got[0] != "live" || got[len(got)-1] != "s9" || got[1] == "s0" {
			t.Errorf("left: %v", got)
		}
	})
}

func TestOneOfTwoServersSweeps(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		if a.store.Elected() == b.store.Elected() {
			t.Error("both or none of two servers are elected")
		}
		first, second := a, b
		if b.store.Elected() {
			first, second = b, a
		}
		first.die()
		if !second.store.Elected() {
			t.Error("nobody is elected after the elected one has died")
		}
	})
}
