package claude

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/textdiff"
)

// toolKinds are the kinds of tools by name. Except for mcp__ ones, others
// are core.ToolOther.
var toolKinds = map[string]core.ToolKind{
	"Bash": core.ToolCommand, "BashOutput": core.ToolCommand, "KillShell": core.ToolCommand, "PowerShell": core.ToolCommand,
	"Read": core.ToolFile, "Write": core.ToolFile, "Edit": core.ToolFile, "MultiEdit": core.ToolFile, "NotebookEdit": core.ToolFile,
	"Glob": core.ToolSearch, "Grep": core.ToolSearch, "ToolSearch": core.ToolSearch,
	"WebFetch": core.ToolWeb, "WebSearch": core.ToolWeb,
	"Task": core.ToolAgent, "Agent": core.ToolAgent,
}

func toolKind(name string) core.ToolKind { return link.ToolKind(name, toolKinds) }

// shownName is the name of a tool for people; an MCP server's has its server's
// before it.
func shownName(name string) string {
	rest, ok := strings.CutPrefix(name, wire.MCPPrefix)
	if !ok {
		return name
	}
	server, tool, ok := strings.Cut(rest, "__")
	if !ok {
		return rest
	}
	return server + "." + tool
}

// inputOf reads what is known of a tool's input; a field of another type than
// expected leaves it out.
func inputOf(raw json.RawMessage) wire.ToolInput {
	var in wire.ToolInput
	_ = json.Unmarshal(raw, &in) // what fits is there
	return in
}

// toolTitle returns one line about the use of a tool.
func toolTitle(name string, in wire.ToolInput) string {
	return link.ToolTitle(shownName(name), in.Command, in.FilePath, in.NotebookPath, in.Pattern, in.URL, in.Query, in.Skill, in.Description)
}

// toolUse reports that a tool is about to be used.
func (t *translator) toolUse(u *turn, b wire.Block, raw json.RawMessage) {
	if b.ID == "" || b.Name == "" || u.items.find(b.ID) != nil {
		t.event("assistant: "+b.Type, raw)
		return
	}
	in := inputOf(b.Input)
	it := t.newItem(b.ID, wire.ToolUse)
	it.ref, it.tool = b.ID, b.Name
	u.items.list = append(u.items.list, it)
	start := core.ToolStarted{Item: it.id, Name: shownName(b.Name), Kind: toolKind(b.Name), Title: toolTitle(b.Name, in), Input: b.Input}
	if start.Kind == core.ToolCommand {
		start.Command = in.Command
	}
	t.content(start, raw)
	if b.Name == wire.TodoWrite && len(in.Todos) > 0 {
		plan := core.PlanUpdated{}
		for _, todo := range in.Todos {
			plan.Steps = append(plan.Steps, core.PlanStep{Text: todo.Content, Status: todo.Status})
		}
		t.content(plan, nil)
	}
}

// user handles results of tools, and what else the CLI sends to the model.
func (t *translator) user(_ wire.Head, raw json.RawMessage) {
	var m wire.UserLine
	if !t.decode(wire.User, raw, &m) {
		return
	}
	if m.IsReplay {
		return // our own words
	}
	var blocks []wire.Block
	if json.Unmarshal(m.Message.Content, &blocks) != nil {
		t.event(wire.User, raw)
		return
	}
	results := 0
	for _, b := range blocks {
		if b.Type == wire.ToolResult && t.running != nil && t.toolResult(t.running, b, m, raw) {
			results++
		}
	}
	if results == 0 {
		t.event(wire.User, raw)
	}
}

// toolResult reports the end of a tool's use.
func (t *translator) toolResult(u *turn, b wire.Block, m wire.UserLine, raw json.RawMessage) bool {
	it := u.items.find(b.ToolUseID)
	if it == nil {
		return false
	}
	u.items.remove(it)
	output := resultText(b.Content)
	done := core.ToolCompleted{Item: it.id, Status: core.ToolOK, Output: output}
	if b.IsError {
		done.Status, done.Error = t.unsuccessful(u, it, m), output
		done.Output = ""
		if toolKind(it.tool) == core.ToolCommand {
			done.ExitCode, done.Output = exitCode(output)
			if done.ExitCode != nil {
				done.Error = ""
			}
		}
	} else if change, ok := fileChange(it.id, m.ToolUseResult); ok {
		t.content(change, nil)
	}
	t.content(done, raw)
	return true
}

// unsuccessful returns the status of a tool that failed.
func (t *translator) unsuccessful(u *turn, it *item, m wire.UserLine) core.ToolStatus {
	if it.status != "" {
		return it.status // as it was answered
	}
	for _, meta := range m.ToolResultMeta {
		if meta.ID != it.ref {
			continue
		}
		switch {
		case u.stopping && meta.NonExecutionKind != "":
			return core.ToolCancelled
		case meta.NonExecutionKind == wire.UserRejected, meta.NonExecutionKind == wire.PermissionRule:
			return core.ToolDeclined
		}
	}
	if u.stopping {
		return core.ToolCancelled
	}
	return core.ToolFailed
}

// exitCode takes the CLI's first line off the output of a command that failed.
func exitCode(output string) (*int, string) {
	line, rest, _ := strings.Cut(output, "\n")
	number, ok := strings.CutPrefix(line, "Exit code ")
	if !ok {
		return nil, ""
	}
	code, err := strconv.Atoi(number)
	if err != nil {
		return nil, ""
	}
	return &code, rest
}

// resultText is the text of a tool's result.
func resultText(raw []byte) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []wire.Block
	if json.Unmarshal(raw, &blocks) != nil {
		return string(raw)
	}
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		switch {
		case b.Type == wire.Text:
			parts = append(parts, b.Text)
		default:
			parts = append(parts, "["+b.Type+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// fileChange reads the structured result of a tool that wrote a file.
func fileChange(id string, raw []byte) (core.FileChange, bool) {
	var r wire.EditResult
	if len(raw) == 0 || json.Unmarshal(raw, &r) != nil || r.FilePath == "" || r.StructuredPatch == nil {
		return core.FileChange{}, false
	}
	edit := core.FileEdit{Path: r.FilePath, Kind: core.FileModified}
	if r.Type == "create" {
		edit.Kind, edit.Diff = core.FileAdded, addedDiff(r.FilePath, r.Content)
	} else if len(r.StructuredPatch) > 0 {
		edit.Diff = hunksDiff(r.FilePath, r.StructuredPatch)
	}
	return core.FileChange{Item: id, Changes: []core.FileEdit{edit}}, true
}

func addedDiff(path, text string) string {
	return textdiff.Header(textdiff.DevNull, path) + textdiff.Hunk("", text, 0)
}

func hunksDiff(path string, hunks []wire.Hunk) string {
	var b strings.Builder
	b.WriteString(textdiff.Header(path, path))
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, l := range h.Lines {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
