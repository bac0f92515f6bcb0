package demo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

func TestAnyOtherPromptPlaysTheWholeShowInUnderThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := open(t, demo.New(demo.Options{Dir: t.TempDir()}), core.SessionConfig{})
		began := time.Now()
		k.run("t1", "please tidy the tests")
		if took := time.Since(began); took == 0 || took >= 3*time.Second {
			t.Errorf("the show took %v", took)
		}
		seen := map[core.EventType]bool{}
		asked := map[core.RequestKind]bool{}
		for _, n := range k.seen {
			switch n := n.(type) {
			case core.Content:
				seen[n.Payload.EventType()] = true
			case core.RequestRaised:
				asked[n.Spec.Kind] = true
			}
		}
		for _, want := range []core.EventType{
			core.TypeMessageDelta, core.TypeMessage, core.TypeReasoningDelta, core.TypeReasoning, core.TypePlanUpdated,
			core.TypeToolStarted, core.TypeCommandOutputDelta, core.TypeToolCompleted, core.TypeFileChange,
		} {
			if !seen[want] {
				t.Errorf("the show has no %s", want)
			}
		}
		if !asked[core.KindCommandApproval] || !asked[core.KindQuestion] {
			t.Errorf("the show asked only %v", asked)
		}
	})
}

func TestTheFastModelAndSingleDirectivesNeverPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := open(t, demo.New(demo.Options{Dir: t.TempDir()}), core.SessionConfig{Model: "demo-fast"})
		began := time.Now()
		k.run("t1", "please tidy the tests")
		k.run("t2", "say a b c\nthink d e f\nrun\npatch\nstream 50")
		if took := time.Since(began); took != 0 {
			t.Errorf("they took %v", took)
		}
	})
}

func TestSlowWaitsAsLongAsItReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := open(t, fast(t), core.SessionConfig{})
		began := time.Now()
		k.run("t1", "slow 1500\nslow 500")
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestTheShowQuotesItsPromptAndWritesTheChosenGreeting(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.run("t1", "run the  tests\nplease")
	said := k.said()
	if !strings.Contains(said[0], `"run the tests please"`) {
		t.Errorf("it began with %q", said[0])
	}
	changes := content[core.FileChange](k)
	if len(changes) != 1 {
		t.Fatalf("%d file changes", len(changes))
	}
	text, err := os.ReadFile(changes[0].Changes[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(text), "Hello there!\nEdits: 1\n"; got != want {
		t.Errorf("the file holds %q, not %q", got, want)
	}
	if last := said[len(said)-1]; !strings.Contains(last, changes[0].Changes[0].Path) {
		t.Errorf("it ended with %q", last)
	}
}

func TestPatchEditsTheFileAndReportsTheDiff(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.run("t1", "patch\npatch\nrun")
	var got []string
	for _, c := range content[core.FileChange](k) {
		got = append(got, string(c.Changes[0].Kind)+"\n"+c.Changes[0].Diff)
	}
	want := []string{
		"added\n--- /dev/null\n+++ b/greeting.txt\n@@ -0,0 +1,2 @@\n+Hello from the demo agent.\n+Edits: 1\n",
		"modified\n--- a/greeting.txt\n+++ b/greeting.txt\n@@ -1,2 +1,2 @@\n Hello from the demo agent.\n-Edits: 1\n+Edits: 2\n",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	tools := content[core.ToolCompleted](k)
	if last := tools[len(tools)-1]; last.Output != "total 1\ngreeting.txt\n" || last.ExitCode == nil || *last.ExitCode != 0 {
		t.Errorf("the listing is %+v", last)
	}
}

func TestScriptsPlayInOrderAndEndAtFail(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.start("t1", "say one\n\n  say two \r\nfail\nsay three")
	end := k.finish()
	if end.Verdict != core.VerdictFailed || end.Result.Error == nil || end.Result.Error.Code != core.TurnProviderError {
		t.Errorf("ended %s with %+v", end.Verdict, end.Result.Error)
	}
	if d := cmp.Diff([]string{"one", "two "}, k.said()); d != "" {
		t.Error(d)
	}
}

func TestSteeredTextIsReportedNext(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.start("t1", "say before\napprove")
	r := next[core.RequestRaised](k)
	k.steer("t1", "use blue")
	k.steer("t1", "and green")
	k.agree(r)
	k.finish()
	want := []string{"before", "Noted while working: use blue", "Noted while working: and green", "I ran touch approved.txt."}
	if d := cmp.Diff(want, k.said()); d != "" {
		t.Error(d)
	}
}

func TestSteeredTextIsReportedAtTheEndWhenNothingElseIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := open(t, fast(t), core.SessionConfig{})
		k.start("t1", "slow 1000")
		next[core.OpDone](k)
		k.steer("t1", "hurry")
		k.finish()
		if d := cmp.Diff([]string{"Noted while working: hurry"}, k.said()); d != "" {
			t.Error(d)
		}
	})
}

func TestSteeringHasABound(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.start("t1", "approve")
	r := next[core.RequestRaised](k)
	if err := k.outcome(core.Steer{ID: k.id(), TurnID: "t1", Input: core.TurnInput{Prompt: strings.Repeat("x", 1<<20)}}); core.CodeOf(orNil(err)) != core.CodeTooLarge {
		t.Errorf("a steer of 1 MiB: %v", err)
	}
	taken := 0
	for {
		err := k.outcome(core.Steer{ID: k.id(), TurnID: "t1", Input: core.TurnInput{Prompt: "more"}})
		if err != nil {
			if err.Code != core.CodeQueueFull {
				t.Errorf("refused with %v", err)
			}
			break
		}
		if taken++; taken > 1000 {
			t.Fatal("a thousand steers were taken")
		}
	}
	k.agree(r)
	k.finish()
	if got := len(k.said()); got != taken+1 {
		t.Errorf("%d steers were taken, %d messages said", taken, got)
	}
}

// orNil keeps a nil *core.Error from being a non-nil error.
func orNil(e *core.Error) error {
	if e == nil {
		return nil
	}
	return e
}

// TestTheShowCanBeCutAnywhere interrupts, steers or closes after each notice
// of the whole show in turn. The watch checks that items are closed and join.
func TestTheShowCanBeCutAnywhere(t *testing.T) {
	p := fast(t)
	whole := open(t, p, core.SessionConfig{})
	whole.run("t", "show me")
	length := len(whole.seen)
	for _, cut := range []struct {
		how string
		do  func(k *talk)
	}{
		{"interrupt", func(k *talk) {
			k.interrupt("t1")
			switch end := k.finish(); end.Verdict {
			case core.VerdictCancelled:
			case core.VerdictCompleted: // it was over before
			default:
				k.t.Errorf("ended %s", end.Verdict)
			}
			k.run("t2", "say still here")
		}},
		{"steer", func(k *talk) {
			k.steer("t1", "as you go")
			k.finish()
			k.run("t2", "say still here")
		}},
		{"close", func(k *talk) { k.close() }},
	} {
		t.Run(cut.how, func(t *testing.T) {
			for at := 1; at < length; at++ {
				k := open(t, p, core.SessionConfig{})
				k.start("t1", "show me")
				for range at {
					if r, ok := k.recv().(core.RequestRaised); ok && len(k.seen) < at {
						k.agree(r)
					}
				}
				if _, over := k.seen[at-1].(core.TurnEnded); over {
					break
				}
				pending := k.seen[at-1]
				if cut.how == "steer" {
					if r, ok := pending.(core.RequestRaised); ok {
						k.agree(r)
					}
				}
				cut.do(k)
				if err := k.watch.Unanswered(); err != nil && cut.how != "close" {
					t.Errorf("cut after %d notices: %v", at, err)
				}
				k.close()
			}
		})
	}
}

func TestAnInterruptWithdrawsTheOpenRequest(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.start("t1", "ask\nsay not reached")
	r := next[core.RequestRaised](k)
	k.interrupt("t1")
	if w := next[core.RequestWithdrawn](k); w.Ref != r.Ref {
		t.Errorf("%q was withdrawn, not %q", w.Ref, r.Ref)
	}
	if end := k.finish(); end.Verdict != core.VerdictCancelled || len(k.said()) != 0 {
		t.Errorf("ended %s after saying %q", end.Verdict, k.said())
	}
}

func TestASecondTurnAndStrayOpsAreRefusedWhileOneRuns(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.start("t1", "approve")
	r := next[core.RequestRaised](k)
	for _, tc := range []struct {
		op   core.Op
		code core.Code
	}{
		{core.StartTurn{ID: k.id(), TurnID: "t2", Input: core.TurnInput{Prompt: "say no"}}, core.CodeTurnInProgress},
		{core.Interrupt{ID: k.id(), TurnID: "t0"}, core.CodeTurnNotActive},
		{core.Steer{ID: k.id(), TurnID: "t0", Input: core.TurnInput{Prompt: "x"}}, core.CodeTurnNotActive},
		{core.Respond{ID: k.id(), Ref: "other", Response: core.Response{Action: core.ActionApprove}}, core.CodeRequestNotPending},
		{core.Respond{ID: k.id(), Ref: r.Ref, Response: core.Response{Action: core.ActionAnswer}}, core.CodeAction},
		{core.Respond{ID: k.id(), Ref: r.Ref, Response: core.Response{Action: core.ActionApprove, Scope: "forever"}}, core.CodeScope},
		{core.Configure{ID: k.id(), Changes: core.Changes{Model: "gpt"}}, core.CodeOption},
		{core.Configure{ID: k.id(), Changes: core.Changes{ReasoningEffort: "high"}}, core.CodeOption},
	} {
		if err := k.outcome(tc.op); err == nil || err.Code != tc.code {
			t.Errorf("%T: %v, not %s", tc.op, err, tc.code)
		}
	}
	k.agree(r)
	if end := k.finish(); end.Verdict != core.VerdictCompleted {
		t.Errorf("the turn ended %s", end.Verdict)
	}
}

func TestInputThatItCannotTakeIsARejectedTurn(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	for i, in := range []core.TurnInput{
		{Prompt: "say x", Attachments: []string{"/tmp/a"}},
		{Prompt: "say x", OutputSchema: []byte(`{}`)},
		{Prompt: "say x", ReasoningEffort: "high"},
		{Prompt: "say x", Content: []core.ContentBlock{{Type: "image"}}},
	} {
		op := core.StartTurn{ID: k.id(), TurnID: fmt.Sprint("t", i), Input: in}
		if err := k.outcome(op); err == nil || err.Code != core.CodeCapability && err.Code != core.CodeOption {
			t.Errorf("%+v: %v", in, err)
		}
	}
	k.start("t9", "say one")
	k.send(core.Interrupt{ID: k.id(), TurnID: "t9"})
	k.finish()
}

func TestTextBlocksContinueTheScript(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.send(core.StartTurn{ID: k.id(), TurnID: "t1", Input: core.TurnInput{
		Prompt: "say one", Content: []core.ContentBlock{{Type: "text", Text: "say two"}},
	}})
	k.finish()
	if d := cmp.Diff([]string{"one", "two"}, k.said()); d != "" {
		t.Error(d)
	}
}

func TestOpenRefusesWhatItCannotDo(t *testing.T) {
	p := fast(t)
	for _, tc := range []struct {
		cfg  core.SessionConfig
		code core.Code
	}{
		{core.SessionConfig{MCPServers: map[string]json.RawMessage{"a": nil}}, core.CodeCapability},
		{core.SessionConfig{Skills: []string{"/s"}}, core.CodeCapability},
		{core.SessionConfig{OutputSchema: json.RawMessage(`{}`)}, core.CodeCapability},
		{core.SessionConfig{ReasoningEffort: "low"}, core.CodeOption},
		{core.SessionConfig{Model: "gpt"}, core.CodeOption},
		{core.SessionConfig{ProviderOptions: map[string]json.RawMessage{"a": nil}}, core.CodeOption},
	} {
		conn, err := p.Open(t.Context(), tc.cfg)
		if core.CodeOf(err) != tc.code {
			t.Errorf("%+v: %v, not %s", tc.cfg, err, tc.code)
		}
		if conn != nil {
			conn.Close(context.Background())
		}
	}
}

func TestSettingsWithoutMeaningAreWarnedOf(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{SystemPrompt: "be brief", AddDirs: []string{"/"}})
	if w := k.conn.Ready().Warnings; len(w) != 2 || !slices.ContainsFunc(w, func(s string) bool { return strings.HasPrefix(s, "system_prompt") }) {
		t.Errorf("warnings: %q", w)
	}
}

// TestAFullQueueOfSteeringStillTakesAnInterrupt while no one reads, so that the
// agent stands still.
func TestAFullQueueOfSteeringStillTakesAnInterrupt(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.start("t1", "stream 1000")
	refused := false
	for range 1000 {
		op := core.Steer{ID: k.id(), TurnID: "t1", Input: core.TurnInput{Prompt: "more"}}
		k.watch.Sending(op)
		if err := k.conn.Send(op); err != nil {
			k.watch.Refused(op)
			if refused = core.CodeOf(err) == core.CodeQueueFull; !refused {
				t.Fatal(err)
			}
			break
		}
	}
	if !refused {
		t.Fatal("a thousand steers were queued")
	}
	k.interrupt("t1")
	if end := k.finish(); end.Verdict != core.VerdictCancelled {
		t.Errorf("ended %s", end.Verdict)
	}
}

func TestWaitingPromptsAreBoundedInBytes(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.start("t1", "approve")
	r := next[core.RequestRaised](k)
	// The agent waits once the buffer of its notices is full, and then the queue
	// fills with 6 MiB each.
	refused := 0
	large := core.TurnInput{Prompt: strings.Repeat("x", 6<<20)}
	for range 64 {
		op := core.Steer{ID: k.id(), TurnID: "t1", Input: large}
		k.watch.Sending(op)
		if err := k.conn.Send(op); err != nil {
			k.watch.Refused(op)
			if core.CodeOf(err) != core.CodeQueueFull {
				t.Fatal(err)
			}
			refused++
		}
	}
	if refused == 0 {
		t.Error("384 MiB were queued")
	}
	k.agree(r)
	if end := k.finish(); end.Verdict != core.VerdictCompleted {
		t.Errorf("ended %s", end.Verdict)
	}
	k.run("t2", "say the room is given back "+strings.Repeat("x", 6<<20))
}
