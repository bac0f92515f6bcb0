package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestRealSkillsOfASessionAreOffered(t *testing.T) { onCodex(t, 0, realSkills) }

func realSkills(t *testing.T, b *bench) {
	cfg := b.session()
	for _, name := range []string{"one/heron", "many/stork", "many/crane"} {
		put(t, filepath.Join(b.root, name, skillFile), "---\nname: "+filepath.Base(name)+"\ndescription: wades slowly\n---\nWade.\n")
	}
	cfg.Skills = []string{filepath.Join(b.root, "one", "heron", skillFile), filepath.Join(b.root, "many")}
	r := b.open(cfg)
	r.Start("trn_1", "say fine")
	r.TurnEnded("trn_1")
	body := string(b.model.Requests()[0].Body)
	for _, want := range []string{"heron", "stork", "crane"} {
		if !strings.Contains(body, want+": wades slowly") {
			t.Errorf("the model is not offered %s", want)
		}
	}
}

func TestRealExtraDirectoriesCanBeWritten(t *testing.T) { onCodex(t, 0, realExtraDirectories) }

// A sandbox allows writes below the directory for temporary files, where
// tests live, so the sandbox is set not to.
func realExtraDirectories(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.ApprovalMode, cfg.SandboxMode = core.ApprovalAuto, core.SandboxWorkspaceWrite
	given, other := filepath.Join(b.root, "given"), filepath.Join(b.root, "other")
	for _, dir := range []string{given, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cfg.AddDirs = []string{given}
	cfg.ProviderOptions = map[string]json.RawMessage{optionConfig: []byte(`{"sandbox_workspace_write.exclude_slash_tmp":true,"sandbox_workspace_write.exclude_tmpdir_env_var":true}`)}
	r := b.open(cfg)
	// The second one runs longer than Codex waits before it shows a command.
	r.Start("trn_1", "run touch "+filepath.Join(given, "a"), "run sleep 1; touch "+filepath.Join(other, "a"), "say done")
	r.TurnEnded("trn_1")
	if _, err := os.Stat(filepath.Join(given, "a")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(other, "a")); err == nil {
		t.Error("a directory that was not given was written")
	}
	if done := conntest.Contents[core.ToolCompleted](r); len(done) != 2 || done[0].Status != core.ToolOK || done[1].Status != core.ToolFailed {
		t.Errorf("%+v", done)
	}
}

func TestRealCommandRefusedAtOnceIsTheModelsAlone(t *testing.T) { onCodex(t, 0, realRefusedAtOnce) }

// Both versions show a command once it has run for about 150 ms, or has ended
// before that. One that ends before that and whose output reads like the refusal
// of a sandbox is reported to the model only: there is no frame of it. On a slow
// machine the command runs longer, and is shown.
func realRefusedAtOnce(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.ApprovalMode, cfg.SandboxMode = core.ApprovalAuto, core.SandboxReadOnly
	r := b.open(cfg)
	r.Start("trn_1", "run touch a", "outputs")
	r.TurnEnded("trn_1")
	if said := conntest.Contents[core.Message](r); len(said) != 1 || !strings.Contains(said[0].Text, "cannot touch") {
		t.Errorf("the model was told %+v", said)
	}
	done := conntest.Contents[core.ToolCompleted](r)
	if frames := framesWith(r, wire.ItemCommand); frames == 0 && len(done) > 0 {
		t.Errorf("nothing was said of %+v", done)
	} else if frames > 0 && (len(done) != 1 || done[0].Status != core.ToolFailed) {
		t.Errorf("%d frames were taken for %+v", frames, done)
	}
}

// framesWith counts the frames of Codex's with a word in them.
func framesWith(r *conntest.Recorder, word string) int {
	n := 0
	for _, notice := range r.All() {
		if c, ok := notice.(core.Content); ok && strings.Contains(string(c.Raw), word) {
			n++
		}
	}
	return n
}

func TestRealFirstOutputOfACommand(t *testing.T) { onCodex(t, 0, realFirstOutput) }

// What a command prints before Codex shows it (see realRefusedAtOnce) is in no
// delta. The newest version has it in the whole output, the oldest nowhere.
func realFirstOutput(t *testing.T, b *bench) {
	cfg := b.session()
	cfg.ApprovalMode, cfg.SandboxMode = core.ApprovalAuto, core.SandboxUnrestricted
	r := b.open(cfg)
	r.Start("trn_1", "run echo one; sleep 1; echo two", "outputs")
	r.TurnEnded("trn_1")
	if said := conntest.Contents[core.Message](r); len(said) != 1 || !strings.Contains(said[0].Text, `one\ntwo`) {
		t.Errorf("the model was told %+v", said)
	}
	streamed := ""
	for _, d := range conntest.Contents[core.CommandOutputDelta](r) {
		streamed += d.Text
	}
	want := "one\ntwo\n"
	if b.name == "oldest" {
		want = streamed
	}
	if streamed != "two\n" && streamed != "one\ntwo\n" {
		t.Errorf("streamed %q", streamed)
	}
	if done := conntest.Contents[core.ToolCompleted](r); len(done) != 1 || done[0].Output != want {
		t.Errorf("completed %+v, want the output %q", done, want)
	}
	if streamed == "two\n" && framesWith(r, wire.CommandOutputDelta) != 1 {
		t.Error("a delta of Codex's was lost")
	}
}

func TestRealThreadHasOneWriter(t *testing.T) { onCodex(t, 0, realOneWriter) }

func realOneWriter(t *testing.T, b *bench) {
	cfg := b.session()
	first := b.open(cfg)
	first.Start("trn_1", "say hello")
	first.TurnEnded("trn_1")
	cfg.ProviderSesID = first.Conn.Ready().ProviderSessionID
	_, err := b.provider().Open(t.Context(), cfg)
	if core.CodeOf(err) != core.CodeStartFailed || !strings.Contains(err.Error(), "open in another program") || core.AsError(err).Hint == "" {
		t.Errorf("a second writer: %v", err)
	}
	cfg.Fork = true
	fork := b.open(cfg)
	fork.Start("trn_1", "remember")
	if msg := conntest.Content[core.Message](fork); !strings.Contains(msg.Text, "say hello") {
		t.Errorf("the fork says %q", msg.Text)
	}
	fork.TurnEnded("trn_1")
	first.Start("trn_2", "say still mine")
	if end := first.TurnEnded("trn_2"); end.Verdict != core.VerdictCompleted {
		t.Errorf("%+v", end)
	}
}

func TestRealSubAgentAsksWithinItsParentsTurn(t *testing.T) { onCodex(t, 0, realSubAgent) }

func realSubAgent(t *testing.T, b *bench) {
	r := b.open(b.session())
	// The parent waits in a command meanwhile.
	r.Start("trn_1", `call spawn_agent {"message":"escalate touch below.txt\nsay from below"}`, "run while [ ! -e below.txt ]; do sleep 0.1; done", "say over")
	q := r.Request()
	if q.Turn != "trn_1" || q.Spec.Kind != core.KindCommandApproval || !strings.Contains(q.Spec.Prompt, "touch below.txt") {
		t.Errorf("request %+v", q)
	}
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}})
	if end := r.TurnEnded("trn_1"); end.Verdict != core.VerdictCompleted {
		t.Errorf("%+v", end)
	}
	said := conntest.Contents[core.Message](r)
	if len(said) == 0 || slices.ContainsFunc(said, func(m core.Message) bool { return m.Text != "over" }) {
		t.Errorf("the parent says %+v", said)
	}
	if s := conntest.Contents[core.ToolStarted](r); len(s) != 2 || s[0].Kind != core.ToolAgent {
		t.Errorf("the parent's tools are %+v", s)
	}
}
