package codex

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// frameOf is a recorded message of the client's.
type frameOf struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// replayer plays a recorded conversation: the client's messages as the ops that
// they stand for, Codex's as frames. A line "thread" is the response to
// thread/start and its like, "process" the end of Codex and the begin of another
// one with a conversation of its own. Everything the translator wants is written
// down and goes through the watch that every provider must pass.
type replayer struct {
	t      *testing.T
	tr     *translator
	watch  *providertest.Watch
	log    strings.Builder
	ops    core.OpID
	turns  int
	sent   map[string][]any              // tags by method, without their recorded id yet
	calls  map[string]*jsonrpc.Call      // by recorded id
	open   map[string]core.RequestRaised // by ref
	armed  bool
	failed error
}

func newReplayer(t *testing.T, s settings) *replayer {
	s.modes = s.modes.normal()
	if s.inside == nil {
		s.inside = func(string) bool { return true }
	}
	return &replayer{t: t, tr: newTranslator(s), watch: providertest.NewWatch(core.Ready{}), sent: map[string][]any{},
		calls: map[string]*jsonrpc.Call{}, open: map[string]core.RequestRaised{}}
}

func (r *replayer) nextOp() core.OpID { r.ops++; return r.ops }

// op passes an op to the translator, as Conn.Send does.
func (r *replayer) op(op core.Op) {
	r.watch.Sending(op)
	link.Do(r.tr, op)
	r.drainOutput()
}

func (r *replayer) drainOutput() {
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
	for _, f := range out.Frames {
		switch {
		case f.Kind == jsonrpc.Request:
			r.sent[f.Method] = append(r.sent[f.Method], f.Tag)
			fmt.Fprintf(&r.log, "-> %s %s\n", f.Method, conntest.JSON(f.Params))
		case f.Error != nil:
			fmt.Fprintf(&r.log, "-> refuse %s: %s\n", f.ID, f.Error.Message)
		default:
			fmt.Fprintf(&r.log, "-> answer %s: %s\n", f.ID, conntest.JSON(f.Params))
		}
	}
	r.armed = r.armed || len(out.Timers) > 0
	if out.Fatal != nil {
		r.failed = out.Fatal
		fmt.Fprintf(&r.log, "fatal: %v\n", out.Fatal)
	}
}

func (r *replayer) play(line conntest.Line) {
	switch line.Dir {
	case "thread":
		var th wire.ThreadResponse
		if err := json.Unmarshal(line.Msg, &th); err != nil {
			r.t.Fatal(err)
		}
		r.tr.opened(th)
	case "->":
		r.expireDrain()
		r.client(line.Msg)
	case "<-":
		r.server(line.Msg)
	}
}

// expireDrain plays the timer, where Codex did not report what became of a command.
func (r *replayer) expireDrain() {
	if r.armed {
		r.armed = false
		r.tr.drainExpired()
		r.drainOutput()
	}
}

// client plays a message of the recorded client's.
func (r *replayer) client(raw json.RawMessage) {
	var f frameOf
	if err := json.Unmarshal(raw, &f); err != nil {
		r.t.Fatal(err)
	}
	var p struct {
		Input []wire.UserInput `json:"input"`
	}
	_ = json.Unmarshal(f.Params, &p)
	prompt := ""
	if len(p.Input) > 0 { // Codex takes none at all
		prompt = p.Input[0].Text
	}
	turn := fmt.Sprintf("turn-%d", r.turns)
	if f.Method == wire.TurnStart && len(r.tr.turns) > 0 {
		f.Method = wire.TurnSteer // Codex makes that of it
	}
	switch f.Method {
	case wire.TurnStart:
		r.turns++
		r.op(core.StartTurn{ID: r.nextOp(), TurnID: fmt.Sprintf("turn-%d", r.turns), Input: core.TurnInput{Prompt: prompt}})
	case wire.TurnSteer:
		r.op(core.Steer{ID: r.nextOp(), TurnID: turn, Input: core.TurnInput{Prompt: prompt}})
	case wire.TurnInterrupt:
		r.op(core.Interrupt{ID: r.nextOp(), TurnID: turn})
	case "":
		r.answer(f)
	}
	if tags := r.sent[f.Method]; len(tags) > 0 {
		r.calls[string(f.ID)] = &jsonrpc.Call{Method: f.Method, Tag: tags[0]}
		r.sent[f.Method] = tags[1:]
	}
}

// answer plays a recorded answer to a request of Codex's as the response that
// leads to it.
func (r *replayer) answer(f frameOf) {
	q, ok := r.open[string(f.ID)]
	if !ok {
		return
	}
	delete(r.open, string(f.ID))
	var a struct {
		Decision any                             `json:"decision"`
		Answers  map[string]wire.UserInputAnswer `json:"answers"`
		Action   string                          `json:"action"`
		Content  json.RawMessage                 `json:"content"`
		Scope    string                          `json:"scope"`
		Perms    map[string]any                  `json:"permissions"`
	}
	_ = json.Unmarshal(f.Result, &a)
	res := core.Response{Action: core.ActionDeny}
	switch {
	case a.Decision == wire.Accept || a.Scope == "turn" && len(a.Perms) > 0:
		res = core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}
	case a.Decision == wire.AcceptForSession:
		res = core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}
	case a.Decision == wire.Cancel || a.Action == "cancel":
		res = core.Response{Action: core.ActionCancel}
	case a.Action == "accept" && q.Spec.Kind == core.KindMCPElicitation:
		res = core.Response{Action: core.ActionAnswer, Content: a.Content}
	case a.Action == "accept":
		res = core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}
	case q.Spec.Kind == core.KindQuestion:
		res = core.Response{Action: core.ActionAnswer, Answers: map[string][]string{}}
		for id, v := range a.Answers {
			res.Answers[id] = v.Answers
		}
	}
	r.op(core.Respond{ID: r.nextOp(), Ref: q.Ref, Response: res})
}

// server plays a message of Codex's, or a line that is none.
func (r *replayer) server(raw json.RawMessage) {
	var line string
	if json.Unmarshal(raw, &line) != nil {
		line = string(raw)
	}
	peer := jsonrpc.NewPeer(strings.NewReader(line+"\n"), nopCloser{io.Discard}, jsonrpc.Options{})
	defer peer.Close()
	m, err := peer.Recv()
	if err != nil {
		r.t.Fatal(err)
	}
	if m.Kind == jsonrpc.Response {
		if m.Call = r.calls[string(m.ID)]; m.Call == nil {
			return // to a message that no op stands for
		}
	}
	r.tr.message(m)
	r.drainOutput()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// finish plays the end of the process.
func (r *replayer) finish() {
	r.expireDrain()
	r.tr.Lost()
	r.drainOutput()
}

// replay plays the conversations of a file and returns their notices.
func replay(t *testing.T, file string) string {
	var log strings.Builder
	r := newReplayer(t, settings{})
	for _, line := range conntest.ReadRecording(t, file) {
		if line.Dir == "process" {
			r.finish()
			log.WriteString(r.log.String() + "-- the process ended\n")
			r = newReplayer(t, settings{})
			continue
		}
		r.play(line)
	}
	r.finish()
	return log.String() + r.log.String()
}

func TestRecordedConversationsTranslate(t *testing.T) { conntest.Golden(t, replay) }
