package claude

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// translator turns lines into notices and ops into lines. It is pure: what it
// wants done is in its LineOutput.
type translator struct {
	link.LineOutput
	set settings

	session   string // the conversation's id, as far as known
	model     string
	lifecycle bool // the CLI reports what becomes of messages
	notified  bool // a task ended, and no turn has begun since
	literal   bool // the CLI takes client_composed
	sent      bool // something was asked: errors are no longer those of the opening

	waiting  []*turn          // ours that have not begun, oldest first
	running  *turn            // the one that the CLI is in
	joined   []*turn          // ours that its result ends too
	steers   map[string]steer // messages that are to be folded in, by uuid
	requests map[string]*request
	calls    map[string]any // tags of our control requests, by id
	lastID   uint64
	own      uint64          // turns that the provider began
	used     map[string]bool // names of items, which are unique in a session

	spent account
}

// settings are those of a session that the translator needs.
type settings struct {
	schema json.RawMessage
	effort string
	stall  stallTimes

	// newID makes an id for a message. exists reports whether an @mention names
	// a file.
	newID  func() string
	exists func(path string) bool
}

// stallTimes are how long a model may be silent, 0 for no limit, and how long the
// interrupt of the turn may take after that.
type stallTimes struct{ silence, grace time.Duration }

// steer is a message that was sent into a running turn.
type steer struct {
	op     core.OpID
	done   bool // the op was answered
	prompt string
}

// Tags identify what a response is for.
type (
	interruptTag struct{ turn *turn }
	recallTag    struct{ turn *turn }
	configureTag struct {
		op    core.OpID
		model string // to be set once the mode is
	}
	modelTag struct {
		op    core.OpID
		model string
	}
)

func newTranslator(s settings) *translator {
	return &translator{set: s, steers: map[string]steer{}, requests: map[string]*request{}, calls: map[string]any{}, used: map[string]bool{}}
}

// call sends a control request; its response comes back with the tag.
func (t *translator) call(request, tag any) {
	if len(t.calls) >= maxCalls {
		t.Fatal = core.Errorf(core.CodeSessionUnavailable, "Claude Code leaves %d requests unanswered", maxCalls)
		return
	}
	t.lastID++
	id := "h" + strconv.FormatUint(t.lastID, 10)
	t.calls[id] = tag
	t.Send(wire.OutRequest{Type: wire.ControlRequest, RequestID: id, Request: request}, 0)
}

func (t *translator) reply(id string, response any, op core.OpID) {
	t.Send(wire.OutResponse{Type: wire.ControlResponse, Response: wire.OutResponseBody{
		Subtype: wire.Success, RequestID: id, Response: response}}, op)
}

func (t *translator) refuse(id, why string) {
	t.Send(wire.OutResponse{Type: wire.ControlResponse, Response: wire.OutResponseBody{
		Subtype: "error", RequestID: id, Error: why}}, 0)
}

// read handles one line of the CLI's.
func (t *translator) read(raw []byte) {
	var h wire.Head
	if raw[0] != '{' || json.Unmarshal(raw, &h) != nil || h.Type == "" {
		t.garbage(raw)
		return
	}
	if h.ParentToolUseID != "" {
		t.subagent(h, raw)
		return
	}
	switch h.Type {
	case wire.StreamEvent:
		t.streamEvent(raw)
	case wire.Assistant:
		t.assistant(h, raw)
	case wire.User:
		t.user(h, raw)
	case wire.CommandLifecycle:
		t.lifecycleOf(raw)
	case wire.System:
		t.system(h, raw)
	case wire.ResultType:
		t.result(h, raw)
	case wire.ControlRequest:
		t.request(raw)
	case wire.ControlResponse:
		t.response(raw)
	case wire.ControlCancel:
		t.cancelled(h.RequestID, raw)
	case wire.ConversationReset:
		t.event(h.Type, raw)
	case wire.KeepAlive:
	default:
		t.event(h.Type, raw)
	}
}

// decode reads a known line; a body that cannot be read is reported and the
// conversation continues.
func (t *translator) decode(what string, raw []byte, into any) bool {
	if err := json.Unmarshal(raw, into); err != nil {
		// The decoder's error is left out: it may quote the line.
		t.content(core.ProviderError{Message: "Claude Code sent a message that cannot be read: " + what,
			Code: "unreadable_message", WillRetry: true}, raw)
		return false
	}
	return true
}

// garbage reports a line that is no message. The conversation continues.
func (t *translator) garbage(line []byte) { t.event("garbage", ndjson.Quote(line)) }

// name is the turn that content belongs to, "" for none.
func (t *translator) name() string {
	if t.running == nil {
		return ""
	}
	return t.running.name
}

// content reports something of the running turn, or of the session.
func (t *translator) content(p core.Payload, raw json.RawMessage) {
	t.Notice(core.Content{Turn: t.name(), Payload: p, Raw: raw})
}

// event keeps a line that has no place in the vocabulary.
func (t *translator) event(kind string, raw json.RawMessage) {
	t.content(core.ProviderEvent{Kind: kind, Data: raw}, raw)
}

// Lost closes what is open when the link ends before the turn.
func (t *translator) Lost() {
	if t.running != nil {
		t.closeItems(t.running, false)
	}
}
