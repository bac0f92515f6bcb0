package pi

import (
	"encoding/json"
	"strconv"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// translator turns records into notices and ops into commands. It is pure: what
// it wants done is in its LineOutput.
type translator struct {
	link.LineOutput
	set settings

	session string // the conversation's id
	model   string // provider/id
	level   string // of thinking
	mode    core.ApprovalMode
	next    core.ApprovalMode // takes the place of mode when no turn runs, "" for none

	gated   bool // the gate is in place
	settles bool // this release sends agent_settled
	noClear bool // this release does not know clear_queue

	turn    *turn // the one that Pi is in
	pending *turn // ours that Pi has not taken yet
	barrier int   // commands that have to be answered before the next prompt

	dialogs  map[string]*dialog
	order    []string // of dialogs, oldest first
	allowed  map[string]bool
	calls    map[string]sentCommand // of ours that have no response, by id
	ids      map[string]int         // how often a tool's id was used
	steering []string               // what waits in Pi's own queue of steering messages

	lastID   uint64
	messages uint64
	own      uint64 // turns that Pi began
}

// settings are those of a session that the translator needs.
type settings struct {
	mode    core.ApprovalMode
	effort  string
	channel string                 // the gate's name for its dialogs
	inside  func(path string) bool // an edit there passes in auto_edit
}

// sentCommand is a command that waits for its response.
type sentCommand struct {
	command string
	tag     any
}

// Tags identify what a response is for.
type (
	promptTag struct{ turn *turn }
	steerTag  struct {
		turn *turn
		op   core.OpID
		text string
	}
	abortTag struct{ turn *turn }
	stateTag struct { // get_state, to see whether a turn has settled
		turn  *turn
		abort bool
	}
	clearTag struct{} // a barrier, and nothing else
	lateTag  struct { // a steer came after its turn
		op   core.OpID
		text string
	}
)

func newTranslator(s settings) *translator {
	return &translator{set: s, mode: s.mode, level: s.effort, dialogs: map[string]*dialog{}, allowed: map[string]bool{},
		calls: map[string]sentCommand{}, ids: map[string]int{}}
}

// call sends a command; its response comes back with the tag.
func (t *translator) call(c wire.Command, tag any) {
	if len(t.calls) >= maxCalls {
		t.Fatal = core.Errorf(core.CodeSessionUnavailable, "Pi leaves %d commands unanswered", maxCalls)
		return
	}
	t.lastID++
	c.ID = "h" + strconv.FormatUint(t.lastID, 10)
	t.calls[c.ID] = sentCommand{c.Type, tag}
	t.Send(c, 0)
}

// read handles one line of Pi's.
func (t *translator) read(raw []byte) {
	var h wire.Head
	if raw[0] != '{' || json.Unmarshal(raw, &h) != nil || h.Type == "" {
		t.garbage(raw)
		return
	}
	switch h.Type {
	case wire.TypeResponse:
		t.response(raw)
	case wire.TypeDialog:
		t.dialog(raw)
	case wire.TypeAgentStart, wire.TypeAgentEnd, wire.TypeAgentSettled:
		t.run(h.Type, raw)
	case wire.TypeMessageStart, wire.TypeMessageUpdate, wire.TypeMessageEnd:
		t.message(h.Type, raw)
	case wire.TypeToolStart, wire.TypeToolUpdate, wire.TypeToolEnd:
		t.tool(h.Type, raw)
	case wire.TypeAutoRetryStart, wire.TypeAutoRetryEnd, wire.TypeSummaryScheduled,
		wire.TypeCompactionStart, wire.TypeCompactionEnd:
		t.pause(h.Type, raw)
	case wire.TypeQueueUpdate:
		t.queued(raw)
	case wire.TypeThinkingChanged:
		t.thinkingChanged(raw)
	case wire.TypeExtensionError:
		t.extensionFailed(raw)
	case wire.TypeTurnStart, wire.TypeTurnEnd: // one step of a run; its parts are reported by themselves
	default:
		t.event(h.Type, raw)
	}
}

// decode reads a known record; a body that cannot be read is reported and the
// conversation continues.
func (t *translator) decode(what string, raw []byte, into any) bool {
	if err := json.Unmarshal(raw, into); err != nil {
		// The decoder's error is left out: it may quote the record.
		t.content(core.ProviderError{Message: "Pi sent a record that cannot be read: " + what,
			Code: "unreadable_message", WillRetry: true}, raw)
		return false
	}
	return true
}

// garbage reports a line that is no record. The conversation continues.
func (t *translator) garbage(line []byte) { t.event("garbage", ndjson.Quote(line)) }

// name is the turn that content belongs to, "" for none.
func (t *translator) name() string {
	if t.turn == nil {
		return ""
	}
	return t.turn.name
}

// content reports something of the running turn, or of the session.
func (t *translator) content(p core.Payload, raw json.RawMessage) {
	t.Notice(core.Content{Turn: t.name(), Payload: p, Raw: raw})
}

// event keeps a record that has no place in the vocabulary.
func (t *translator) event(kind string, raw json.RawMessage) {
	t.content(core.ProviderEvent{Kind: kind, Data: raw}, raw)
}

// queued handles what waits in Pi's own queues. Ours are steering messages alone:
// follow-ups stay with core until Pi is idle.
func (t *translator) queued(raw json.RawMessage) {
	var q wire.QueueUpdate
	if t.decode(wire.TypeQueueUpdate, raw, &q) {
		t.steering = q.Steering
		t.event(wire.TypeQueueUpdate, raw)
	}
}

func (t *translator) thinkingChanged(raw json.RawMessage) {
	var c wire.ThinkingChanged
	if t.decode(wire.TypeThinkingChanged, raw, &c) && c.Level != "" && c.Level != t.level {
		t.level = c.Level
		t.Notice(core.SessionChanged{ReasoningEffort: c.Level, Raw: raw})
	}
}

func (t *translator) extensionFailed(raw json.RawMessage) {
	var e wire.ExtensionError
	if t.decode(wire.TypeExtensionError, raw, &e) {
		t.content(core.Warning{Message: "An extension of Pi's failed in " + e.Event + ": " + e.Error, Code: "extension_error"}, raw)
	}
}

// opened handles the state in which the conversation begins.
func (t *translator) opened(s wire.State) {
	t.session, t.model, t.level = s.SessionID, s.Model.Name(), s.ThinkingLevel
}

// Lost closes what is open when the link ends before the turn.
func (t *translator) Lost() {
	if t.turn != nil {
		t.closeItems(t.turn)
	}
}
