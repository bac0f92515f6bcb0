package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// Files of the work folder and the command that makes one of them.
const (
	greetingFile    = "greeting.txt"
	approvedFile    = "approved.txt"
	approvedCommand = "touch " + approvedFile
)

// readOnly is why a step that writes is declined in a read-only sandbox.
const readOnly = "the sandbox is read only"

// listFolder lists the work folder, as a command that streams its output.
func (t *turn) listFolder() error {
	item := t.newItem()
	if err := t.content(core.ToolStarted{
		Item: item, Name: "shell", Kind: core.ToolCommand, Title: "ls", Command: "ls", CWD: t.folder.work(),
	}); err != nil {
		return err
	}
	names, failed := t.entries()
	if failed != nil {
		return t.content(core.ToolCompleted{Item: item, Status: core.ToolFailed, Error: failed.Error()})
	}
	var out strings.Builder
	for _, name := range names {
		if err := t.pause(t.pace); err != nil {
			t.content(core.ToolCompleted{Item: item, Status: core.ToolCancelled, Output: out.String()})
			return err
		}
		if err := t.content(core.CommandOutputDelta{Item: item, Text: name + "\n"}); err != nil {
			return err
		}
		out.WriteString(name + "\n")
	}
	return t.content(core.ToolCompleted{Item: item, Status: core.ToolOK, Output: out.String(), ExitCode: new(int)})
}

// entries returns the names of the files in the work folder, after a line with
// their number.
func (t *turn) entries() ([]string, error) {
	entries, err := fs.ReadDir(t.folder.root.FS(), workDir)
	if err != nil {
		return nil, err
	}
	names := []string{fmt.Sprintf("total %d", len(entries))}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// permit asks for permission, unless the mode or an earlier approval of the
// session grants it. It returns the reason of a refusal, "" for none.
func (t *turn) permit(ask bool, spec core.RequestSpec) (refusal string, err error) {
	if t.sandbox == core.SandboxReadOnly {
		return readOnly, nil
	}
	if !ask || t.allowed[spec.Kind] {
		return "", nil
	}
	spec.Actions = []core.Action{core.ActionApprove, core.ActionDeny, core.ActionCancel}
	spec.Scopes = []core.Scope{core.ScopeOnce, core.ScopeSession}
	r, err := t.request(spec)
	if err != nil {
		return "", err
	}
	if r.Action == core.ActionApprove {
		t.allowed[spec.Kind] = t.allowed[spec.Kind] || r.Scope == core.ScopeSession
		return "", nil
	}
	if r.Reason == "" {
		return "it was denied", nil
	}
	return "it was denied: " + r.Reason, nil
}

// unfinished is how a tool use ends when the turn is stopped at its request.
func unfinished(item string) core.ToolCompleted {
	return core.ToolCompleted{Item: item, Status: core.ToolCancelled, Error: "the turn was stopped before it was approved"}
}

// approve asks for a command and runs it. It reports the outcome and returns
// that too.
func (t *turn) approve() (outcome string, err error) {
	item := t.newItem()
	if err := t.content(core.ToolStarted{
		Item: item, Name: "shell", Kind: core.ToolCommand, Title: approvedCommand,
		Command: approvedCommand, CWD: t.folder.work(),
	}); err != nil {
		return "", err
	}
	refusal, err := t.permit(t.approval != core.ApprovalAuto, core.RequestSpec{
		Kind:   core.KindCommandApproval,
		Prompt: "Run " + approvedCommand + "?",
		Details: &core.RequestDetails{
			Command: approvedCommand, CWD: t.folder.work(), Tool: "shell",
			Reason: "It makes an empty file in the demo agent's own folder.",
		},
	})
	if err != nil {
		t.content(unfinished(item))
		return "", err
	}
	done := core.ToolCompleted{Item: item, Status: core.ToolDeclined, Error: refusal}
	outcome = "I did not run " + approvedCommand + ": " + refusal + "."
	if refusal == "" {
		outcome = "I ran " + approvedCommand + "."
		done.Status, done.ExitCode = core.ToolOK, new(int)
		if err := t.folder.root.WriteFile(filepath.Join(workDir, approvedFile), nil, 0o600); err != nil {
			outcome = approvedCommand + " failed."
			*done.ExitCode, done.Status, done.Error = 1, core.ToolFailed, err.Error()
		}
	}
	if err := t.content(done); err != nil {
		return "", err
	}
	return outcome, t.say(outcome)
}

// ask asks which greeting the file shall have, and reports and returns it, ""
// when no answer was given.
func (t *turn) ask() (greeting string, err error) {
	const id = "greeting"
	r, err := t.request(core.RequestSpec{
		Kind:    core.KindQuestion,
		Prompt:  "Which greeting shall I write?",
		Actions: []core.Action{core.ActionAnswer, core.ActionCancel},
		Questions: []core.Question{{
			ID:     id,
			Header: "Greeting",
			Prompt: "Which greeting shall I write?",
			Choices: []core.Choice{
				{Label: "Friendly", Value: "Hello there!", Description: "as to a colleague"},
				{Label: "Formal", Value: "Good day.", Description: "as in a letter"},
			},
			AllowsOther: true,
		}},
	})
	if err != nil {
		return "", err
	}
	greeting = strings.Join(r.Answers[id], ", ")
	if greeting == "" {
		greeting = r.Answer
	}
	if greeting == "" { // how a protocol reports that nobody answered
		return "", t.say("No answer came, so I go on without one.")
	}
	return greeting, t.say("You chose: " + greeting)
}

// patch edits the greeting file and reports the diff. It returns the file's
// path, "" when nothing was written.
func (t *turn) patch(greeting string) (path string, err error) {
	item := t.newItem()
	edit, next, failed := t.plan(greeting)
	if err := t.content(core.ToolStarted{
		Item: item, Name: "edit_file", Kind: core.ToolFile, Title: "edit " + greetingFile,
	}); err != nil {
		return "", err
	}
	if failed != nil {
		return "", t.content(core.ToolCompleted{Item: item, Status: core.ToolFailed, Error: failed.Error()})
	}
	refusal, err := t.permit(t.approval == core.ApprovalPrompt, core.RequestSpec{
		Kind:    core.KindFileChangeApproval,
		Prompt:  "Write " + greetingFile + "?",
		Details: &core.RequestDetails{Path: edit.Path, Diff: edit.Diff, Tool: "edit_file"},
	})
	if err != nil {
		t.content(unfinished(item))
		return "", err
	}
	if refusal != "" {
		return "", t.content(core.ToolCompleted{Item: item, Status: core.ToolDeclined, Error: refusal})
	}
	if err := t.folder.root.WriteFile(filepath.Join(workDir, greetingFile), []byte(next), 0o600); err != nil {
		return "", t.content(core.ToolCompleted{Item: item, Status: core.ToolFailed, Error: err.Error()})
	}
	if err := t.content(core.FileChange{Item: item, Changes: []core.FileEdit{edit}}); err != nil {
		return "", err
	}
	return edit.Path, t.content(core.ToolCompleted{Item: item, Status: core.ToolOK})
}

// plan works out the next text of the greeting file and its diff. Without a
// greeting the file keeps the one it has.
func (t *turn) plan(greeting string) (edit core.FileEdit, next string, err error) {
	name := filepath.Join(workDir, greetingFile)
	old, err := readSmall(t.folder.root, name)
	edit = core.FileEdit{Path: filepath.Join(t.folder.path, name), Kind: core.FileModified}
	if errors.Is(err, fs.ErrNotExist) {
		edit.Kind, err = core.FileAdded, nil
	}
	if err != nil {
		return edit, "", err
	}
	next = nextGreeting(string(old), greeting)
	edit.Diff = unified(greetingFile, string(old), next)
	return edit, next, nil
}
