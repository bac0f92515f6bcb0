package acp

import (
	"encoding/json"
	"strconv"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// translator turns frames into notices and ops into frames. It is pure: what
// it wants done is in its CallOutput and in asked.
type translator struct {
	link.CallOutput
	set     settings
	caps    wire.AgentCapabilities
	session string // the agent's name for it, once known
	phase   phase
	lost    int             // pieces of history that were not kept
	asked   []clientRequest // that the reader has to serve

	turn     *turn               // that runs
	settling bool                // the agent is not done with a turn that failed
	last     string              // the name of the turn before it
	items    int                 // messages so far, for their names
	requests map[string]*request // open, by our ref
	offers   offers              // what can be set
	total    core.Usage          // where the agent counts over the session
	usage    string              // the last report of it, to leave repeats out
	past     pastTools
}

// phase is where the opening stands.
type phase int

const (
	opening phase = iota
	history       // the agent repeats the conversation
	live
)

// settings are those of a session, as Configure may change them.
type settings struct {
	agent    Agent
	approval core.ApprovalMode
	effort   string
	prefix   string // of item names: two openings of a session share none

	// inside reports whether a file is in the workspace. It may read links.
	inside func(path string) bool
}

// clientRequest is something that the agent asks of its client and that needs
// I/O: a file or a terminal.
type clientRequest struct {
	id     json.RawMessage
	method string
	params json.RawMessage
}

// Tags identify what a response is for.
type (
	promptTag  struct{ turn *turn }
	effortTag  struct{ turn *turn }
	settingTag struct{ change *change }
)

func newTranslator(s settings) *translator {
	return &translator{set: s, requests: map[string]*request{}}
}

// name is the name of the turn that runs, or "".
func (t *translator) name() string {
	if t.turn == nil {
		return ""
	}
	return t.turn.name
}

// item makes a name for a message or a terminal.
func (t *translator) item(kind string) string {
	t.items++
	return t.set.prefix + kind + "-" + strconv.Itoa(t.items)
}

// message handles one frame of the agent's.
func (t *translator) message(m jsonrpc.Message) {
	switch m.Kind {
	case jsonrpc.Response:
		t.response(m)
	case jsonrpc.Request:
		t.request(m)
	case jsonrpc.Notification:
		t.notification(m)
	default:
		t.garbage(m.Line)
	}
}

// garbage reports a line that is no message, such as an error without an id.
// The conversation continues.
func (t *translator) garbage(line []byte) {
	var e struct {
		Error *jsonrpc.Error `json:"error"`
	}
	if json.Unmarshal(line, &e) == nil && e.Error != nil {
		t.content(core.ProviderError{Message: "The agent reported an error that names no request: " + errorText(e.Error),
			Code: "error_without_id", WillRetry: true}, json.RawMessage(line))
		return
	}
	t.event("garbage", ndjson.Quote(line))
}

// content reports something of the turn that runs, or of the session.
func (t *translator) content(p core.Payload, raw json.RawMessage) {
	t.Notice(core.Content{Turn: t.name(), Payload: p, Raw: raw})
}

// event keeps a frame that has no place in the vocabulary. Without a turn it
// names the one that it followed.
func (t *translator) event(kind string, raw json.RawMessage) {
	e := core.ProviderEvent{Kind: kind, Data: raw}
	if t.turn == nil && t.phase == live {
		e.TurnID = t.last
	}
	t.content(e, raw)
}

// broken reports a known message whose body cannot be read. The decoder's
// error is left out: it may quote the message.
func (t *translator) broken(what string, raw json.RawMessage) {
	t.content(core.ProviderError{Message: "The agent sent a message that cannot be read: " + what,
		Code: "unreadable_message", WillRetry: true}, raw)
}

// response handles the answer to a call of ours.
func (t *translator) response(m jsonrpc.Message) {
	if m.Call == nil {
		t.event("response without a request", m.Raw)
		return
	}
	switch tag := m.Call.Tag.(type) {
	case promptTag:
		t.promptResponse(tag.turn, m)
	case effortTag:
		t.effortResponse(tag.turn, m)
	case settingTag:
		t.settingResponse(tag.change, m)
	}
}

// request handles a request of the agent's. What nobody here can answer is
// refused at once, so that the agent never waits.
func (t *translator) request(m jsonrpc.Message) {
	switch m.Method {
	case wire.RequestPermission:
		t.permission(m)
	case wire.ReadTextFile, wire.WriteTextFile, wire.TerminalCreate, wire.TerminalOutput, wire.TerminalWait,
		wire.TerminalKill, wire.TerminalKillOld, wire.TerminalRelease:
		t.event(m.Method, m.Raw)
		t.asked = append(t.asked, clientRequest{m.ID, m.Method, m.Params})
	default:
		t.Refuse(m.ID, jsonrpc.CodeMethodNotFound, "harness-mcp does not answer "+m.Method)
		t.event(m.Method, m.Raw)
	}
}

// notification handles one that wants no answer.
func (t *translator) notification(m jsonrpc.Message) {
	if m.Method != wire.SessionUpdate {
		t.event(m.Method, m.Raw)
		return
	}
	var p wire.UpdateParams
	var kind wire.UpdateKind
	if json.Unmarshal(m.Params, &p) != nil || json.Unmarshal(p.Update, &kind) != nil {
		t.broken(m.Method, m.Raw)
		return
	}
	if t.session != "" && p.SessionID != "" && p.SessionID != t.session {
		t.event("of another session: "+kind.Kind, m.Raw)
		return
	}
	t.update(kind.Kind, json.RawMessage(p.Update), m.Raw)
}
