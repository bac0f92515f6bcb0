package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// replayer plays a recorded conversation: the client's lines as the ops that
// they stand for, the CLI's as lines. A line "garbage" is one of the CLI's that is
// no JSON, "start" and "end" are a new process and its end. Everything the translator wants is
// written down and goes through the watch that every provider must pass.
type replayer struct {
	t     *testing.T
	tr    *translator
	watch *providertest.Watch
	log   strings.Builder
	ops   core.OpID
	turns int
	uuid  string
	ids   map[string]string             // our request ids, by the recorded ones
	asked string                        // the last request id of ours
	open  map[string]core.RequestRaised // by ref
}

func newReplayer(t *testing.T) *replayer {
	r := &replayer{t: t, ids: map[string]string{}, open: map[string]core.RequestRaised{}}
	r.start()
	return r
}

func (r *replayer) start() {
	r.tr = newTranslator(settings{newID: func() string { return r.uuid }, exists: func(string) bool { return false }})
	r.tr.literal = true
	r.watch = providertest.NewWatch(core.Ready{})
}

func (r *replayer) nextOp() core.OpID { r.ops++; return r.ops }

// op passes an op to the translator, as Conn.Send does.
func (r *replayer) op(op core.Op) {
	r.watch.Sending(op)
	link.Do(r.tr, op)
	r.drain()
}

func (r *replayer) drain() {
	r.t.Helper()
	out := r.tr.Take()
	for _, n := range out.Notices {
		fmt.Fprintln(&r.log, conntest.Brief(n))
		if err := r.watch.See(n); err != nil {
			r.t.Error(err)
		}
		if q, ok := n.(core.RequestRaised); ok {
			r.open[q.Ref] = q
		}
	}
	for _, l := range out.Frames {
		fmt.Fprintln(&r.log, "->", conntest.JSON(l.Value))
		if q, ok := l.Value.(wire.OutRequest); ok {
			r.asked = q.RequestID
		}
		if l.Written != nil {
			l.Written()
		}
	}
	if out.Fatal != nil {
		fmt.Fprintf(&r.log, "fatal: %v\n", out.Fatal)
	}
	if len(out.Frames) > 0 {
		r.drain()
	}
}

func (r *replayer) play(line conntest.Line) {
	switch line.Dir {
	case "start":
		r.start()
	case "end":
		r.tr.Lost()
		r.drain()
		fmt.Fprintln(&r.log, "the end")
	case "garbage":
		var text string
		if err := json.Unmarshal(line.Msg, &text); err != nil {
			r.t.Fatal(err)
		}
		r.tr.read([]byte(text))
		r.drain()
	case "->":
		r.client(line.Msg)
	case "<-":
		r.server(line.Msg)
	}
}

// clientLine is a recorded line of the client's.
type clientLine struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	Priority  string `json:"priority"`
	RequestID string `json:"request_id"`
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Request struct {
		Subtype string `json:"subtype"`
		Mode    string `json:"mode"`
		Model   string `json:"model"`
	} `json:"request"`
	Response struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
	} `json:"response"`
}

// client plays a line of the recorded client's.
func (r *replayer) client(raw json.RawMessage) {
	var c clientLine
	if json.Unmarshal(raw, &c) != nil {
		return // what the recording's client sent to see it fail
	}
	switch c.Type {
	case "user":
		r.prompt(c)
	case "control_response":
		r.answer(c)
	case "control_request":
		r.control(c)
	}
}

func (r *replayer) prompt(c clientLine) {
	var text string
	if json.Unmarshal(c.Message.Content, &text) != nil {
		text = "blocks"
	}
	if r.uuid = c.UUID; r.uuid == "" {
		r.uuid = fmt.Sprintf("no-uuid-%d", r.turns)
	}
	if u := r.tr.running; u != nil && u.items.tools() && c.Priority == "" {
		r.op(core.Steer{ID: r.nextOp(), TurnID: u.name, Input: core.TurnInput{Prompt: text}})
		return
	}
	r.turns++
	r.op(core.StartTurn{ID: r.nextOp(), TurnID: fmt.Sprintf("turn-%d", r.turns), Input: core.TurnInput{Prompt: text}})
}

func (r *replayer) control(c clientLine) {
	r.asked = ""
	switch c.Request.Subtype {
	case wire.Interrupt:
		name := "nobody"
		if r.tr.running != nil {
			name = r.tr.running.name
		} else if len(r.tr.waiting) > 0 {
			name = r.tr.waiting[0].name
		}
		r.op(core.Interrupt{ID: r.nextOp(), TurnID: name})
	case wire.SetModel:
		if c.Request.Model != "" {
			r.op(core.Configure{ID: r.nextOp(), Changes: core.Changes{Model: c.Request.Model}})
		}
	case wire.SetPermissionMode:
		for ours, theirs := range permissionModes {
			if theirs == c.Request.Mode && ours != core.ApprovalPrompt {
				r.op(core.Configure{ID: r.nextOp(), Changes: core.Changes{ApprovalMode: ours}})
			}
		}
	}
	if r.asked != "" {
		r.ids[c.RequestID] = r.asked
	}
}

// answer plays a recorded answer to a request of the CLI's as the response that
// leads to it.
func (r *replayer) answer(c clientLine) {
	q, ok := r.open[c.Response.RequestID]
	if !ok {
		return // to a request that the translator refused
	}
	var a struct {
		Behavior  string          `json:"behavior"`
		Message   string          `json:"message"`
		Interrupt bool            `json:"interrupt"`
		Perms     json.RawMessage `json:"updatedPermissions"`
		Action    string          `json:"action"`
		Content   json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(c.Response.Response, &a)
	res := core.Response{Action: core.ActionDeny, Reason: a.Message}
	switch {
	case a.Interrupt || a.Action == "cancel":
		res.Action = core.ActionCancel
	case a.Action == "accept":
		res = core.Response{Action: core.ActionAnswer, Content: a.Content}
	case q.Spec.Kind == core.KindQuestion && a.Behavior == "allow":
		res = core.Response{Action: core.ActionAnswer, Answers: map[string][]string{}}
		for _, question := range q.Spec.Questions {
			res.Answers[question.ID] = []string{question.Choices[0].Value, "my own words"}
		}
	case a.Behavior == "allow":
		res = core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}
		if len(a.Perms) > 0 && len(q.Spec.Scopes) > 1 {
			res.Scope = core.ScopeSession
		}
	}
	r.op(core.Respond{ID: r.nextOp(), Ref: q.Ref, Response: res})
}

// server plays a line of the CLI's. Responses to requests that no op stands for
// are left out.
func (r *replayer) server(raw json.RawMessage) {
	var m struct {
		Type     string          `json:"type"`
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(raw, &m) == nil && m.Type == wire.ControlResponse {
		var body map[string]json.RawMessage
		if err := json.Unmarshal(m.Response, &body); err != nil {
			r.t.Fatal(err)
		}
		var id string
		_ = json.Unmarshal(body["request_id"], &id)
		ours, ok := r.ids[id]
		if !ok {
			return
		}
		body["request_id"] = json.RawMessage(`"` + ours + `"`)
		raw, _ = json.Marshal(map[string]any{"type": m.Type, "response": body})
	}
	r.tr.read(raw)
	r.drain()
}

func TestRecordedConversationsTranslate(t *testing.T) {
	conntest.Golden(t, func(t *testing.T, file string) string {
		r := newReplayer(t)
		for _, line := range conntest.ReadRecording(t, file) {
			r.play(line)
		}
		return r.log.String()
	})
}

// spoken are the kinds of lines that the CLI is known to send.
var spoken = []string{
	"command_lifecycle", "system/init", "system/status", "stream_event", "assistant", "user", "system/api_retry",
	"system/permission_denied", "system/task_started", "system/task_progress", "system/task_updated", "system/task_notification",
	"system/background_tasks_changed", "system/compact_boundary", "system/informational", "system/model_refusal_no_fallback",
	"system/session_title_changed", "system/thinking_tokens", "system/ui_invalidate", "conversation_reset", "system/session_state_changed",
	"result/success", "result/error_during_execution", "result/error_max_turns", "result/error_max_budget_usd",
	"control_request/can_use_tool", "control_request/hook_callback", "control_request/mcp_message", "control_request/elicitation",
	"control_response", "control_cancel_request",
}

func TestRecordedConversationsHaveEveryKindOfLine(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range conntest.Recordings(t) {
		for _, line := range conntest.ReadRecording(t, file) {
			var m struct {
				wire.Head
				Request struct {
					Subtype string `json:"subtype"`
				} `json:"request"`
			}
			if line.Dir != "<-" || json.Unmarshal(line.Msg, &m) != nil {
				continue
			}
			kind := m.Type
			for _, sub := range []string{m.Subtype, m.Request.Subtype} {
				if sub != "" {
					kind += "/" + sub
				}
			}
			seen[kind] = true
		}
	}
	for _, kind := range spoken {
		if !seen[kind] {
			t.Errorf("no recording has a %s", kind)
		}
	}
}
