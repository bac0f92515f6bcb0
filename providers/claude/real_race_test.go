package claude

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// pause waits so long, which is what these tests vary.
func pause(d time.Duration) { <-time.After(d) }

func TestRealInterruptAtAnyMomentEndsItsTurnAndNoOther(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(b.session())
		says(r, "warm", "say warm")
		for i := range 16 {
			turn := fmt.Sprintf("stopped-%d", i)
			r.Start(turn, "slow 20", "stream 2000")
			pause(time.Duration(i) * 12 * time.Millisecond)
			op := r.Send(core.Interrupt{ID: r.NextOp(), TurnID: turn})
			if e := r.TurnEnded(turn); e.Verdict != core.VerdictCancelled {
				t.Errorf("after %d ms: %s", i*12, conntest.Brief(e))
			}
			done := false
			for _, n := range r.All() {
				if d, ok := n.(core.OpDone); ok && d.Op == op {
					done = true
				}
			}
			if !done {
				r.OpDone(op)
			}
			next := fmt.Sprintf("next-%d", i)
			if verdict, text := says(r, next, "say "+next); verdict != core.VerdictCompleted || text != next {
				t.Fatalf("after %d ms the next turn: %s, %q", i*12, verdict, text)
			}
		}
	})
}

func TestRealTurnsOfTheProviderNeverTakeOurs(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		nap := b.script("nap", "sleep 0.3")
		cfg := b.session()
		cfg.AllowedTools = []string{"Bash(" + nap + ":*)"}
		r := b.open(cfg)
		for i := range 10 {
			launch := fmt.Sprintf("launch-%d", i)
			verdict, text := says(r, launch, `call Bash {"command":"`+nap+`","description":"nap","run_in_background":true}`, "say "+launch)
			if verdict != core.VerdictCompleted || text != launch {
				t.Fatalf("%s: %s, %q", launch, verdict, text)
			}
			pause(time.Duration(i) * 45 * time.Millisecond) // about when the nap ends
			ours := fmt.Sprintf("ours-%d", i)
			if verdict, text := says(r, ours, "slow 5", "say "+ours); verdict != core.VerdictCompleted || text != ours {
				t.Fatalf("%s: %s, %q%s", ours, verdict, text, r.Summary())
			}
		}
		own := 0
		for _, n := range r.All() {
			if e, ok := n.(core.TurnEnded); ok && strings.HasPrefix(e.Turn, "claude-") {
				own++
			}
		}
		if own == 0 {
			t.Error("the provider began no turn of its own")
		}
	})
}
