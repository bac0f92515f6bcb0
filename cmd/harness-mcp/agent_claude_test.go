package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/e2e"
	"github.com/harness-mcp/harness-mcp/providers/claude"
)

// claudeAgent is the newest published Claude Code on the loopback model.
func claudeAgent(t *testing.T) agent { return claudeAt(t, "HARNESS_MCP_TEST_CLAUDE") }

// oldClaudeAgent is the oldest one that the adapter is held to.
func oldClaudeAgent(t *testing.T) agent { return claudeAt(t, "HARNESS_MCP_TEST_CLAUDE_OLD") }

func claudeAt(t *testing.T, variable string) agent {
	t.Helper()
	exe := os.Getenv(variable)
	if _, err := os.Stat(exe); err != nil {
		why := "Claude Code is not installed: " + variable + " does not name it (make tools installs it)"
		if os.Getenv(e2e.RequireEnv) == "1" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	root, model := t.TempDir(), startModel(t)
	env, err := claude.Loopback(root, model.URL())
	if err != nil {
		t.Fatal(err)
	}
	// The CLI refuses a bare sleep, and asks before it runs what it does not
	// know: a script that it is allowed to run may sleep.
	nap := filepath.Join(root, "nap")
	if err := os.WriteFile(nap, []byte("#!/bin/sh\nexec sleep \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	rules, err := json.Marshal(args{"permissions": args{"allow": []string{"Bash(" + nap + ":*)"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(env["CLAUDE_CONFIG_DIR"], "settings.json"), rules, 0o600); err != nil {
		t.Fatal(err)
	}
	return agent{
		provider: "claude", pathDir: filepath.Dir(exe), env: env, model: model,
		escalate: func(file string) string { return "escalate touch " + file },
		sleep:    func(seconds string) string { return "run " + nap + " " + seconds },
	}
}

// onClaude runs a scenario on both versions.
func onClaude(t *testing.T, play func(*scenario)) {
	t.Helper()
	for name, find := range map[string]func(*testing.T) agent{"newest": claudeAgent, "oldest": oldClaudeAgent} {
		t.Run(name, func(t *testing.T) { play(newScenario(t, find(t))) })
	}
}

func TestClaudeTakesTwoApprovalsInReverseOrder(t *testing.T) {
	onClaude(t, func(r *scenario) {
		s := r.start(nil)
		turn := r.send(s, `calls [["Read",{"file_path":"/etc/hostname"}],["Read",{"file_path":"/etc/hosts"}]]`+"\noutputs")
		waitFor(r.t, "two requests", func() bool { return len(r.must("inspect", args{"id": turn}).Pending) == 2 })
		pending := r.must("inspect", args{"id": turn}).Pending
		r.must("respond", args{"request_id": pending[1].RequestID, "action": "approve"})
		r.must("respond", args{"request_id": pending[0].RequestID, "action": "deny", "reason": "not this one"})
		g := r.await(turn)
		if text := g.Results[0].Text; g.Results[0].Status != "completed" || strings.Count(text, "not this one") != 1 || !strings.Contains(text, "localhost") {
			r.t.Errorf("the turn is %s and says %s", g.Results[0].Status, text)
		}
		r.check(s)
	})
}

const form = `call AskUserQuestion {"questions":[` +
	`{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]},` +
	`{"question":"Which fruits?","header":"Fruits","multiSelect":true,"options":[{"label":"Apple","description":"a"},{"label":"Pear","description":"p"},{"label":"Fig","description":"f"}]},` +
	`{"question":"What name?","header":"Name","multiSelect":false,"options":[{"label":"Ada","description":"a"},{"label":"Bob","description":"b"}]}]}`

func TestClaudeTakesAFormOfThreeQuestions(t *testing.T) {
	onClaude(t, func(r *scenario) {
		s := r.start(nil)
		turn := r.send(s, form+"\noutputs")
		req := r.await(turn).Results[0].Pending[0].RequestID
		_, res := r.try("respond", args{"request_id": req, "action": "answer", "answers": args{"q1": []string{"Red"}, "q2": []string{"Fig"}}})
		if !res.IsError || !strings.HasPrefix(res.Text, "missing_answer") {
			r.t.Errorf("two answers of three: %s", res.Text)
		}
		r.must("respond", args{"request_id": req, "action": "answer",
			"answers": args{"q1": []string{"Blue"}, "q2": []string{"Apple", "Fig"}, "q3": []string{"my own words"}}})
		text := r.await(turn).Results[0].Text
		for _, want := range []string{`Blue`, `Apple, Fig`, `my own words`} {
			if !strings.Contains(text, want) {
				r.t.Errorf("the model heard %s, without %q", text, want)
			}
		}
		r.check(s)
	})
}

func TestClaudeLeavesPlanModeOnlyWhenAllowed(t *testing.T) {
	onClaude(t, func(r *scenario) {
		s := r.start(args{"provider_options": args{"permission_mode": "plan"}})
		for _, c := range []struct{ action, heard string }{{"deny", "change the plan"}, {"approve", ""}} {
			turn := r.send(s, "call ExitPlanMode {\"plan\":\"1. "+c.action+"\"}\noutputs")
			req := r.await(turn).Results[0].Pending[0].RequestID
			a := args{"request_id": req, "action": c.action}
			if c.heard != "" {
				a["reason"] = c.heard
			}
			r.must("respond", a)
			if g := r.await(turn); g.Results[0].Status != "completed" || !strings.Contains(g.Results[0].Text, c.heard) {
				r.t.Errorf("%s: the turn is %s and says %s", c.action, g.Results[0].Status, g.Results[0].Text)
			}
		}
		// Out of plan mode the CLI offers to remember a write's answer or runs
		// it when told to; in plan mode its reason would be the mode.
		file := filepath.Join(r.cwd, "planned.txt")
		turn := r.send(s, "patch "+file+" text\nsay over")
		req := r.await(turn).Results[0].Pending[0].RequestID
		r.must("respond", args{"request_id": req, "action": "approve"})
		if g := r.await(turn); g.Results[0].Status != "completed" {
			r.t.Errorf("the write's turn is %s", g.Results[0].Status)
		}
		if _, err := os.Stat(file); err != nil {
			r.t.Error(err)
		}
		r.check(s)
	})
}

func TestClaudesBackgroundTaskBeginsATurnOfItsOwn(t *testing.T) {
	onClaude(t, func(r *scenario) {
		s := r.start(nil)
		nap := strings.TrimPrefix(r.agent.sleep("1"), "run ")
		turn := r.send(s, `call Bash {"command":"`+nap+`","description":"nap","run_in_background":true}`+"\nsay launched")
		if g := r.await(turn); g.Results[0].Status != "completed" || g.Results[0].Text != "launched" {
			r.t.Fatalf("the turn is %s and says %q", g.Results[0].Status, g.Results[0].Text)
		}
		own := ""
		waitFor(r.t, "a turn of the provider's", func() bool {
			g := r.must("replay", args{"id": s, "view": "events", "limit": 1000, "max_bytes": 1 << 20})
			for _, e := range g.Events {
				if e.Type == "turn_accepted" && e.Data["origin"] == "provider" {
					own = e.TurnID
				}
			}
			return own != ""
		})
		if g := r.await(own); g.Results[0].Status != "completed" {
			r.t.Errorf("its own turn is %s", g.Results[0].Status)
		}
		if g := r.await(r.send(s, "say still here")); g.Results[0].Text != "still here" {
			r.t.Errorf("after it: %+v", g.Results[0])
		}
		r.check(s)
	})
}

func TestClaudeTakesCommandsAndFilesOfAPromptForText(t *testing.T) {
	onClaude(t, func(r *scenario) {
		if err := os.WriteFile(filepath.Join(r.cwd, "secret.txt"), []byte("swordfish"), 0o600); err != nil {
			r.t.Fatal(err)
		}
		s := r.start(nil)
		r.await(r.send(s, "say The word is heron."))
		if g := r.await(r.send(s, "/clear")); !strings.Contains(g.Results[0].Text, "/clear") {
			r.t.Errorf("/clear gave %q", g.Results[0].Text)
		}
		text := r.await(r.send(s, "look at @secret.txt\nremember")).Results[0].Text
		if !strings.Contains(text, "heron") {
			r.t.Errorf("/clear was obeyed: the model remembers %s", text)
		}
		for _, q := range r.agent.model.Requests() {
			if strings.Contains(string(q.Body), "swordfish") {
				r.t.Error("an @file of a prompt was read")
			}
		}
		r.check(s)
	})
}

func TestClaudeTakesAPromptOfFourMegabytes(t *testing.T) {
	onClaude(t, func(r *scenario) {
		s := r.start(nil)
		r.await(r.send(s, "say hello")) // the CLI makes room only where there was something before
		prompt := "say got it\n" + strings.Repeat("filler and more filler\n", 4<<20/23)
		if g := r.await(r.send(s, prompt)); g.Results[0].Status != "completed" || g.Results[0].Text != "got it" {
			r.t.Errorf("the turn is %s and says %q: %+v", g.Results[0].Status, g.Results[0].Text, g.Results[0].Error)
		}
	})
}

func TestClaudeResumesAfterSIGKILLWithAnApprovalPending(t *testing.T) {
	onClaude(t, func(r *scenario) {
		s := r.start(nil)
		r.await(r.send(s, "say The word is heron."))
		file := filepath.Join(r.cwd, "never.txt")
		turn := r.send(s, r.agent.escalate(file)+"\nsay over")
		if g := r.await(turn); g.Outcome != "request_pending" {
			r.t.Fatalf("outcome %s: %+v", g.Outcome, g.Results)
		}
		pids := commands(filepath.Join(r.agent.pathDir, "claude") + " -p")
		var mine []int
		for _, pid := range pids {
			raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
			if err == nil && strings.Contains(string(raw), r.agent.env["CLAUDE_CONFIG_DIR"]) {
				mine = append(mine, pid)
			}
		}
		if len(mine) == 0 {
			r.t.Fatal("the CLI's process was not found")
		}
		for _, pid := range mine {
			p, err := os.FindProcess(pid)
			if err == nil {
				err = p.Kill()
			}
			if err != nil {
				r.t.Fatal(err)
			}
		}
		g := r.must("await", args{"ids": []string{turn}, "wait_ms": 20000, "wake_on_request": false})
		if g.Results[0].Status != "failed" || g.Results[0].Error.Code != "transport_lost" {
			r.t.Errorf("the turn is %s: %+v", g.Results[0].Status, g.Results[0].Error)
		}
		r.must("start_session", args{"resume": s, "env": r.agent.env})
		text := r.await(r.send(s, "remember")).Results[0].Text
		if !strings.Contains(text, "heron") {
			r.t.Errorf("the resumed conversation remembers %q", text)
		}
		if _, err := os.Stat(file); err == nil {
			r.t.Error("the command that was never approved has run")
		}
		r.check(s)
	})
}
