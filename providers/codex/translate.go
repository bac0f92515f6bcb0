package codex

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// translator turns frames into notices and ops into frames. It is pure: what
// it wants done is in its CallOutput.
type translator struct {
	link.CallOutput
	set    settings
	thread string

	start    *starting           // a StartTurn without its response
	turns    map[string]*turn    // open, by Codex's id
	active   *turn               // the open one that began last
	past     []*turn             // ended, newest last, for what comes late
	requests map[string]*request // open, by our ref
	limits   string              // the last rate limits reported
	usage    *core.Usage         // of the thread
}

// settings are those of a session, as Configure may change them.
type settings struct {
	modes
	model   string // "" until Configure names one
	effort  string
	addDirs []string
	schema  json.RawMessage
	policy  *wire.SandboxPolicy // that the thread began with
	changed bool                // by Configure: turns have to carry the modes

	// inside reports whether a file is in the workspace. It may read links.
	inside func(path string) bool
}

// starting is a StartTurn that has no turn yet.
type starting struct {
	op   core.StartTurn
	sent bool // else it waits for the end of a turn of Codex's own
	ref  string
}

// Tags identify what a response is for.
type (
	startTag     struct{ op core.OpID }
	steerTag     struct{ op core.OpID }
	interruptTag struct {
		ref   string
		early bool // sent before turn/started
	}
	listTag      struct{ ref string }
	terminateTag struct{ ref, item string }
)

func newTranslator(s settings) *translator {
	return &translator{set: s, turns: map[string]*turn{}, requests: map[string]*request{}}
}

// opened handles the response to thread/start and its like.
func (t *translator) opened(r wire.ThreadResponse) {
	t.thread = r.Thread.ID
	t.set.policy = r.Sandbox
	if t.set.effort == "" {
		t.set.effort = r.ReasoningEffort
	}
}

// message handles one frame of Codex's.
func (t *translator) message(m jsonrpc.Message) {
	switch m.Kind {
	case jsonrpc.Response:
		t.response(m)
	case jsonrpc.Request:
		t.request(m)
	case jsonrpc.Notification:
		t.notification(m)
	default: // the conversation continues
		t.event("garbage", ndjson.Quote(m.Line))
	}
}

// event keeps a frame that has no place in the vocabulary.
func (t *translator) event(kind string, raw json.RawMessage) {
	turn := ""
	if t.active != nil {
		turn = t.active.name()
	}
	t.Notice(core.Content{Turn: turn, Payload: core.ProviderEvent{Kind: kind, Data: raw}, Raw: raw})
}

// broken reports a known message whose body cannot be read. The decoder's
// error is left out: it may quote the message.
func (t *translator) broken(m jsonrpc.Message) {
	turn := ""
	if t.active != nil {
		turn = t.active.name()
	}
	t.Notice(core.Content{Turn: turn, Raw: m.Raw, Payload: core.ProviderError{
		Message: "Codex sent a message that cannot be read: " + m.Method, Code: "unreadable_message", WillRetry: true}})
}

// response handles the answer to a call of ours.
func (t *translator) response(m jsonrpc.Message) {
	if m.Call == nil {
		t.event("response without a request", m.Raw)
		return
	}
	switch tag := m.Call.Tag.(type) {
	case startTag:
		t.startResponse(tag, m)
	case steerTag:
		t.OpDone(tag.op, "", rejection(m.Error), m.Raw)
	case interruptTag:
		t.interruptResponse(tag, m)
	case listTag:
		t.listResponse(tag, m)
	case terminateTag:
		t.terminateResponse(tag, m)
	}
}

// rejection turns an error response into that of an op; nil stays nil.
func rejection(e *jsonrpc.Error) *core.Error {
	if e == nil {
		return nil
	}
	return core.Errorf(core.TurnRejected, "Codex refused it: %s", e.Message)
}

// request handles a request of Codex's. What nobody here can answer is refused at
// once, so that Codex never waits.
func (t *translator) request(m jsonrpc.Message) {
	switch m.Method {
	case wire.CommandApproval, wire.FileChangeApproval, wire.PermissionApproval, wire.RequestUserInput, wire.Elicitation:
		t.raise(m)
	case wire.AuthTokensRefresh, wire.Attestation:
		t.unauthenticated(m)
	default:
		t.Refuse(m.ID, jsonrpc.CodeMethodNotFound, "harness-mcp does not answer "+m.Method)
		t.event(m.Method, m.Raw)
	}
}

// unauthenticated ends the turn and the link: Codex wants credentials that only
// its own sign-in has, and would continue asking.
func (t *translator) unauthenticated(m jsonrpc.Message) {
	t.Refuse(m.ID, jsonrpc.CodeMethodNotFound, "harness-mcp has no credentials to give")
	why := core.TurnError{Code: core.TurnAuthRequired, Message: "Codex asked its client for credentials (" + m.Method + "). Sign in with `" + login + "`."}
	for _, u := range t.openTurns() {
		t.finish(u, core.VerdictFailed, core.Result{Error: &why}, m.Raw)
	}
	t.Fatal = core.Errorf(core.CodeSessionUnavailable, "%s", why.Message)
}

// scope returns the turn that a message belongs to; own is false for another thread
// (a sub-agent's).
func (t *translator) scope(raw json.RawMessage) (ref string, own bool) {
	var s wire.Scope
	if json.Unmarshal(raw, &s) != nil {
		return "", true
	}
	ref = s.TurnID
	if s.Turn != nil {
		ref = s.Turn.ID
	}
	return ref, s.ThreadID == "" || t.thread == "" || s.ThreadID == t.thread
}

// Lost closes what is open when the link ends before the turn.
func (t *translator) Lost() {
	for _, u := range t.openTurns() {
		t.closeItems(u)
	}
}
