package pi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// toolUse is a tool that runs, or waits for an approval.
type toolUse struct {
	id     string // Pi's
	item   string // ours; another one where an id comes again
	name   string
	args   wire.ToolArgs
	shown  string // the output as Pi showed it last
	denied bool
	path   string // of an edited file, absolute, as the gate saw it
	exists bool   // before the edit
}

// toolKinds are the kinds of tools by name. Except for mcp__ ones, others
// are core.ToolOther.
var toolKinds = map[string]core.ToolKind{
	"bash": core.ToolCommand, "powershell": core.ToolCommand,
	"read": core.ToolFile, "edit": core.ToolFile, "write": core.ToolFile, "ls": core.ToolFile,
	"grep": core.ToolSearch, "find": core.ToolSearch, "tool_search": core.ToolSearch,
}

func kindOf(name string) core.ToolKind { return link.ToolKind(name, toolKinds) }

// edits reports whether a tool changes the one file that it names.
func edits(name string) bool { return name == "edit" || name == "write" }

// argsOf reads what is known of a tool's arguments; a field of another type
// than expected leaves it out.
func argsOf(raw json.RawMessage) wire.ToolArgs {
	var a wire.ToolArgs
	_ = json.Unmarshal(raw, &a) // what fits is there
	return a
}

// toolTitle returns one line about the use of a tool.
func toolTitle(name string, a wire.ToolArgs) string {
	return link.ToolTitle(name, a.Command, a.Path, a.Pattern, a.URL, a.Query)
}

// toolInUse finds a tool that runs, by Pi's id.
func (t *translator) toolInUse(id string) *toolUse {
	if t.turn == nil {
		return nil
	}
	for _, x := range t.turn.tools {
		if x.id == id {
			return x
		}
	}
	return nil
}

// tool handles tool_execution_start, _update or _end.
func (t *translator) tool(kind string, raw json.RawMessage) {
	var e wire.ToolEvent
	if !t.decode(kind, raw, &e) {
		return
	}
	x := t.toolInUse(e.ToolCallID)
	switch {
	case t.turn == nil, e.ToolCallID == "", kind == wire.TypeToolStart && x != nil, kind != wire.TypeToolStart && x == nil:
		t.event(kind, raw)
	case kind == wire.TypeToolStart:
		t.toolStarted(e, raw)
	case kind == wire.TypeToolUpdate:
		t.toolOutput(x, textOf(e.PartialResult), raw)
	default:
		t.toolEnded(x, e, raw)
	}
}

func (t *translator) toolStarted(e wire.ToolEvent, raw json.RawMessage) {
	x := &toolUse{id: e.ToolCallID, item: t.itemFor(e.ToolCallID), name: e.ToolName, args: argsOf(e.Args)}
	t.turn.tools = append(t.turn.tools, x)
	start := core.ToolStarted{Item: x.item, Name: cmp.Or(e.ToolName, "tool"), Kind: kindOf(e.ToolName), Title: toolTitle(cmp.Or(e.ToolName, "tool"), x.args), Input: e.Args}
	if start.Kind == core.ToolCommand {
		start.Command = x.args.Command
	}
	t.content(start, raw)
}

// itemFor returns the item of a tool's id, which some model providers use again.
func (t *translator) itemFor(id string) string {
	if len(t.ids) >= maxIDs {
		clear(t.ids)
	}
	t.ids[id]++
	if n := t.ids[id]; n > 1 {
		return fmt.Sprintf("%s#%d", id, n)
	}
	return id
}

// toolOutput handles the output so far. Of a long one Pi shows only the end.
func (t *translator) toolOutput(x *toolUse, text string, raw json.RawMessage) {
	fresh := appended(x.shown, text)
	x.shown = text
	if len(text) > maxOpenText { // its end is enough to find what comes next
		x.shown = strings.Clone(text[len(text)-maxOverlap:])
	}
	if len(raw) > maxRawDelta {
		raw = nil
	}
	switch {
	case fresh == "":
	case kindOf(x.name) == core.ToolCommand:
		t.content(core.CommandOutputDelta{Item: x.item, Text: fresh}, raw)
	default:
		t.content(core.ToolDelta{Item: x.item, Text: fresh}, raw)
	}
}

// appended returns the text that now has after before.
func appended(before, now string) string {
	if rest, ok := strings.CutPrefix(now, before); ok {
		return rest
	}
	end := before[max(0, len(before)-maxOverlap):]
	if i := strings.LastIndex(now, end); i >= 0 {
		return now[i+len(end):]
	}
	return now
}

func (t *translator) toolEnded(x *toolUse, e wire.ToolEvent, raw json.RawMessage) {
	t.turn.tools = slices.DeleteFunc(t.turn.tools, func(o *toolUse) bool { return o == x })
	t.overtaken(x.id, raw)
	done := core.ToolCompleted{Item: x.item, Status: core.ToolOK, Output: textOf(e.Result)}
	if kindOf(x.name) == core.ToolCommand {
		done.ExitCode = exitCode(e)
	}
	switch {
	case !e.IsError:
	case x.denied:
		done.Status, done.Error = core.ToolDeclined, firstLine(done.Output)
	case t.turn.stopping:
		done.Status, done.Error = core.ToolCancelled, firstLine(done.Output)
	default:
		done.Status, done.Error = core.ToolFailed, firstLine(done.Output)
	}
	t.content(done, raw)
	if !e.IsError && edits(x.name) && cmp.Or(x.path, x.args.Path) != "" {
		t.content(core.FileChange{Item: x.item, Changes: []core.FileEdit{x.edit(e.Result)}}, nil)
	}
}

// edit is what a tool that succeeded did to its file. A file that was not there
// before is one that was added; without a gate that is unknown.
func (x *toolUse) edit(r *wire.ToolResult) core.FileEdit {
	f := core.FileEdit{Path: cmp.Or(x.path, x.args.Path), Kind: core.FileModified}
	if x.path != "" && !x.exists {
		f.Kind = core.FileAdded
	}
	if r != nil {
		var d wire.ToolDetails
		_ = json.Unmarshal(r.Details, &d) // what fits is there
		f.Diff = d.Patch
	}
	return f
}

// textOf is the text of a tool's result; pictures are in the raw record.
func textOf(r *wire.ToolResult) string {
	if r == nil {
		return ""
	}
	var texts []string
	for _, b := range wire.Blocks(r.Content) {
		if b.Type == wire.BlockText {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// exitLine is how Pi's text ends where a command failed.
var exitLine = regexp.MustCompile(`Command exited with code (\d+)\s*$`)

// exitCode reads a command's exit code: newer releases have a field for it,
// older ones only name it in the text when it is not 0.
func exitCode(e wire.ToolEvent) *int {
	if e.Result == nil {
		return nil
	}
	var d wire.ToolDetails
	if json.Unmarshal(e.Result.StructuredContent, &d) == nil && d.ExitCode != nil {
		return d.ExitCode
	}
	if m := exitLine.FindStringSubmatch(textOf(e.Result)); m != nil {
		if code, err := strconv.Atoi(m[1]); err == nil {
			return &code
		}
	}
	return nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > maxErrorLine {
		s = strings.ToValidUTF8(s[:maxErrorLine], "") + "..."
	}
	return s
}
