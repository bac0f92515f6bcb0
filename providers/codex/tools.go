package codex

import (
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/textdiff"
)

// toolKinds are the items that are uses of a tool.
var toolKinds = map[string]core.ToolKind{
	wire.ItemCommand:     core.ToolCommand,
	wire.ItemFileChange:  core.ToolFile,
	wire.ItemMcpToolCall: core.ToolMCP,
	wire.ItemDynamicTool: core.ToolOther,
	wire.ItemCollabAgent: core.ToolAgent,
	wire.ItemWebSearch:   core.ToolWeb,
	wire.ItemImageView:   core.ToolFile,
	wire.ItemImageGen:    core.ToolOther,
}

// toolKind is "" for an item that is no use of a tool.
func toolKind(item wire.Item) core.ToolKind { return toolKinds[item.Type] }

// toolStarted reports the beginning of a use.
func toolStarted(item wire.Item) core.ToolStarted {
	s := core.ToolStarted{Item: item.ID, Kind: toolKind(item), Name: item.Type, Input: item.Arguments}
	switch item.Type {
	case wire.ItemCommand:
		s.Name, s.Title, s.Command, s.CWD = "shell", shownCommand(item), item.Command, item.CWD
	case wire.ItemFileChange:
		s.Name, s.Title = "apply_patch", patchTitle(item.Changes)
	case wire.ItemMcpToolCall:
		s.Name = item.Server + "." + item.Tool
		s.Title = s.Name
	case wire.ItemDynamicTool:
		s.Name, s.Title = item.Tool, item.Tool
	case wire.ItemCollabAgent:
		s.Name, s.Title = item.Tool, strings.TrimSpace(item.Tool+" "+item.Prompt)
	case wire.ItemWebSearch:
		s.Name, s.Title = "web_search", item.Query
	case wire.ItemImageView:
		s.Name, s.Title = "view_image", item.Path
	default:
		s.Title = item.Type
	}
	if s.Name == "" {
		s.Name = item.Type
	}
	if s.Title, _, _ = strings.Cut(s.Title, "\n"); s.Title == "" {
		s.Title = s.Name
	}
	return s
}

// shownCommand is the command without the shell around it, where Codex took it
// apart.
func shownCommand(item wire.Item) string {
	if len(item.CommandActions) == 1 && item.CommandActions[0].Command != "" {
		return item.CommandActions[0].Command
	}
	return item.Command
}

func patchTitle(changes []wire.FileUpdateChange) string {
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = filepath.Base(c.Path)
	}
	return "edit " + strings.Join(names, ", ")
}

// toolCompleted reports the end of a use. A command that ended with another
// code than 0 is Codex's own "failed".
func toolCompleted(item wire.Item) core.ToolCompleted {
	done := core.ToolCompleted{Item: item.ID, Status: core.ToolOK, ExitCode: item.ExitCode, Output: item.AggregatedOutput}
	switch item.Status {
	case "failed":
		done.Status = core.ToolFailed
	case "declined":
		done.Status = core.ToolDeclined
	case "inProgress":
		done.Status = core.ToolCancelled
	}
	parts := item.ContentItems
	if item.Result != nil {
		parts = item.Result.Content
		if len(parts) == 0 && len(item.Result.StructuredContent) > 0 && string(item.Result.StructuredContent) != "null" {
			done.Output = string(item.Result.StructuredContent)
		}
	}
	for _, p := range parts {
		done.Output += p.Text
	}
	if item.Error != nil {
		done.Error = item.Error.Message
	}
	if item.Success != nil && !*item.Success {
		done.Status = core.ToolFailed
	}
	return done
}

// edits returns the files of a patch.
func edits(changes []wire.FileUpdateChange) []core.FileEdit {
	var list []core.FileEdit
	for _, c := range changes {
		if c.Path == "" {
			continue // there is nothing to report about it
		}
		e := core.FileEdit{Path: c.Path, Kind: core.FileModified, Diff: unified(c)}
		switch {
		case c.Kind.Type == "add":
			e.Kind = core.FileAdded
		case c.Kind.Type == "delete":
			e.Kind = core.FileDeleted
		case c.Kind.MovePath != "":
			list = append(list, core.FileEdit{Path: c.Path, Kind: core.FileDeleted})
			e.Path = c.Kind.MovePath
			e.Kind = core.FileAdded
		}
		list = append(list, e)
	}
	return list
}

// unified returns a unified diff of what Codex sends: hunks for an update, the
// whole text for a file that comes or goes.
func unified(c wire.FileUpdateChange) string {
	from, to := c.Path, c.Path
	if c.Kind.MovePath != "" {
		to = c.Kind.MovePath
	}
	switch c.Kind.Type {
	case "add":
		return textdiff.Header(textdiff.DevNull, to) + textdiff.Hunk("", c.Diff, 0)
	case "delete":
		return textdiff.Header(from, textdiff.DevNull) + textdiff.Hunk(c.Diff, "", 0)
	}
	if c.Diff == "" || strings.HasPrefix(c.Diff, "--- ") {
		return c.Diff
	}
	return textdiff.Header(from, to) + c.Diff
}
