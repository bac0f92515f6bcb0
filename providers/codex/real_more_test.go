package codex

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestRealStatus(t *testing.T) {
	onCodex(t, 0, realStatus)
}

func realStatus(t *testing.T, b *bench) {
	s := b.provider().Status(t.Context())
	if !s.Ready || s.Version == "" || !filepath.IsAbs(s.Executable) || strings.HasSuffix(s.Executable, ".js") {
		t.Errorf("%+v", s)
	}
	if n := len(b.model.Requests()); n != 0 {
		t.Errorf("the status made %d requests of the model", n)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if s := b.provider().Status(gone); s.Ready {
		t.Errorf("ready after its context: %+v", s)
	}
}

func TestRealMCPServerOfASession(t *testing.T) {
	onCodex(t, 0, realMCPServerOfASession)
}

func realMCPServerOfASession(t *testing.T, b *bench) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := b.session()
	entry, err := json.Marshal(map[string]any{"type": "stdio", "command": self, "env": map[string]string{mcpVar: "1", "TINY_NAME": "plum"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.MCPServers = map[string]json.RawMessage{"tiny": entry}
	r := b.open(cfg)

	r.Start("trn_1", "call write {}", "outputs")
	q := r.Request()
	if q.Spec.Kind != core.KindPermission || q.Spec.Details.Tool != "tiny.write" {
		t.Errorf("request %+v", q)
	}
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}})
	if done := conntest.Content[core.ToolCompleted](r); done.Status != core.ToolOK || done.Output != "written by plum" {
		t.Errorf("%+v", done)
	}
	r.TurnEnded("trn_1")

	r.Start("trn_2", "call write {}", "call form {}", "say done")
	q = r.Request() // the approval of "write" holds for the session
	if q.Spec.Kind != core.KindMCPElicitation || q.Spec.Prompt != "Your name?" || !strings.Contains(string(q.Spec.Schema), "name") {
		t.Errorf("request %+v", q)
	}
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionAnswer, Content: json.RawMessage(`{"name":"Ada"}`)}})
	if end := r.TurnEnded("trn_2"); end.Verdict != core.VerdictCompleted {
		t.Errorf("%+v", end)
	}
	if last := conntest.Contents[core.ToolCompleted](r); !strings.Contains(last[len(last)-1].Output, "Ada") {
		t.Errorf("%+v", last)
	}

	r.Start("trn_3", "call form {}", "say done")
	q = r.Request()
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionCancel}})
	if end := r.TurnEnded("trn_3"); end.Verdict != core.VerdictCancelled {
		t.Errorf("a cancelled form: %+v", end)
	}
}

func TestRealSettingsReachTheModel(t *testing.T) {
	onCodex(t, 0, realSettingsReachTheModel)
}

func realSettingsReachTheModel(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.SystemPrompt = "Speak like a lighthouse keeper."
	cfg.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	r := b.open(cfg)
	picture := filepath.Join(b.work, "dot.png")
	if err := os.WriteFile(picture, onePixel, 0o600); err != nil {
		t.Fatal(err)
	}
	op := core.StartTurn{ID: r.NextOp(), TurnID: "trn_1", Input: core.TurnInput{Prompt: `say {"n":3}`, Attachments: []string{picture}, ReasoningEffort: "high"}}
	r.Send(op)
	end := r.TurnEnded("trn_1")
	if string(end.Result.StructuredOutput) != `{"n":3}` {
		t.Errorf("structured output %s, error %+v", end.Result.StructuredOutput, end.Result.Error)
	}
	body := string(b.model.Requests()[0].Body)
	for _, want := range []string{"lighthouse keeper", `"json_schema"`, "data:image/png;base64", `"effort":"high"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the model was not given %s", want)
		}
	}
	if done := r.OpDone(r.Send(core.Configure{ID: r.NextOp(), Changes: core.Changes{Model: "other-model", ApprovalMode: core.ApprovalPrompt, SandboxMode: core.SandboxUnrestricted}})); done.Err != nil {
		t.Fatal(done.Err)
	}
	r.Start("trn_2", "run touch configured", "say {}")
	q := r.Request()
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}})
	r.TurnEnded("trn_2")
	if last := b.model.Requests(); !strings.Contains(string(last[len(last)-1].Body), `"model":"other-model"`) {
		t.Error("the model did not change")
	}
}

func TestRealEscalationLeavesTheSandboxOnlyWhenApproved(t *testing.T) {
	onCodex(t, 0, realEscalationLeavesTheSandboxOnlyWhenApproved)
}

func realEscalationLeavesTheSandboxOnlyWhenApproved(t *testing.T, b *bench) {
	r := b.open(b.session())
	r.Start("trn_1", "escalate touch out.txt", "say done")
	q := r.Request()
	if q.Spec.Kind != core.KindCommandApproval || q.Spec.Details.Reason == "" {
		t.Errorf("%+v", q)
	}
	if _, err := os.Stat(filepath.Join(b.work, "out.txt")); err == nil {
		t.Error("it ran before the answer")
	}
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}})
	r.TurnEnded("trn_1")
	if _, err := os.Stat(filepath.Join(b.work, "out.txt")); err != nil {
		t.Error(err)
	}
}

func TestRealInterruptWithARequestOpenWithdrawsIt(t *testing.T) {
	onCodex(t, 0, realInterruptWithARequestOpenWithdrawsIt)
}

func realInterruptWithARequestOpenWithdrawsIt(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.ApprovalMode = core.ApprovalPrompt
	r := b.open(cfg)
	r.Start("trn_1", "run touch x", "say done")
	q := r.Request()
	r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "trn_1", Requests: []string{q.Ref}})
	if end := r.TurnEnded("trn_1"); end.Verdict != core.VerdictCancelled {
		t.Errorf("%+v", end)
	}
	if w := conntest.Contents[core.Warning](r); len(w) > 0 && w[len(w)-1].Code == "command_left_running" {
		t.Error("a command that never ran is said to run on")
	}
	late := r.OpDone(r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove}}))
	if late.Err == nil || late.Err.Code != core.CodeRequestNotPending {
		t.Errorf("a late answer: %+v", late)
	}
	r.Start("trn_2", "say fine")
	r.TurnEnded("trn_2")
	if _, err := os.Stat(filepath.Join(b.work, "x")); err == nil {
		t.Error("the command ran")
	}
}

func TestRealSilentModelCanBeInterrupted(t *testing.T) {
	onCodex(t, 0, realSilentModelCanBeInterrupted)
}

func realSilentModelCanBeInterrupted(t *testing.T, b *bench) {
	r := b.open(b.session())
	r.Start("trn_1", "silent")
	r.Until("its begin", func(n core.Notice) bool { _, ok := n.(core.TurnBegan); return ok })
	r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "trn_1"})
	if end := r.TurnEnded("trn_1"); end.Verdict != core.VerdictCancelled {
		t.Errorf("%+v", end)
	}
}

func TestRealUnknownThreadCannotBeResumed(t *testing.T) {
	onCodex(t, 0, realUnknownThreadCannotBeResumed)
}

func realUnknownThreadCannotBeResumed(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.ProviderSesID = "01a22860-6db1-79b3-9738-19bd3b8e8bb9"
	_, err := b.provider().Open(t.Context(), cfg)
	if core.CodeOf(err) != core.CodeStartFailed || !strings.Contains(err.Error(), "no rollout found") {
		t.Error(err)
	}
}

// onePixel is a PNG of one pixel.
var onePixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")
