package demo_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestModesDecideWhetherItAsks(t *testing.T) {
	for _, tc := range []struct {
		mode    core.ApprovalMode
		sandbox core.SandboxMode
		asks    int
		ends    []core.ToolStatus // of approve, then patch
	}{
		{core.ApprovalDefault, core.SandboxDefault, 1, []core.ToolStatus{core.ToolOK, core.ToolOK}},
		{core.ApprovalPrompt, core.SandboxWorkspaceWrite, 2, []core.ToolStatus{core.ToolOK, core.ToolOK}},
		{core.ApprovalAutoEdit, core.SandboxUnrestricted, 1, []core.ToolStatus{core.ToolOK, core.ToolOK}},
		{core.ApprovalAuto, core.SandboxDefault, 0, []core.ToolStatus{core.ToolOK, core.ToolOK}},
		{core.ApprovalPrompt, core.SandboxReadOnly, 0, []core.ToolStatus{core.ToolDeclined, core.ToolDeclined}},
	} {
		t.Run(string(tc.mode)+" in "+string(tc.sandbox), func(t *testing.T) {
			k := open(t, fast(t), core.SessionConfig{ApprovalMode: tc.mode, SandboxMode: tc.sandbox})
			k.run("t1", "approve\npatch")
			if got := k.asked(); got != tc.asks {
				t.Errorf("it asked %d times, not %d", got, tc.asks)
			}
			var ends []core.ToolStatus
			for _, c := range content[core.ToolCompleted](k) {
				ends = append(ends, c.Status)
			}
			if d := cmp.Diff(tc.ends, ends); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestConfigureChangesTheNextDecision(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{ApprovalMode: core.ApprovalPrompt})
	if err := k.outcome(core.Configure{ID: k.id(), Changes: core.Changes{
		ApprovalMode: core.ApprovalAuto, SandboxMode: core.SandboxWorkspaceWrite, Model: "demo-fast",
	}}); err != nil {
		t.Fatal(err)
	}
	k.run("t1", "approve\npatch")
	if n := k.asked(); n != 0 {
		t.Errorf("it asked %d times", n)
	}
}

func TestAnApprovalForTheSessionIsAskedForOnce(t *testing.T) {
	for scope, want := range map[core.Scope]int{core.ScopeOnce: 1, core.ScopeSession: 0} {
		k := open(t, fast(t), core.SessionConfig{})
		k.start("t1", "approve")
		k.respond(next[core.RequestRaised](k), core.Response{Action: core.ActionApprove, Scope: scope})
		k.finish()
		k.run("t2", "approve")
		if got := k.asked(); got != want {
			t.Errorf("after an approval of scope %s it asked %d times", scope, got)
		}
	}
}

func TestADenialIsSentToTheAgentAndTheTurnContinues(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.start("t1", "approve\nsay and on")
	k.respond(next[core.RequestRaised](k), core.Response{Action: core.ActionDeny, Reason: "not today"})
	if end := k.finish(); end.Verdict != core.VerdictCompleted {
		t.Errorf("ended %s", end.Verdict)
	}
	want := []string{"I did not run touch approved.txt: it was denied: not today.", "and on"}
	if d := cmp.Diff(want, k.said()); d != "" {
		t.Error(d)
	}
	if c := content[core.ToolCompleted](k); len(c) != 1 || c[0].Status != core.ToolDeclined {
		t.Errorf("the tool ended %+v", c)
	}
}

func TestACancelStopsTheTurn(t *testing.T) {
	for _, prompt := range []string{"approve\nsay no", "ask\nsay no"} {
		k := open(t, fast(t), core.SessionConfig{})
		k.start("t1", prompt)
		k.respond(next[core.RequestRaised](k), core.Response{Action: core.ActionCancel})
		if end := k.finish(); end.Verdict != core.VerdictCancelled || len(k.said()) != 0 {
			t.Errorf("%q ended %s after %q", prompt, end.Verdict, k.said())
		}
	}
}

func TestAQuestionTakesAChoiceOrOtherWords(t *testing.T) {
	for answer, want := range map[string]string{
		"Formal":     "You chose: Good day.",
		"Good day.":  "You chose: Good day.",
		"Moin, moin": "You chose: Moin, moin",
	} {
		k := open(t, fast(t), core.SessionConfig{})
		k.start("t1", "ask")
		k.respond(next[core.RequestRaised](k), core.Response{Action: core.ActionAnswer, Answer: answer})
		k.finish()
		if d := cmp.Diff([]string{want}, k.said()); d != "" {
			t.Error(d)
		}
	}
}

func TestAFileChangeApprovalShowsTheDiffBeforeTheFileIsWritten(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{ApprovalMode: core.ApprovalPrompt})
	k.start("t1", "patch\nrun")
	r := next[core.RequestRaised](k)
	if r.Spec.Kind != core.KindFileChangeApproval || !strings.Contains(r.Spec.Details.Diff, "+Edits: 1\n") {
		t.Errorf("it asked %+v", r.Spec)
	}
	k.respond(r, core.Response{Action: core.ActionDeny})
	k.finish()
	if n := len(content[core.FileChange](k)); n != 0 {
		t.Errorf("%d file changes after a denial", n)
	}
	tools := content[core.ToolCompleted](k)
	if got := tools[len(tools)-1].Output; got != "total 0\n" {
		t.Errorf("the folder holds %q", got)
	}
}
