package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// anyFrame is a recorded message.
type anyFrame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`
}

// replayer plays a recorded conversation: the client's messages as the ops that
// they stand for, the agent's as frames. Everything the translator wants is
// written down and goes through the watch that every provider must pass.
type replayer struct {
	t       *testing.T
	tr      *translator
	watch   *providertest.Watch
	log     strings.Builder
	ops     core.OpID
	turns   int
	sent    []any                    // tags of prompts, without their recorded id yet
	calls   map[string]*jsonrpc.Call // by recorded id
	opening map[string]string        // methods of the opening, by recorded id
	asked   map[string]core.RequestRaised
	options map[string][]wire.PermissionOption
}

func newReplayer(t *testing.T, a Agent) *replayer {
	s := settings{agent: a, approval: core.ApprovalDefault, inside: func(string) bool { return false }}
	return &replayer{t: t, tr: newTranslator(s), watch: providertest.NewWatch(core.Ready{}), calls: map[string]*jsonrpc.Call{},
		opening: map[string]string{}, asked: map[string]core.RequestRaised{}, options: map[string][]wire.PermissionOption{}}
}

func (r *replayer) nextOp() core.OpID { r.ops++; return r.ops }

// op passes an op to the translator, as Conn.Send does.
func (r *replayer) op(op core.Op) {
	r.watch.Sending(op)
	link.Do(r.tr, op)
	r.drain()
}

// drain writes down what the translator wants, and plays the pipe: every frame
// is in it at once.
func (r *replayer) drain() {
	r.t.Helper()
	for more := true; more; {
		out := r.tr.Take()
		asked := r.tr.asked
		r.tr.asked = nil
		more = len(out.Frames)+len(asked) > 0
		for _, timer := range out.Timers {
			if timer.Name == "settle" {
				timer.Fire() // the recorded client waited long enough
			}
		}
		for _, n := range out.Notices {
			fmt.Fprintln(&r.log, conntest.Brief(n))
			if err := r.watch.See(n); err != nil {
				r.t.Error(err)
			}
			if q, ok := n.(core.RequestRaised); ok {
				r.asked[q.Ref] = q
			}
		}
		for _, f := range out.Frames {
			switch {
			case f.Kind == jsonrpc.Request:
				if f.Method == wire.SessionPrompt {
					r.sent = append(r.sent, f.Tag)
				}
				fmt.Fprintf(&r.log, "-> %s %s\n", f.Method, conntest.JSON(f.Params))
			case f.Kind == jsonrpc.Notification:
				fmt.Fprintf(&r.log, "-> %s\n", f.Method)
			case f.Error != nil:
				fmt.Fprintf(&r.log, "-> refuse %s: %s\n", f.ID, f.Error.Message)
			default:
				fmt.Fprintf(&r.log, "-> answer %s: %s\n", f.ID, conntest.JSON(f.Params))
			}
			if f.Written != nil {
				f.Written()
			}
		}
		for _, j := range asked {
			fmt.Fprintf(&r.log, "job %s\n", j.method)
			r.tr.answerClient(j.id, clientAnswer{result: struct{}{}})
		}
	}
}

func (r *replayer) play(line conntest.Line) {
	var f anyFrame
	if json.Unmarshal(line.Msg, &f) != nil {
		if line.Dir == "<-" {
			r.tr.message(jsonrpc.Message{Kind: jsonrpc.Invalid, Line: line.Msg})
			r.drain()
		}
		return
	}
	if line.Dir == "->" {
		r.client(f)
		return
	}
	r.agent(f, line.Msg)
}

// client plays a message of the recorded client's.
func (r *replayer) client(f anyFrame) {
	switch f.Method {
	case wire.Initialize, wire.SessionNew, wire.SessionLoad, wire.SessionResume:
		r.opening[string(f.ID)] = f.Method
		if f.Method == wire.SessionLoad && r.tr.session == "" {
			r.tr.phase = history
		}
	case wire.SessionPrompt:
		var p wire.PromptParams
		if json.Unmarshal(f.Params, &p) != nil || len(p.Prompt) == 0 {
			return
		}
		r.turns++
		r.op(core.StartTurn{ID: r.nextOp(), TurnID: fmt.Sprintf("turn-%d", r.turns), Input: core.TurnInput{Prompt: p.Prompt[0].Text}})
		if len(r.sent) > 0 {
			r.calls[string(f.ID)] = &jsonrpc.Call{Method: f.Method, Tag: r.sent[0]}
			r.sent = r.sent[1:]
		}
	case wire.SessionCancel:
		r.op(core.Interrupt{ID: r.nextOp(), TurnID: fmt.Sprintf("turn-%d", r.turns)})
	case "":
		r.answer(f)
	}
}

// answer plays a recorded answer as the response that leads to it. An error,
// or an option that does not exist, stands for a refusal: this adapter gives
// neither.
func (r *replayer) answer(f anyFrame) {
	q, ok := r.asked[string(f.ID)]
	if !ok {
		return
	}
	delete(r.asked, string(f.ID))
	var a wire.PermissionResult
	_ = json.Unmarshal(f.Result, &a)
	res := core.Response{Action: core.ActionDeny}
	if a.Outcome.Outcome == wire.Cancelled {
		res.Action = core.ActionCancel
	}
	for _, o := range r.options[q.Ref] {
		if o.OptionID != a.Outcome.OptionID {
			continue
		}
		switch o.Kind {
		case wire.AllowOnce:
			res = core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}
		case wire.AllowAlways:
			res = core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}
		}
	}
	r.op(core.Respond{ID: r.nextOp(), Ref: q.Ref, Response: res})
}

// agent plays a message of the agent's.
func (r *replayer) agent(f anyFrame, raw json.RawMessage) {
	m := jsonrpc.Message{Kind: jsonrpc.Notification, ID: f.ID, Method: f.Method, Params: f.Params, Result: f.Result, Error: f.Error, Raw: raw}
	hasID := len(f.ID) > 0 && string(f.ID) != "null"
	switch {
	case f.Method != "" && hasID:
		m.Kind = jsonrpc.Request
		var p wire.PermissionParams
		if json.Unmarshal(f.Params, &p) == nil {
			r.options[string(f.ID)] = p.Options
		}
	case f.Method == "" && !hasID:
		m = jsonrpc.Message{Kind: jsonrpc.Invalid, Line: raw}
	case f.Method == "":
		m.Kind, m.Call = jsonrpc.Response, r.calls[string(f.ID)]
		delete(r.calls, string(f.ID))
		if m.Call == nil {
			r.opened(r.opening[string(f.ID)], f.Result)
			return // to a message that no op stands for
		}
	}
	r.tr.message(m)
	r.drain()
}

// opened handles an answer of the opening.
func (r *replayer) opened(method string, raw json.RawMessage) {
	switch method {
	case wire.Initialize:
		var i wire.InitializeResult
		if err := json.Unmarshal(raw, &i); err != nil {
			r.t.Error(err)
		}
		r.tr.caps = i.AgentCapabilities
	case wire.SessionNew, wire.SessionLoad, wire.SessionResume:
		var s wire.SessionResult
		if json.Unmarshal(raw, &s) != nil || r.tr.session != "" {
			return // a second session is not this translator's
		}
		r.tr.session, r.tr.offers, r.tr.phase = s.SessionID, readOffers(s), live
		fmt.Fprintf(&r.log, "opened: mode %q, model %q, effort %q\n", r.tr.offers.mode, r.tr.offers.currentModel(), r.tr.offers.currentEffort())
	}
}

// rowOf returns the row of the agent that a recording is of.
func rowOf(t *testing.T, file string) Agent {
	t.Helper()
	name, _, _ := strings.Cut(filepath.Base(file), "-")
	if own := map[string]string{"claude": "claude-acp", "codex": "codex-acp"}[name]; own != "" {
		name = own
	}
	a, ok := named(Agents(), name)
	if !ok {
		t.Fatalf("%s is of no known agent", file)
	}
	return a
}

func TestRecordedConversationsTranslate(t *testing.T) {
	conntest.Golden(t, func(t *testing.T, file string) string {
		r := newReplayer(t, rowOf(t, file))
		for _, line := range conntest.ReadRecording(t, file) {
			r.play(line)
		}
		return r.log.String()
	})
}

// FuzzNoFrameBreaksTheRules puts any frame into a conversation at any place.
// Whatever an agent sends, the notices keep to the rules.
func FuzzNoFrameBreaksTheRules(f *testing.F) {
	const prompt = `{"dir":"->","msg":{"id":1,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"x"}]}}}` + "\n"
	const end = `{"dir":"<-","msg":{"id":1,"result":{"stopReason":"end_turn"}}}` + "\n"
	for _, updates := range []string{
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`,
		`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"execute","status":"pending","rawInput":{}}` + "\n" +
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":[{"type":"diff","path":"/f","oldText":null,"newText":"x"}]}`,
		`{"sessionUpdate":"plan","entries":[{"content":"a","status":"pending"}]}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"model","category":"model","currentValue":"m","options":[{"value":"m"}]}]}`,
		`{"sessionUpdate":"usage_update","cost":{"amount":1,"currency":"USD"}}`,
	} {
		seed := prompt
		for u := range strings.Lines(updates) {
			seed += `{"dir":"<-","msg":{"method":"session/update","params":{"sessionId":"s","update":` + strings.TrimSpace(u) + "}}}\n"
		}
		f.Add([]byte(seed + end))
	}
	f.Add([]byte(prompt + `{"dir":"<-","msg":{"id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","kind":"allow_once"}]}}}` +
		"\n" + `{"dir":"->","msg":{"id":0,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}}` + "\n" + end))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, _ := named(Agents(), "copilot")
		r := newReplayer(t, a)
		r.tr.session, r.tr.phase = "s", live
		for line := range strings.Lines(string(raw)) {
			var rec conntest.Line
			if json.Unmarshal([]byte(line), &rec) != nil || len(rec.Msg) == 0 {
				continue
			}
			r.play(rec)
		}
		r.tr.Lost()
		r.drain()
	})
}
