package claude

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// says plays a turn and returns its verdict and last message.
func says(r *conntest.Recorder, turn string, script ...string) (core.Verdict, string) {
	r.Start(turn, script...)
	e := r.TurnEnded(turn)
	text := e.Result.Text
	for _, n := range r.All() {
		if c, ok := n.(core.Content); ok && c.Turn == turn {
			if m, ok := c.Payload.(core.Message); ok {
				text = m.Text
			}
		}
	}
	return e.Verdict, text
}

func TestRealFailuresSayWhyAndTheNextTurnWorks(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(b.session())
		for i, c := range []struct {
			script string
			code   core.Code
		}{
			{"fail 401", core.TurnAuthRequired},
			{"fail 403", core.TurnAuthRequired},
			{"fail 429", core.TurnRateLimited},
			{"fail 500", core.TurnProviderError},
			{"fail 529", core.TurnProviderError},
			{"fail overloaded_error", core.TurnProviderError},
			{"cut", core.TurnProviderError},
		} {
			turn := fmt.Sprintf("turn-%d", i)
			r.Start(turn, c.script)
			e := r.TurnEnded(turn)
			if e.Verdict != core.VerdictFailed || e.Result.Error == nil || e.Result.Error.Code != c.code || e.Result.Error.Message == "" {
				t.Errorf("%s: %s", c.script, conntest.Brief(e))
			}
		}
		if verdict, text := says(r, "last", "say still here"); verdict != core.VerdictCompleted || text != "still here" {
			t.Errorf("after the failures: %s, %q", verdict, text)
		}
	})
}

func TestRealRetriesAreShownAndCanBeInterrupted(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.Env["CLAUDE_CODE_MAX_RETRIES"] = "10"
		r := b.open(cfg)
		r.Start("t", "fail 500")
		e := conntest.Content[core.ProviderError](r)
		if !e.WillRetry || !strings.Contains(e.Message, "retry 1 of") {
			t.Errorf("the retry is reported as %+v", e)
		}
		r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "t"})
		if e := r.TurnEnded("t"); e.Verdict != core.VerdictCancelled {
			t.Error(conntest.Brief(e))
		}
	})
}

func TestRealRefusedConnectionFailsTheTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.Env["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:1"
		r := b.open(cfg)
		r.Start("t", "say x")
		if e := r.TurnEnded("t"); e.Verdict != core.VerdictFailed || e.Result.Error.Message == "" {
			t.Error(conntest.Brief(e))
		}
	})
}

func TestRealSilentModelIsStoppedByTheWatchdog(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.ProviderOptions = optionsOf(`{"stall_timeout_ms": 3000}`)
		r := b.open(cfg)
		r.Start("t", "silent")
		e := r.TurnEnded("t")
		if e.Verdict != core.VerdictFailed || !strings.Contains(e.Result.Error.Message, "silent") {
			t.Error(conntest.Brief(e))
		}
		// A tool that takes longer than that is not a silent model.
		nap := b.script("nap", "sleep 5; echo rested")
		cfg.AllowedTools = []string{"Bash(" + nap + ":*)"}
		r = b.open(cfg)
		if verdict, text := says(r, "t", "run "+nap, "outputs"); verdict != core.VerdictCompleted || !strings.Contains(text, "rested") {
			t.Errorf("a slow tool: %s, %q", verdict, text)
		}
	})
}

func TestRealEndOfTheCLIFailsTheLinkAndLeavesNoTool(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		nap := b.script("nap", "exec sleep "+oddSeconds())
		word := strings.TrimPrefix(mustRead(t, nap), "#!/bin/sh\nexec ")
		word = strings.TrimSpace(word)
		cfg := b.session()
		cfg.AllowedTools = []string{"Bash(" + nap + ":*)"}
		r := b.open(cfg)
		r.Start("t", "run "+nap)
		conntest.Content[core.ToolStarted](r)
		clitest.Eventually(t, "the tool", func() bool { return len(clitest.Running(word)) > 0 })
		kill(t, r.Conn.Ready().PID)
		if err := r.Ended(); errors.Is(err, io.EOF) || core.CodeOf(err) != core.CodeSessionUnavailable {
			t.Errorf("the link ended with %v", err)
		}
		r.Close()
		if pids := clitest.Running(word); len(pids) > 0 {
			t.Errorf("the tool survived: %v", pids)
		}
	})
}

func TestRealCloseLeavesNoTool(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		nap := b.script("nap", "exec sleep "+oddSeconds())
		word := strings.TrimSpace(strings.TrimPrefix(mustRead(t, nap), "#!/bin/sh\nexec "))
		cfg := b.session()
		cfg.AllowedTools = []string{"Bash(" + nap + ":*)"}
		r := b.open(cfg)
		r.Start("t", "run "+nap)
		clitest.Eventually(t, "the tool", func() bool { return len(clitest.Running(word)) > 0 })
		began := time.Now()
		r.Close()
		if pids := clitest.Running(word); len(pids) > 0 {
			t.Errorf("the tool survived: %v", pids)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("a polite end took %v", took)
		}
		if left, _ := filepath.Glob(filepath.Join(b.root, "home", ".claude", "harness-mcp", "*")); len(left) > 0 {
			t.Errorf("the session left %v", left)
		}
	})
}

func TestRealSteerIsFoldedIntoARunningTool(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(b.session())
		r.Start("t", "slow 100", "stream 30", "escalate touch steered", "say done")
		conntest.Content[core.MessageDelta](r)
		op := r.Send(core.Steer{ID: r.NextOp(), TurnID: "t", Input: core.TurnInput{Prompt: "too early"}})
		if d := r.OpDone(op); d.Err == nil || d.Err.Code != core.CodeCapability {
			t.Errorf("a steer into a text: %s", conntest.Brief(d))
		}
		q := r.Request()
		op = r.Send(core.Steer{ID: r.NextOp(), TurnID: "t", Input: core.TurnInput{Prompt: "mind the gap"}})
		if d := r.OpDone(op); d.Err != nil {
			t.Errorf("a steer into a tool: %s", conntest.Brief(d))
		}
		r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}})
		if e := r.TurnEnded("t"); e.Verdict != core.VerdictCompleted {
			t.Error(conntest.Brief(e))
		}
		seen := false
		for _, q := range b.model.Requests() {
			seen = seen || strings.Contains(string(q.Body), "mind the gap")
		}
		if !seen {
			t.Error("the model never heard the steer")
		}
		if verdict, text := says(r, "next", "say next"); verdict != core.VerdictCompleted || text != "next" {
			t.Errorf("the next turn: %s, %q", verdict, text)
		}
	})
}

func TestRealSessionScopeIsRememberedForTheSessionOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(b.session())
		r.Start("t", "run touch twice", "run touch twice", "say done")
		q := r.Request()
		if !slices.Contains(q.Spec.Scopes, core.ScopeSession) || q.Spec.Kind != core.KindCommandApproval || q.Spec.Details.Command != "touch twice" {
			t.Errorf("asked %s", conntest.JSON(q.Spec))
		}
		r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}})
		if e := r.TurnEnded("t"); e.Verdict != core.VerdictCompleted {
			t.Error(conntest.Brief(e))
		}
		if _, err := os.Stat(filepath.Join(b.work, ".claude")); err == nil {
			t.Error("the permission was written to the working directory")
		}
	})
}

func TestRealFileChangesAreAskedAndReported(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(b.session())
		file := filepath.Join(b.work, "new.txt")
		r.Start("t", "patch "+file+" one line", "say done")
		q := r.Request()
		if q.Spec.Kind != core.KindFileChangeApproval || q.Spec.Details.Path != file || !strings.Contains(q.Spec.Details.Diff, "+one line") || len(q.Spec.Scopes) > 0 {
			t.Errorf("asked %s", conntest.JSON(q.Spec))
		}
		r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}})
		c := conntest.Content[core.FileChange](r)
		if len(c.Changes) != 1 || c.Changes[0].Path != file || c.Changes[0].Kind != core.FileAdded || !strings.Contains(c.Changes[0].Diff, "+one line") {
			t.Errorf("reported %s", conntest.JSON(c))
		}
		r.TurnEnded("t")
	})
}

func TestRealConfigureChangesModelAndModeLive(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(b.session())
		says(r, "one", "say hello")
		op := r.Send(core.Configure{ID: r.NextOp(), Changes: core.Changes{ApprovalMode: core.ApprovalAutoEdit, Model: "claude-haiku-4-5"}})
		if d := r.OpDone(op); d.Err != nil {
			t.Fatal(conntest.Brief(d))
		}
		file := filepath.Join(b.work, "unasked.txt")
		if verdict, _ := says(r, "two", "patch "+file+" text", "say done"); verdict != core.VerdictCompleted {
			t.Errorf("an edit in auto_edit: %s", verdict)
		}
		changed := false
		for _, n := range r.All() {
			if c, ok := n.(core.SessionChanged); ok && strings.Contains(c.Model, "haiku") {
				changed = true
			}
		}
		if !changed {
			t.Error("the new model was not reported")
		}
		op = r.Send(core.Configure{ID: r.NextOp(), Changes: core.Changes{ApprovalMode: core.ApprovalAuto}})
		if d := r.OpDone(op); d.Err == nil || d.Err.Hint == "" {
			t.Errorf("bypassing permissions in a running session: %s", conntest.Brief(d))
		}
	})
}

func TestRealConversationIsOpenOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(b.session())
		says(r, "one", "say marmalade")
		cfg := b.session()
		cfg.ProviderSesID = r.Conn.Ready().ProviderSessionID
		if _, err := b.try(cfg); core.CodeOf(err) != core.CodeSessionInUse {
			t.Errorf("a second opening: %v", err)
		}
		cfg.Fork = true
		f := b.open(cfg)
		if _, text := says(f, "f", "remember"); !strings.Contains(text, "marmalade") {
			t.Errorf("the fork remembers %q", text)
		}
		r.Close()
		cfg.Fork = false
		cfg.Model = "claude-haiku-4-5"
		again := b.open(cfg)
		if _, text := says(again, "a", "remember"); !strings.Contains(text, "marmalade") {
			t.Errorf("the resumed conversation remembers %q", text)
		}
	})
}

func TestRealUnknownConversationIsRefusedWithItsReason(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.ProviderSesID = "00000000-0000-4000-8000-000000000000"
		r, err := b.try(cfg)
		if err == nil {
			// The CLI looks for it only when it is asked something.
			rec := conntest.Record(t, r)
			rec.Start("t", "say x")
			if err = rec.Ended(); core.CodeOf(err) == core.CodeSessionUnavailable {
				t.Log("found out at the first turn:", err)
			}
		}
		if err == nil || !strings.Contains(err.Error(), "No conversation found") {
			t.Errorf("opening nothing: %v", err)
		}
	})
}

func TestRealSystemPromptReachesTheModel(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.SystemPrompt = "Always speak of marzipan."
		says(b.open(cfg), "t", "say hello")
		for _, q := range b.model.Requests() {
			if strings.Contains(string(q.Body), "marzipan") {
				return
			}
		}
		t.Error("the model never saw the system prompt")
	})
}

func TestRealStructuredOutput(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.OutputSchema = []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
		r := b.open(cfg)
		r.Start("t", `call StructuredOutput {"n":7}`, "say done")
		e := r.TurnEnded("t")
		if e.Verdict != core.VerdictCompleted || string(e.Result.StructuredOutput) != `{"n":7}` {
			t.Error(conntest.Brief(e), r.Summary())
		}
	})
}

func TestRealCostAndUsageAreThoseOfTheTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(b.session())
		var costs []float64
		for _, turn := range []string{"one", "two", "three"} {
			r.Start(turn, "say the same")
			e := r.TurnEnded(turn)
			if e.Result.CostUSD == nil || e.Result.Usage == nil || *e.Result.Usage.OutputTokens <= 0 {
				t.Fatal(conntest.Brief(e))
			}
			costs = append(costs, *e.Result.CostUSD)
		}
		if costs[2] > 1.5*costs[0] {
			t.Errorf("the costs of three like turns are %v: cumulative", costs)
		}
	})
}

func TestRealRootMayNotBypassPermissions(t *testing.T) {
	b := newBench(t)
	cfg := b.session()
	cfg.ApprovalMode = core.ApprovalAuto
	if os.Geteuid() == 0 {
		if _, err := b.try(cfg); core.CodeOf(err) != core.CodeOption || !strings.Contains(err.Error(), "root") {
			t.Errorf("as root: %v", err)
		}
		cfg.Env["IS_SANDBOX"] = "1"
	}
	r := b.open(cfg)
	if verdict, _ := says(r, "t", "run touch unasked", "say done"); verdict != core.VerdictCompleted {
		t.Errorf("auto_approve: %s", verdict)
	}
}

func TestRealSubscriptionFailsClosedWithoutALogin(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.ProviderOptions = optionsOf(`{"auth": "subscription"}`)
		if _, err := b.try(cfg); core.CodeOf(err) != core.CodeOption || !strings.Contains(err.Error(), "ANTHROPIC_") {
			t.Errorf("with a key of the caller's: %v", err)
		}
		delete(cfg.Env, "ANTHROPIC_API_KEY")
		delete(cfg.Env, "ANTHROPIC_BASE_URL")
		if _, err := b.try(cfg); core.CodeOf(err) != core.CodeProviderNotReady || !strings.Contains(err.Error(), "nobody is signed in") {
			t.Errorf("without a login: %v", err)
		}
	})
}

func TestRealSandboxIsNeverLeftOutSilently(t *testing.T) {
	b := newBench(t)
	cfg := b.session()
	cfg.SandboxMode = core.SandboxWorkspaceWrite
	conn, err := b.try(cfg)
	if err != nil {
		if core.CodeOf(err) != core.CodeStartFailed || core.AsError(err).Hint == "" {
			t.Errorf("a sandbox that cannot be had: %v", err)
		}
		return
	}
	r := conntest.Record(t, conn)
	outside := filepath.Join(b.root, "outside.txt")
	cfg.AllowedTools = []string{"Bash"}
	r.Start("t", "run touch "+outside, "say done")
	r.Send(core.Respond{ID: r.NextOp(), Ref: r.Request().Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}})
	r.TurnEnded("t")
	if _, err := os.Stat(outside); err == nil {
		t.Error("a sandboxed command wrote outside of the workspace")
	}
}
