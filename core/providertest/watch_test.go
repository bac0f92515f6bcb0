package providertest

import (
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

// TestWatchRules feeds a watch that has seen turn t1 begin, by op 1. Only the
// last notice of a case may break a rule.
func TestWatchRules(t *testing.T) {
	in := func(p core.Payload) core.Notice { return core.Content{Turn: "t1", Payload: p} }
	asks := func(ref string) core.RequestRaised {
		return core.RequestRaised{Turn: "t1", Ref: ref, Spec: core.RequestSpec{
			Kind: core.KindCommandApproval, Prompt: "?", Actions: []core.Action{core.ActionApprove},
		}}
	}
	spec := func(change func(*core.RequestSpec)) core.RequestRaised {
		r := asks("r1")
		change(&r.Spec)
		return r
	}
	tool := core.ToolStarted{Item: "i1", Name: "shell", Kind: core.ToolCommand, Title: "ls"}
	ended := core.TurnEnded{Turn: "t1", Verdict: core.VerdictCompleted}
	for _, tc := range []struct {
		name    string
		notices []core.Notice
		breaks  string // "" for no rule
	}{
		{"a plain turn", []core.Notice{in(core.MessageDelta{Item: "i1", Text: "a"}), in(core.Message{Item: "i1", Text: "a"}), ended}, ""},
		{"a message without deltas", []core.Notice{in(core.Message{Item: "i1", Text: "a"}), ended}, ""},
		{"a cut message that joins", []core.Notice{in(core.MessageDelta{Item: "i1", Text: "a"}), in(core.Message{Item: "i1", Text: "a", Partial: true}), ended}, ""},
		{"a turn of the provider's own", []core.Notice{core.TurnBegan{Turn: "p1"}, core.TurnEnded{Turn: "p1", Verdict: core.VerdictFailed}}, ""},
		{"content of the session", []core.Notice{ended, core.Content{Payload: core.Warning{Message: "x"}}}, ""},
		{"a request open at the end", []core.Notice{asks("r1"), ended, core.RequestWithdrawn{Ref: "r1"}}, ""},
		{"a request name used again after its withdrawal", []core.Notice{asks("r1"), core.RequestWithdrawn{Ref: "r1"}, asks("r1")}, ""},
		{"a whole tool use", []core.Notice{in(tool), in(core.ToolDelta{Item: "i1", Text: "."}), in(core.CommandOutputDelta{Item: "i1", Text: "x"}), in(core.ToolCompleted{Item: "i1", Status: core.ToolFailed}), ended}, ""},

		{"nothing", []core.Notice{nil}, "no notice"},
		{"an error without a code", []core.Notice{core.OpDone{Op: 2, Err: &core.Error{Message: "x"}}}, "without code"},
		{"content of an unknown turn", []core.Notice{core.Content{Turn: "t9", Payload: core.Warning{}}}, "nobody began"},
		{"content without a payload", []core.Notice{core.Content{Turn: "t1"}}, "without a payload"},
		{"a beginning after the end", []core.Notice{ended, core.TurnBegan{Turn: "t1"}}, "after the terminal"},
		{"a request after the end", []core.Notice{ended, asks("r1")}, "after the terminal"},
		{"an unknown verdict", []core.Notice{core.TurnEnded{Turn: "t1", Verdict: "done"}}, "verdict"},
		{"the end of an unknown turn", []core.Notice{core.TurnEnded{Turn: "t9", Verdict: core.VerdictFailed}}, "nobody began"},
		{"a delta without an item", []core.Notice{in(core.MessageDelta{Text: "a"})}, "without an item"},
		{"a delta after the message", []core.Notice{in(core.Message{Item: "i1"}), in(core.MessageDelta{Item: "i1", Text: "a"})}, "goes on after its end"},
		{"an item of two kinds", []core.Notice{in(core.MessageDelta{Item: "i1", Text: "a"}), in(core.ReasoningDelta{Item: "i1", Text: "a"})}, "is a message and a reasoning"},
		{"reasoning that does not join", []core.Notice{in(core.ReasoningDelta{Item: "i1", Text: "a"}), in(core.Reasoning{Item: "i1", Text: "b"})}, "join to"},
		{"a tool started twice", []core.Notice{in(tool), in(tool)}, "which exists"},
		{"a tool ended twice", []core.Notice{in(tool), in(core.ToolCompleted{Item: "i1", Status: core.ToolOK}), in(core.ToolCompleted{Item: "i1", Status: core.ToolOK})}, "goes on after its end"},
		{"a tool without a title", []core.Notice{in(core.ToolStarted{Item: "i1", Name: "x", Kind: core.ToolMCP})}, "no title"},
		{"a tool of no kind", []core.Notice{in(core.ToolStarted{Item: "i1", Name: "x", Title: "x"})}, "the kind"},
		{"a tool that ends with no status", []core.Notice{in(tool), in(core.ToolCompleted{Item: "i1"})}, "the status"},
		{"output of no tool", []core.Notice{in(core.CommandOutputDelta{Item: "i1", Text: "x"})}, "was not started"},
		{"an open tool at the end", []core.Notice{in(tool), ended}, "left open"},
		{"a file change of nothing", []core.Notice{in(core.FileChange{})}, "without changes"},
		{"a file change without a path", []core.Notice{in(core.FileChange{Changes: []core.FileEdit{{Kind: core.FileAdded}}})}, "without a path"},
		{"a file change of no kind", []core.Notice{in(core.FileChange{Changes: []core.FileEdit{{Path: "/a"}}})}, "of the kind"},
		{"a request without a name", []core.Notice{asks("")}, "without a Ref"},
		{"a withdrawal of nothing", []core.Notice{core.RequestWithdrawn{Ref: "r9"}}, "never raised"},
		{"a request of no kind", []core.Notice{spec(func(s *core.RequestSpec) { s.Kind = "wish" })}, "unknown kind"},
		{"a request without a prompt", []core.Notice{spec(func(s *core.RequestSpec) { s.Prompt = "" })}, "no prompt"},
		{"an approval to be answered", []core.Notice{spec(func(s *core.RequestSpec) { s.Actions = []core.Action{core.ActionAnswer} })}, "cannot offer"},
		{"scopes of a denial", []core.Notice{spec(func(s *core.RequestSpec) {
			s.Actions, s.Scopes = []core.Action{core.ActionDeny}, []core.Scope{core.ScopeOnce}
		})}, "scopes without"},
		{"a question that asks nothing", []core.Notice{spec(func(s *core.RequestSpec) {
			s.Kind, s.Actions = core.KindQuestion, []core.Action{core.ActionAnswer}
		})}, "without questions"},
		{"a question without an answer", []core.Notice{spec(func(s *core.RequestSpec) {
			s.Kind, s.Actions, s.Questions = core.KindQuestion, []core.Action{core.ActionAnswer}, []core.Question{{ID: "q", Prompt: "?"}}
		})}, "no possible answer"},
		{"two questions with one id", []core.Notice{spec(func(s *core.RequestSpec) {
			q := core.Question{ID: "q", Prompt: "?", AllowsOther: true}
			s.Kind, s.Actions, s.Questions = core.KindQuestion, []core.Action{core.ActionAnswer}, []core.Question{q, q}
		})}, "two with one id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := NewWatch(core.Ready{})
			w.Sending(core.StartTurn{ID: 1, TurnID: "t1"})
			w.Sending(core.Steer{ID: 2, TurnID: "t1"})
			last := len(tc.notices) - 1
			for i, n := range append([]core.Notice{core.OpDone{Op: 1}}, tc.notices...) {
				err := w.See(n)
				switch {
				case i <= last && err != nil, tc.breaks == "" && err != nil:
					t.Fatalf("notice %d: %v", i, err)
				case i > last && tc.breaks != "" && (err == nil || !strings.Contains(err.Error(), tc.breaks)):
					t.Errorf("the last notice broke %v, not the rule %q", err, tc.breaks)
				}
			}
		})
	}
}

func TestWatchNamesOpsThatWereNotAnswered(t *testing.T) {
	w := NewWatch(core.Ready{})
	w.Sending(core.StartTurn{ID: 1, TurnID: "t1"})
	w.Sending(core.Steer{ID: 2, TurnID: "t1"})
	w.Refused(core.Steer{ID: 2, TurnID: "t1"})
	if err := w.Unanswered(); err == nil || !strings.Contains(err.Error(), "StartTurn 1") {
		t.Errorf("unanswered: %v", err)
	}
	if err := w.See(core.OpDone{Op: 1}); err != nil {
		t.Error(err)
	}
	if err := w.Unanswered(); err != nil {
		t.Errorf("all are answered, and yet: %v", err)
	}
}
