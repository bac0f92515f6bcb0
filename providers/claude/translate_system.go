package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
)

// system handles the CLI's reports about itself.
func (t *translator) system(h wire.Head, raw json.RawMessage) {
	switch h.Subtype {
	case wire.Init:
		t.opened(h, raw)
	case wire.Status:
		t.status(raw)
	case wire.APIRetry:
		t.retry(raw)
	case wire.PermissionDenied:
		t.denied(raw)
	case wire.TaskNotification:
		t.notified = t.running == nil
		t.event("system/"+h.Subtype, raw)
	case wire.TaskProgress:
		t.progress(raw)
	case wire.ThinkingTokens: // a count of what is not shown
	default:
		t.event("system/"+h.Subtype, raw)
	}
}

func (t *translator) status(raw json.RawMessage) {
	var m wire.StatusMessage
	if !t.decode("system/status", raw, &m) {
		return
	}
	if m.Status != "" && m.Status != wire.Requesting || m.PermissionMode != "" {
		t.event("system/status", raw)
	}
}

// retry reports a model call that failed and is made again, possibly for
// minutes.
func (t *translator) retry(raw json.RawMessage) {
	var m wire.Retry
	if !t.decode("system/api_retry", raw, &m) {
		return
	}
	if t.running != nil {
		t.closeTexts(t.running)
	}
	why := m.Error
	if m.ErrorStatus != nil {
		why = fmt.Sprintf("%s, status %d", m.Error, *m.ErrorStatus)
	}
	wait := time.Duration(m.RetryDelayMS * float64(time.Millisecond)).Round(100 * time.Millisecond)
	t.content(core.ProviderError{
		Message: fmt.Sprintf("The model call failed (%s); retry %d of %d in %s.", why, m.Attempt, m.MaxRetries, wait),
		Code:    m.Error, WillRetry: true}, raw)
}

// denied notes that the CLI denied a tool without asking.
func (t *translator) denied(raw json.RawMessage) {
	var m wire.Denied
	if t.decode("system/permission_denied", raw, &m) && t.running != nil {
		if it := t.running.items.find(m.ToolUseID); it != nil {
			it.status = core.ToolDeclined
		}
	}
	t.event("system/permission_denied", raw)
}

// progress reports what a sub-agent does, while its tool is open.
func (t *translator) progress(raw json.RawMessage) {
	var m wire.Task
	if !t.decode("system/task_progress", raw, &m) {
		return
	}
	t.agentSays(m.ToolUseID, m.Description, "system/task_progress", raw)
}

// subagent handles a line of a sub-agent's: its text is no answer to the
// prompt, so it is progress of the tool that runs it.
func (t *translator) subagent(h wire.Head, raw json.RawMessage) {
	var said []string
	if h.Type == wire.Assistant {
		var m wire.AssistantMessage
		if !t.decode("a sub-agent's message", raw, &m) {
			return
		}
		for _, b := range m.Message.Content {
			switch b.Type {
			case wire.Text:
				said = append(said, b.Text)
			case wire.ToolUse:
				said = append(said, toolTitle(b.Name, inputOf(b.Input)))
			}
		}
	}
	t.agentSays(h.ParentToolUseID, strings.Join(said, "\n"), "sub-agent: "+h.Type, raw)
}

func (t *translator) agentSays(tool, text, kind string, raw json.RawMessage) {
	var it *item
	if t.running != nil {
		it = t.running.items.find(tool)
	}
	if text == "" || it == nil {
		t.event(kind, raw)
		return
	}
	t.content(core.ToolDelta{Item: it.id, Text: text + "\n"}, raw)
}
