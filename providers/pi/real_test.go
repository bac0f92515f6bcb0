package pi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// approveOnce is the approval of a person.
var approveOnce = core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}

func respond(r *conntest.Recorder, q core.RequestRaised, a core.Response) {
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: a})
}

// lastText returns the agent's last message.
func lastText(r *conntest.Recorder) string {
	list := conntest.Contents[core.Message](r)
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1].Text
}

func TestRealToolsShowTheirOutputExitCodesAndFiles(t *testing.T) {
	onPi(t, func(b *bench) {
		t := b.t
		cfg := b.session()
		cfg.ApprovalMode = core.ApprovalAuto
		r := b.open(cfg)
		r.Start("1", Call("echo one; sleep 0.3; echo two; exit 3"),
			call("write", object{"path": "a.txt", "content": "one\n"}),
			call("edit", object{"path": "a.txt", "edits": []object{{"oldText": "one", "newText": "two"}}}),
			call("read", object{"path": "a.txt"}), "say done")
		if e := r.TurnEnded("1"); e.Verdict != core.VerdictCompleted || e.Result.Usage == nil || *e.Result.Usage.TotalTokens == 0 || e.Result.CostUSD != nil {
			t.Errorf("%+v", e)
		}
		tools := conntest.Contents[core.ToolCompleted](r)
		if len(tools) != 4 {
			t.Fatalf("%d tools: %s", len(tools), r.Summary())
		}
		if c := tools[0]; c.Status != core.ToolFailed || c.ExitCode == nil || *c.ExitCode != 3 || !strings.HasPrefix(c.Output, "one\ntwo\n") {
			t.Errorf("the command: %+v", c)
		}
		out := ""
		for _, d := range conntest.Contents[core.CommandOutputDelta](r) {
			out += d.Text
		}
		if out != "one\ntwo\n" {
			t.Errorf("its output came as %q", out)
		}
		if tools[3].Output != "two\n" {
			t.Errorf("read: %+v", tools[3])
		}
		changes := conntest.Contents[core.FileChange](r)
		path := filepath.Join(b.work, "a.txt")
		if len(changes) != 2 || changes[0].Changes[0] != (core.FileEdit{Path: path, Kind: core.FileAdded}) || changes[1].Changes[0].Kind != core.FileModified {
			t.Errorf("%+v", changes)
		}
		if diff := changes[1].Changes[0].Diff; !b.old && !strings.Contains(diff, "-one\n+two") {
			t.Errorf("the edit's diff: %q", diff)
		}
	})
}

func TestRealApprovalsByModeScopeAndPath(t *testing.T) {
	onPi(t, func(b *bench) {
		t := b.t
		outside := filepath.Join(b.root, "outside.txt")
		if err := os.Symlink(b.root, filepath.Join(b.work, "up")); err != nil {
			t.Fatal(err)
		}
		cfg := b.session()
		cfg.ApprovalMode = core.ApprovalAutoEdit
		r := b.open(cfg)
		r.Start("inside", call("write", object{"path": "a.txt", "content": "x"}), "say done")
		r.TurnEnded("inside")
		for name, path := range map[string]string{"absolute": outside, "by a link": "up/outside.txt", "with an @": "@" + outside, "guarded": ".git/hooks/post-commit", "of a home": "~/x.txt"} {
			r.Start(name, call("write", object{"path": path, "content": "x"}), "say done")
			q := r.Request()
			if q.Spec.Kind != core.KindFileChangeApproval {
				t.Errorf("%s: %+v", name, q.Spec)
			}
			respond(r, q, core.Response{Action: core.ActionDeny, Reason: "keep out"})
			r.TurnEnded(name)
		}
		for _, p := range []string{outside, filepath.Join(b.work, ".git"), filepath.Join(b.env["HOME"], "x.txt")} {
			if _, err := os.Stat(p); err == nil {
				t.Errorf("%s was written", p)
			}
		}
		r.Start("heard", "outputs")
		r.TurnEnded("heard")
		// An approval for the session covers exactly the same command.
		r.Start("first", Call("echo same"), "say done")
		respond(r, r.Request(), core.Response{Action: core.ActionApprove, Scope: core.ScopeSession})
		r.TurnEnded("first")
		r.Start("again", Call("echo same"), Call("echo other"), "say done")
		q := r.Request()
		if q.Spec.Details.Command != "echo other" {
			t.Errorf("asked about %q", q.Spec.Details.Command)
		}
		respond(r, q, approveOnce)
		r.TurnEnded("again")
	})
}

func TestRealDialogsOfEveryKind(t *testing.T) {
	onPi(t, func(b *bench) {
		t := b.t
		b.extend()
		cfg := b.session()
		cfg.ApprovalMode = core.ApprovalAuto
		r := b.open(cfg)
		answer := func(s string) core.Response {
			return core.Response{Action: core.ActionAnswer, Answers: map[string][]string{questionID: {s}}}
		}
		for _, c := range []struct {
			how  string
			kind core.RequestKind
			res  core.Response
			want string
		}{
			{"select", core.KindQuestion, answer("blue"), "blue"},
			{"confirm", core.KindConfirmation, core.Response{Action: core.ActionApprove}, "true"},
			{"confirm", core.KindConfirmation, core.Response{Action: core.ActionDeny}, "false"},
			{"input", core.KindQuestion, answer("me"), "me"},
			{"editor", core.KindQuestion, answer("new\ntext"), "new\ntext"},
			{"input", core.KindQuestion, core.Response{Action: core.ActionCancel, Reason: string(core.ReasonNoAnswer)}, "undefined"},
		} {
			turn := c.how + " " + c.want
			r.Start(turn, call("survey", object{"how": c.how}), "outputs")
			q := r.Request()
			if q.Spec.Kind != c.kind {
				t.Errorf("%s: %+v", turn, q.Spec)
			}
			respond(r, q, c.res)
			if e := r.TurnEnded(turn); e.Verdict != core.VerdictCompleted {
				t.Errorf("%s: %+v", turn, e)
			}
			tools := conntest.Contents[core.ToolCompleted](r)
			if got := tools[len(tools)-1].Output; got != "the user said: "+c.want {
				t.Errorf("%s: the tool says %q", turn, got)
			}
		}
		r.Start("stop", call("survey", object{"how": "select"}), "say no")
		respond(r, r.Request(), core.Response{Action: core.ActionCancel})
		if e := r.TurnEnded("stop"); e.Verdict != core.VerdictCancelled {
			t.Errorf("%+v", e)
		}
		r.Start("late", call("survey", object{"how": "select", "timeout": 300}), "say went on")
		r.Until("its withdrawal", func(n core.Notice) bool { _, ok := n.(core.RequestWithdrawn); return ok })
		if e := r.TurnEnded("late"); e.Verdict != core.VerdictCompleted {
			t.Errorf("%+v", e)
		}
		// The extension asks before any turn, too, and that is dismissed.
		for _, n := range r.All() {
			if c, ok := n.(core.Content); ok && c.Turn == "" {
				if e, ok := c.Payload.(core.ProviderEvent); ok && e.Kind == "dialog dismissed" {
					return
				}
			}
		}
		t.Error("the dialog outside of a turn was not dismissed")
	})
}

func TestRealSteerIsTakenInTheTurnThatRuns(t *testing.T) {
	onPi(t, func(b *bench) {
		r := b.open(b.session())
		r.Start("1", "slow 30", "stream 30")
		conntest.Content[core.MessageDelta](r)
		op := r.Send(core.Steer{ID: r.NextOp(), TurnID: "1", Input: core.TurnInput{Prompt: "say steered"}})
		if d := r.OpDone(op); d.Err != nil {
			b.t.Error(d.Err)
		}
		if e := r.TurnEnded("1"); e.Verdict != core.VerdictCompleted || lastText(r) != "steered" {
			b.t.Errorf("%+v, said %q", e, lastText(r))
		}
	})
}

func TestRealConversationIsResumedAndForked(t *testing.T) {
	onPi(t, func(b *bench) {
		t := b.t
		r := b.open(b.session())
		id := r.Conn.Ready().ProviderSessionID
		r.Start("1", "say The word is heron.")
		r.TurnEnded("1")
		r.Close()
		for _, fork := range []bool{true, false} {
			cfg := b.session()
			cfg.ProviderSesID, cfg.Fork = id, fork
			r := b.open(cfg)
			if got := r.Conn.Ready().ProviderSessionID; (got == id) == fork {
				t.Errorf("fork %v: the conversation is %s, it was %s", fork, got, id)
			}
			r.Start("2", "remember")
			if r.TurnEnded("2"); !strings.Contains(lastText(r), "heron") {
				t.Errorf("fork %v: it remembers %q", fork, lastText(r))
			}
			r.Close()
		}
		cfg := b.session()
		cfg.ProviderSesID = "00000000-0000-7000-8000-000000000000"
		if e := b.refuses(cfg, core.CodeStartFailed); !strings.Contains(e.Error(), "No session found") {
			t.Errorf("%v", e)
		}
	})
}

func TestRealModelAndThinkingLevelChangeInALiveSession(t *testing.T) {
	onPi(t, func(b *bench) {
		t := b.t
		cfg := b.session()
		cfg.Model, cfg.ReasoningEffort = "loopback/loopback-model", "high"
		r := b.open(cfg)
		if ready := r.Conn.Ready(); ready.Model != "loopback/loopback-model" || ready.ReasoningEffort != "high" || len(ready.Warnings) > 0 {
			t.Errorf("%+v", ready)
		}
		configure := func(c core.Changes) core.OpDone {
			return r.OpDone(r.Send(core.Configure{ID: r.NextOp(), Changes: c}))
		}
		if d := configure(core.Changes{ReasoningEffort: "low"}); d.Err != nil {
			t.Error(d.Err)
		}
		if d := configure(core.Changes{ReasoningEffort: "max"}); core.CodeOf(d.Err) != core.CodeOption {
			t.Errorf("%+v", d)
		}
		if d := configure(core.Changes{Model: "loopback-plain"}); d.Err != nil {
			t.Error(d.Err)
		}
		if d := configure(core.Changes{Model: "nobody/nothing"}); core.CodeOf(d.Err) != core.TurnRejected {
			t.Errorf("%+v", d)
		}
		if d := configure(core.Changes{ReasoningEffort: "high"}); core.CodeOf(d.Err) != core.CodeOption {
			t.Errorf("a model that does not think: %+v", d)
		}
		r.Start("1", "say hello")
		r.TurnEnded("1")
		asked := b.model.Requests()
		if body := string(asked[len(asked)-1].Body); !strings.Contains(body, `"loopback-plain"`) {
			t.Errorf("the model was asked with %.200s", body)
		}
	})
}

func TestRealSystemPromptSkillsToolsAndImagesReachTheModel(t *testing.T) {
	onPi(t, func(b *bench) {
		t := b.t
		skill := filepath.Join(b.root, "heron")
		if err := os.MkdirAll(skill, 0o700); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: heron\ndescription: knows about herons\n---\nHerons wade.\n"
		if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := b.session()
		cfg.SystemPrompt, cfg.Skills = "Speak like a pirate.", []string{skill}
		if b.old { // which can only list what is left
			cfg.AllowedTools = []string{"read", "bash", "edit"}
		} else {
			cfg.DisallowedTools = []string{"write"}
		}
		r := b.open(cfg)
		r.Send(core.StartTurn{ID: r.NextOp(), TurnID: "1", Input: core.TurnInput{
			Prompt: "/skill:heron", Attachments: []string{"/some/file.txt"},
			Content: []core.ContentBlock{{Type: "image", MIMEType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}},
		}})
		r.TurnEnded("1")
		asked := b.model.Requests()
		body := string(asked[len(asked)-1].Body)
		for _, want := range []string{"Speak like a pirate.", "knows about herons", `/skill:heron`, "Attached file: /some/file.txt", "image/png"} {
			if !strings.Contains(body, want) {
				t.Errorf("the model did not get %q", want)
			}
		}
		if strings.Contains(body, "Herons wade") || strings.Contains(body, `"name":"write"`) {
			t.Error("a prompt reached a skill, or a tool was left")
		}
	})
}

func TestRealTurnOfPisOwnHoldsOursBack(t *testing.T) {
	onPi(t, func(b *bench) {
		b.extend()
		cfg := b.session()
		cfg.Env["TEST_OWN_TURN"] = "1"
		r := b.open(cfg)
		r.Start("1", "say first")
		r.TurnEnded("1")
		own := r.Until("a turn of Pi's own", func(n core.Notice) bool { _, ok := n.(core.TurnBegan); return ok }).(core.TurnBegan)
		r.Start("2", "say second")
		if e := r.TurnEnded(own.Turn); e.Verdict != core.VerdictCompleted || own.Turn == "1" {
			b.t.Errorf("%+v, %+v", own, e)
		}
		if e := r.TurnEnded("2"); e.Verdict != core.VerdictCompleted || lastText(r) != "second" {
			b.t.Errorf("%+v, said %q", e, lastText(r))
		}
	})
}

func TestRealEndOfPiInACommandLeavesNoProcess(t *testing.T) {
	b := newBench(t, releases["newest"])
	cfg := b.session()
	cfg.ApprovalMode = core.ApprovalAuto
	r := b.open(cfg)
	r.Start("1", Call("sleep 300"))
	conntest.Content[core.ToolStarted](r)
	p, err := os.FindProcess(r.Conn.Ready().PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.Ended(); core.CodeOf(err) != core.CodeSessionUnavailable {
		t.Errorf("ended with %v", err)
	}
	x := conntest.Contents[core.ToolCompleted](r)
	if len(x) != 1 || x[0].Status != core.ToolFailed {
		t.Errorf("%+v", x)
	}
	r.Close() // fails the test if anything is left
}

func TestRealStatusNamesTheVersion(t *testing.T) {
	onPi(t, func(b *bench) {
		s := b.provider().Status(b.t.Context())
		if want := map[bool]string{false: "1.", true: "0.73."}[b.old]; !s.Ready || !strings.HasPrefix(s.Version, want) {
			b.t.Errorf("%+v", s)
		}
	})
}

func TestStatusOfAPiThatIsMissingReportsHowToGetIt(t *testing.T) {
	p := New(Options{Runner: process.NewLocal(process.Options{}), Exec: "/nowhere/pi"})
	if s := p.Status(t.Context()); s.Ready || !strings.Contains(s.Reason, install) {
		t.Errorf("%+v", s)
	}
	if _, err := p.Open(t.Context(), core.SessionConfig{CWD: t.TempDir()}); core.CodeOf(err) != core.CodeProviderNotReady {
		t.Errorf("%v", err)
	}
}
