package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

// simScript is how many actions one world lives through.
const simScript = 400

// The simulator plays worlds of sessions with racing callers, rude agents,
// failing and stalling stores, restarts and shutdowns, and holds the
// invariants after every step. A failure is shrunk to the few actions that
// make it, and printed with its steps.
func TestSimulatedWorldsKeepTheInvariants(t *testing.T) {
	steps, worlds := 0, uint64(0)
	for steps < simSteps {
		n, err := playSeed(t, worlds)
		if err != "" {
			script := shrinkScript(t, worlds, generateScript(worlds))
			_, why, trace := play(t, worlds, script, true, true)
			t.Fatalf("seed %d breaks an invariant: %s\nshrunk to %d actions: %v\n%s", worlds, why, len(script), script, strings.Join(trace, "\n"))
		}
		steps += n
		worlds++
	}
	t.Logf("%d steps in %d worlds", steps, worlds)
	if simSteps < simCovers {
		return
	}
	for _, what := range expectedInWorlds() {
		if !simSeen[what] {
			t.Errorf("no world has been through: %s", what)
		}
	}
}

// simSeen collects what the worlds of this run have been through.
var simSeen = map[string]bool{}

// simCovers is how many steps surely go through everything.
const simCovers = 500_000

// expectedInWorlds lists what a long run must have met, so that a simulator
// that has quietly become too tame is noticed.
func expectedInWorlds() []string {
	var out []string
	for _, t := range core.EventTypes() {
		switch {
		case strings.HasPrefix(string(t), "process_"), t == core.TypeStdout, t == core.TypeStderr, t.IsDelta() && t != core.TypeMessageDelta:
		case slices.Contains([]core.EventType{core.TypeReasoning, core.TypeToolCompleted, core.TypePlanUpdated, core.TypeRateLimit, core.TypeProviderError}, t):
		default:
			out = append(out, string(t))
		}
	}
	for _, c := range []core.Code{core.CodeStartFailed, core.CodeStartTimeout, core.CodeSessionInUse, core.CodeTurnInProgress, core.CodeCommandInProgress, core.CodeSessionUnavailable,
		core.CodeSessionClosed, core.CodeNoActiveTurn, core.CodeTurnNotActive, core.CodeRequestNotPending, core.CodeAction, core.CodeResponseRejected,
		core.CodeResponseUncertain, core.CodeCapability, core.CodeShuttingDown, core.CodeStoreFailed} {
		out = append(out, "refused "+string(c))
	}
	for _, st := range []core.SessionStatus{core.StatusOpening, core.StatusIdle, core.StatusStarting, core.StatusRunning, core.StatusAwaitingInput, core.StatusCancelling,
		core.StatusClosing, core.StatusUnavailable, core.StatusClosed, core.StatusFailed, core.StatusKilled} {
		for _, in := range []string{"Prompt", "Steer", "Respond", "Ask", "Interrupt", "Configure", "Close", "Shutdown", "StoreFailed"} {
			out = append(out, string(st)+" "+in)
		}
		if st.Live() && st != core.StatusOpening {
			out = append(out, string(st)+" Notice", string(st)+" LinkLost", string(st)+" TimerDue")
		}
	}
	return out
}

func playSeed(t testing.TB, seed uint64) (int, string) {
	n, err, _ := play(t, seed, generateScript(seed), false, false)
	return n, err
}

// generateScript makes the script of a seed.
func generateScript(seed uint64) []simAction {
	r := rand.New(rand.NewPCG(seed, 42))
	var kinds []simKind
	for k := simStart; k <= simShutdown; k++ {
		for range simWeights[k] {
			kinds = append(kinds, k)
		}
	}
	script := make([]simAction, simScript)
	for i := range script {
		script[i] = simAction{kind: kinds[r.IntN(len(kinds))], session: uint8(r.IntN(simSessions)), arg: r.Uint32()}
	}
	return script
}

// play runs a script, looking closely or not; why says which invariant broke, "" for none.
func play(t testing.TB, seed uint64, script []simAction, closely, traced bool) (steps int, why string, trace []string) {
	w := &simWorld{t: t, now: rigStart, stop: seed%4 == 3, thorough: closely, seen: simSeen}
	if traced {
		w.trace = &trace
	}
	defer func() {
		steps = w.steps
		switch r := recover().(type) {
		case nil:
		case simFailure:
			why = r.what
		default:
			why = fmt.Sprintf("panic: %v", r)
		}
	}()
	for _, a := range script {
		w.act(a)
	}
	w.settle()
	return w.steps, "", trace
}

// shrinkScript removes actions as long as the script still fails, in ever smaller
// pieces.
func shrinkScript(t testing.TB, seed uint64, script []simAction) []simAction {
	for size := len(script) / 2; size > 0; {
		removed := false
		for i := 0; i+size <= len(script); {
			less := slices.Delete(slices.Clone(script), i, i+size)
			if _, why, _ := play(t, seed, less, true, false); why != "" {
				script, removed = less, true
				continue
			}
			i += size
		}
		if !removed {
			size /= 2
		}
	}
	return script
}
