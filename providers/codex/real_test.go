package codex

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestRealTurnsShareTheirContextAndStream(t *testing.T) {
	onCodex(t, 0, realTurnsShareTheirContextAndStream)
}

func realTurnsShareTheirContextAndStream(t *testing.T, b *bench) {
	r := b.open(b.session())
	ready := r.Conn.Ready()
	if ready.ProviderSessionID == "" || ready.Model != "loopback-model" || ready.PID == 0 || ready.Version == "" {
		t.Errorf("ready is %+v", ready)
	}
	op := r.Start("trn_1", "think about it", "say first answer", "stream 40")
	if done := r.OpDone(op); done.Err != nil || done.Ref == "" {
		t.Fatalf("start: %+v", done)
	}
	end := r.TurnEnded("trn_1")
	if end.Verdict != core.VerdictCompleted || end.Result.Usage == nil {
		t.Errorf("end is %+v", end)
	}
	r.Start("trn_2", "remember")
	msg := conntest.Content[core.Message](r)
	if want := "think about it\\nsay first answer\\nstream 40"; !strings.Contains(msg.Text, want) {
		t.Errorf("second turn says %q, not the first prompt", msg.Text)
	}
	r.TurnEnded("trn_2")
	if n := len(conntest.Contents[core.MessageDelta](r)); n < 40 {
		t.Errorf("%d message deltas, want at least 40", n)
	}
	if got := conntest.Contents[core.Reasoning](r); len(got) != 1 || got[0].Text != "about it" {
		t.Errorf("reasoning %+v", got)
	}
	r.Close()
	if err := r.Ended(); !errors.Is(err, io.EOF) {
		t.Errorf("closed with %v", err)
	}
}

func TestRealCommandsAndPatchesAreReported(t *testing.T) {
	onCodex(t, 0, realCommandsAndPatchesAreReported)
}

func realCommandsAndPatchesAreReported(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.ApprovalMode, cfg.SandboxMode = core.ApprovalAuto, core.SandboxUnrestricted
	r := b.open(cfg)
	r.Start("trn_1", "run sleep 1; echo one; echo two; exit 3", "patch new.txt a line", "say done")
	end := r.TurnEnded("trn_1")
	if end.Verdict != core.VerdictCompleted {
		t.Fatalf("%+v", end)
	}
	started, done := conntest.Contents[core.ToolStarted](r), conntest.Contents[core.ToolCompleted](r)
	if len(started) != 2 || len(done) != 2 {
		t.Fatalf("%s", r.Summary())
	}
	if started[0].Kind != core.ToolCommand || !strings.Contains(started[0].Title, "echo one") || started[0].CWD != b.work {
		t.Errorf("started %+v", started[0])
	}
	if done[0].Output != "one\ntwo\n" || done[0].ExitCode == nil || *done[0].ExitCode != 3 || done[0].Status != core.ToolFailed {
		t.Errorf("completed %+v", done[0])
	}
	changes := conntest.Contents[core.FileChange](r)
	path := filepath.Join(b.work, "new.txt")
	want := []core.FileEdit{{Path: path, Kind: core.FileAdded, Diff: "--- /dev/null\n+++ " + path + "\n@@ -0,0 +1,1 @@\n+a line\n"}}
	if len(changes) != 1 || fmt.Sprint(changes[0].Changes) != fmt.Sprint(want) {
		t.Errorf("changes %+v", changes)
	}
}

func TestRealCommandApprovals(t *testing.T) {
	onCodex(t, 0, realCommandApprovals)
}

func realCommandApprovals(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.ApprovalMode = core.ApprovalPrompt
	cfg.SandboxMode = core.SandboxUnrestricted
	r := b.open(cfg)
	for i, c := range []struct {
		answer  core.Response
		verdict core.Verdict
		status  core.ToolStatus
		wrote   bool
	}{
		{core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}, core.VerdictCompleted, core.ToolOK, true},
		{core.Response{Action: core.ActionDeny}, core.VerdictCompleted, core.ToolDeclined, false},
		{core.Response{Action: core.ActionCancel}, core.VerdictCancelled, core.ToolDeclined, false},
		{core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}, core.VerdictCompleted, core.ToolOK, true},
	} {
		turn, file := fmt.Sprintf("trn_%d", i), fmt.Sprintf("file%d", i)
		r.Start(turn, "run touch "+file, "say done")
		q := r.Request()
		if q.Turn != turn || q.Spec.Kind != core.KindCommandApproval || q.Spec.Details.CWD != b.work || !strings.Contains(q.Spec.Prompt, "touch "+file) {
			t.Errorf("request %+v", q)
		}
		if done := r.OpDone(r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: c.answer})); done.Err != nil {
			t.Errorf("respond: %+v", done)
		}
		completed := conntest.Content[core.ToolCompleted](r)
		end := r.TurnEnded(turn)
		_, err := os.Stat(filepath.Join(b.work, file))
		if end.Verdict != c.verdict || completed.Status != c.status || (err == nil) != c.wrote {
			t.Errorf("%+v: verdict %s, status %s, wrote %v", c.answer, end.Verdict, completed.Status, err == nil)
		}
	}
}

func TestRealFileChangeApprovalShowsTheDiff(t *testing.T) {
	onCodex(t, 0, realFileChangeApprovalShowsTheDiff)
}

func realFileChangeApprovalShowsTheDiff(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.SandboxMode = core.SandboxReadOnly
	r := b.open(cfg)
	r.Start("trn_1", "patch a.txt hello there", "say done")
	q := r.Request()
	if q.Spec.Kind != core.KindFileChangeApproval || !strings.Contains(q.Spec.Details.Diff, "+hello there") || q.Spec.Details.Path != filepath.Join(b.work, "a.txt") {
		t.Errorf("request %+v %+v", q, q.Spec.Details)
	}
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionDeny}})
	r.TurnEnded("trn_1")
	if n := len(conntest.Contents[core.FileChange](r)); n != 0 {
		t.Errorf("%d file changes were reported of a declined patch", n)
	}
	r.Start("trn_2", "patch b.txt hello", "say done")
	q = r.Request()
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}})
	conntest.Content[core.FileChange](r)
	r.TurnEnded("trn_2")
	if _, err := os.Stat(filepath.Join(b.work, "b.txt")); err != nil {
		t.Error(err)
	}
}

func TestRealAutoEditAcceptsEditsAndAsksForCommands(t *testing.T) {
	onCodex(t, 0, realAutoEditAcceptsEditsAndAsksForCommands)
}

func realAutoEditAcceptsEditsAndAsksForCommands(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.ApprovalMode = core.ApprovalAutoEdit
	r := b.open(cfg)
	r.Start("trn_1", "patch a.txt hello", "run true", "say done")
	q := r.Request()
	if q.Spec.Kind != core.KindCommandApproval {
		t.Errorf("asked for %s", q.Spec.Kind)
	}
	if _, err := os.Stat(filepath.Join(b.work, "a.txt")); err != nil {
		t.Error(err)
	}
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionDeny}})
	r.TurnEnded("trn_1")
}

func TestRealQuestions(t *testing.T) {
	onCodex(t, 0, realQuestions)
}

func realQuestions(t *testing.T, b *bench) {
	r := b.open(b.session())
	ask := func(turn string) core.RequestRaised {
		r.Start(turn, "ask Which colour?|red|blue", "outputs")
		q := r.Request()
		if q.Spec.Kind != core.KindQuestion || len(q.Spec.Questions) != 1 || q.Spec.Questions[0].Choices[1].Value != "blue" {
			t.Fatalf("request %+v", q)
		}
		return q
	}
	q := ask("trn_1")
	answers := map[string][]string{q.Spec.Questions[0].ID: {"blue"}}
	if done := r.OpDone(r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionAnswer, Answers: answers}})); done.Err != nil {
		t.Error(done.Err)
	}
	if msg := conntest.Content[core.Message](r); !strings.Contains(msg.Text, "blue") {
		t.Errorf("the model was told %q", msg.Text)
	}
	r.TurnEnded("trn_1")

	q = ask("trn_2")
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionCancel, Reason: string(core.ReasonNoAnswer)}})
	if end := r.TurnEnded("trn_2"); end.Verdict != core.VerdictCompleted {
		t.Errorf("an unanswered question: %+v", end)
	}
	q = ask("trn_3")
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionCancel}})
	if end := r.TurnEnded("trn_3"); end.Verdict != core.VerdictCancelled {
		t.Errorf("a cancelled question: %+v", end)
	}
}

// interrupt stops a turn and returns its end, which must be reported by the provider.
func interrupt(t *testing.T, r *conntest.Recorder, turn string) core.TurnEnded {
	t.Helper()
	op := r.Send(core.Interrupt{ID: r.NextOp(), TurnID: turn})
	end := r.TurnEnded(turn)
	if end.Verdict != core.VerdictCancelled {
		t.Errorf("%s ended %s", turn, end.Verdict)
	}
	for _, n := range r.All() {
		if d, ok := n.(core.OpDone); ok && d.Op == op && d.Err != nil {
			t.Errorf("%s: %v", turn, d.Err)
		}
	}
	return end
}

func TestRealInterrupts(t *testing.T) {
	onCodex(t, 0, realInterrupts)
}

func realInterrupts(t *testing.T, b *bench) {
	r := b.open(b.session())
	r.Start("stream", "slow 20", "stream 100000")
	conntest.Content[core.MessageDelta](r)
	interrupt(t, r, "stream")
	if m := conntest.Contents[core.Message](r); len(m) != 1 || !m[0].Partial || !strings.HasPrefix(m[0].Text, "1 ") {
		t.Errorf("messages %+v", m)
	}
	for i := range 5 {
		turn := fmt.Sprintf("early%d", i)
		r.OpDone(r.Start(turn, "slow 50", "stream 1000"))
		interrupt(t, r, turn) // before turn/started, or just after
	}
	r.Start("after", "say still here")
	if end := r.TurnEnded("after"); end.Verdict != core.VerdictCompleted {
		t.Errorf("%+v", end)
	}
}

func TestRealInterruptEndsTheCommand(t *testing.T) {
	needProc(t)
	onCodex(t, 0, realInterruptEndsTheCommand)
}

func realInterruptEndsTheCommand(t *testing.T, b *bench) {
	for i, sandbox := range []core.SandboxMode{core.SandboxUnrestricted, core.SandboxWorkspaceWrite} {
		t.Run(string(sandbox), func(t *testing.T) {
			b := b.fresh(t)
			cfg := b.session()
			cfg.ApprovalMode, cfg.SandboxMode = core.ApprovalAuto, sandbox
			r := b.open(cfg)
			mark := fmt.Sprintf("73%d.%d", i, os.Getpid()) // seconds, and ours alone
			r.Start("command", "run sleep "+mark+" & sleep "+mark, "say late")
			conntest.Content[core.ToolStarted](r)
			clitest.Eventually(t, "the command runs", func() bool { return len(clitest.Running("sleep "+mark)) > 1 })
			interrupt(t, r, "command")
			// Its end is reported when the shell is gone; its children end beside it.
			clitest.Eventually(t, "the command is gone", func() bool { return len(clitest.Running("sleep "+mark)) == 0 })
			completed := conntest.Contents[core.ToolCompleted](r)
			if len(completed) != 1 || completed[0].Status != core.ToolCancelled {
				t.Errorf("completed %+v", completed)
			}
			r.Start("after", "say still here")
			if end := r.TurnEnded("after"); end.Verdict != core.VerdictCompleted {
				t.Errorf("%+v", end)
			}
		})
	}
}

func TestRealCloseLeavesNoProcess(t *testing.T) {
	needProc(t)
	onCodex(t, 0, realCloseLeavesNoProcess)
}

func realCloseLeavesNoProcess(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.ApprovalMode, cfg.SandboxMode = core.ApprovalAuto, core.SandboxUnrestricted
	r := b.open(cfg)
	mark := fmt.Sprintf("739.%d", os.Getpid())
	r.Start("trn_1", "run setsid sleep "+mark+" & sleep "+mark)
	clitest.Eventually(t, "the command runs", func() bool { return len(clitest.Running("sleep "+mark)) > 1 })
	r.Close()
	if pids := clitest.Running("sleep " + mark); len(pids) > 0 {
		t.Errorf("left running: %v", pids)
	}
	if err := r.Ended(); !errors.Is(err, io.EOF) {
		t.Errorf("closed with %v", err)
	}
}

func TestRealSteer(t *testing.T) {
	onCodex(t, 0, realSteer)
}

func realSteer(t *testing.T, b *bench) {
	r := b.open(b.session())
	// The oldest version lets the model finish its message first.
	cuts := b.name == "newest"
	r.Start("trn_1", "slow 20", map[bool]string{true: "stream 10000", false: "stream 40"}[cuts])
	conntest.Content[core.MessageDelta](r)
	if done := r.OpDone(r.Send(core.Steer{ID: r.NextOp(), TurnID: "trn_1", Input: core.TurnInput{Prompt: "say steered"}})); done.Err != nil {
		t.Fatal(done.Err)
	}
	end := r.TurnEnded("trn_1")
	msgs := conntest.Contents[core.Message](r)
	if end.Verdict != core.VerdictCompleted || len(msgs) != 2 || msgs[0].Partial != cuts || msgs[1].Partial || msgs[1].Text != "steered" {
		t.Errorf("end %+v, messages %+v", end, msgs)
	}
	if done := r.OpDone(r.Send(core.Steer{ID: r.NextOp(), TurnID: "trn_1", Input: core.TurnInput{Prompt: "x"}})); done.Err == nil {
		t.Error("a turn that ended was steered")
	}
}

func TestRealFailuresOfTheModel(t *testing.T) {
	onCodex(t, 0, realFailuresOfTheModel)
}

func realFailuresOfTheModel(t *testing.T, b *bench) {
	r := b.open(b.session())
	for script, want := range map[string]core.Code{
		"fail 401": core.TurnAuthRequired,
		"fail 429": core.TurnRateLimited,
		"fail 500": core.TurnProviderError,
		"fail 400": core.TurnProviderError,
		// The oldest version has no error code for it, and reports a lost stream.
		"fail rate_limit_exceeded":     map[string]core.Code{"newest": core.TurnRateLimited, "oldest": core.TurnProviderError}[b.name],
		"fail context_length_exceeded": core.TurnProviderError,
		"cut":                          core.TurnProviderError,
	} {
		turn := "trn_" + strings.ReplaceAll(script, " ", "_")
		r.Start(turn, script)
		end := r.TurnEnded(turn)
		if end.Verdict != core.VerdictFailed || end.Result.Error == nil || end.Result.Error.Code != want || end.Result.Error.Message == "" {
			t.Errorf("%s: %s %+v", script, end.Verdict, end.Result.Error)
		}
	}
	r.Start("after", "say fine")
	if end := r.TurnEnded("after"); end.Verdict != core.VerdictCompleted {
		t.Errorf("%+v", end)
	}
}

func TestRealRetriesAreProgress(t *testing.T) {
	onCodex(t, 2, realRetriesAreProgress)
}

func realRetriesAreProgress(t *testing.T, b *bench) {
	r := b.open(b.session())
	r.Start("trn_1", "once cut", "say recovered")
	if e := conntest.Content[core.ProviderError](r); !e.WillRetry {
		t.Errorf("%+v", e)
	}
	if end := r.TurnEnded("trn_1"); end.Verdict != core.VerdictCompleted {
		t.Errorf("%+v", end)
	}
}

func TestRealKilledCodexIsALostLink(t *testing.T) {
	onCodex(t, 0, realKilledCodexIsALostLink)
}

func realKilledCodexIsALostLink(t *testing.T, b *bench) {
	r := b.open(b.session())
	r.Start("trn_1", "slow 50", "stream 10000")
	conntest.Content[core.MessageDelta](r)
	codex, err := os.FindProcess(r.Conn.Ready().PID)
	if err == nil {
		err = codex.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	err = r.Ended()
	var lost *core.Error
	if errors.Is(err, io.EOF) || !errors.As(err, &lost) || !strings.Contains(lost.Message, "SIGKILL") {
		t.Errorf("ended with %v", err)
	}
	for _, n := range r.All() {
		if _, ok := n.(core.TurnEnded); ok {
			t.Error("a lost link ended the turn")
		}
	}
	if err := r.Conn.Send(core.Interrupt{ID: 99, TurnID: "trn_1"}); err == nil {
		t.Error("an op was taken after the end")
	}
}

func TestRealResumeAndForkRemember(t *testing.T) {
	onCodex(t, 0, realResumeAndForkRemember)
}

func realResumeAndForkRemember(t *testing.T, b *bench) {
	cfg := b.session()
	r := b.open(cfg)
	r.Start("trn_1", "say the secret word is plum")
	r.TurnEnded("trn_1")
	cfg.ProviderSesID = r.Conn.Ready().ProviderSessionID
	r.Close()

	r = b.open(cfg)
	if got := r.Conn.Ready().ProviderSessionID; got != cfg.ProviderSesID {
		t.Errorf("resumed %s as %s", cfg.ProviderSesID, got)
	}
	r.Start("trn_2", "remember")
	if msg := conntest.Content[core.Message](r); !strings.Contains(msg.Text, "plum") {
		t.Errorf("it says %q", msg.Text)
	}
	r.TurnEnded("trn_2")
	r.Close()

	cfg.Fork = true
	r = b.open(cfg)
	if got := r.Conn.Ready().ProviderSessionID; got == cfg.ProviderSesID {
		t.Error("a fork has the id of its origin")
	}
	r.Start("trn_3", "remember")
	if msg := conntest.Content[core.Message](r); !strings.Contains(msg.Text, "plum") {
		t.Errorf("it says %q", msg.Text)
	}
	r.TurnEnded("trn_3")
}
