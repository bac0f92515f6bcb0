package pi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// spoken is a recorded record of the client's.
type spoken struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"`
	Message   string  `json:"message"`
	Provider  string  `json:"provider"`
	ModelID   string  `json:"modelId"`
	Level     string  `json:"level"`
	Value     *string `json:"value"`
	Confirmed *bool   `json:"confirmed"`
}

// replayer plays a recorded conversation: the client's records as the ops that
// they stand for, Pi's as they are. Everything the translator wants is written
// down and goes through the watch that every provider must pass.
type replayer struct {
	t     *testing.T
	tr    *translator
	watch *providertest.Watch
	log   strings.Builder
	ops   core.OpID
	turns int
	sent  map[string][]string // ids of the translator's commands by type, without their recorded id yet
	ids   map[string]string   // the translator's ids, by recorded id
	open  map[string]core.RequestRaised
}

func newReplayer(t *testing.T) *replayer {
	return &replayer{t: t, watch: providertest.NewWatch(core.Ready{}), sent: map[string][]string{}, ids: map[string]string{},
		open: map[string]core.RequestRaised{},
		tr:   newTranslator(settings{mode: core.ApprovalDefault, channel: testChannel, inside: func(string) bool { return true }})}
}

// testChannel stands for the gate's name in recordings.
const testChannel = "harness-mcp-gate-recorded"

func (r *replayer) nextOp() core.OpID { r.ops++; return r.ops }

// op passes an op to the translator, as Conn.Send does.
func (r *replayer) op(op core.Op) {
	r.watch.Sending(op)
	link.Do(r.tr, op)
	r.drain()
}

func (r *replayer) drain() {
	r.t.Helper()
	for {
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
		if out.Fatal != nil {
			r.t.Errorf("given up: %v", out.Fatal)
		}
		if len(out.Frames) == 0 {
			return
		}
		for _, l := range out.Frames {
			fmt.Fprintf(&r.log, "-> %s\n", conntest.JSON(l.Value))
			if c, ok := l.Value.(wire.Command); ok {
				r.sent[c.Type] = append(r.sent[c.Type], c.ID)
			}
			if l.Written != nil {
				l.Written()
			}
		}
	}
}

// running is the turn that an op may name.
func (r *replayer) running() string { return r.tr.name() }

// client plays a record of the recorded client's.
func (r *replayer) client(raw json.RawMessage) {
	var s spoken
	if json.Unmarshal(raw, &s) != nil {
		return // garbage, which the adapter never sends
	}
	switch {
	case s.Type == wire.Prompt && r.running() == "" && s.Message != "":
		r.turns++
		r.op(core.StartTurn{ID: r.nextOp(), TurnID: fmt.Sprintf("turn-%d", r.turns), Input: core.TurnInput{Prompt: strings.TrimPrefix(s.Message, "\n")}})
	case s.Type == wire.Steer && r.running() != "":
		r.op(core.Steer{ID: r.nextOp(), TurnID: r.running(), Input: core.TurnInput{Prompt: s.Message}})
	case s.Type == wire.Abort && r.running() != "" && !r.tr.turn.stopping:
		r.op(core.Interrupt{ID: r.nextOp(), TurnID: r.running()})
	case s.Type == wire.SetModel:
		r.op(core.Configure{ID: r.nextOp(), Changes: core.Changes{Model: s.Provider + "/" + s.ModelID}})
	case s.Type == wire.SetThinkingLevel:
		r.op(core.Configure{ID: r.nextOp(), Changes: core.Changes{ReasoningEffort: s.Level}})
	case s.Type == wire.TypeDialogResponse:
		r.answer(s)
	}
	if ids := r.sent[s.Type]; len(ids) > 0 {
		r.ids[s.ID], r.sent[s.Type] = ids[0], ids[1:]
	}
}

// unrecorded answers, once their turn is over, the commands that the recorded
// client did not send.
func (r *replayer) unrecorded() {
	for _, c := range []string{wire.ClearQueue, wire.Abort, wire.GetState} {
		for len(r.sent[c]) > 0 && r.running() == "" {
			id := r.sent[c][0]
			r.sent[c] = r.sent[c][1:]
			r.tr.read([]byte(`{"id":"` + id + `","type":"response","command":"` + c + `","success":true,"data":{}}`))
			r.drain()
		}
	}
}

// answer plays a recorded answer to a dialog as the response that leads to it.
func (r *replayer) answer(s spoken) {
	q, ok := r.open[s.ID]
	if !ok || r.tr.dialogs[s.ID] == nil {
		return
	}
	res := core.Response{Action: core.ActionDeny}
	switch {
	case s.Value != nil && q.Spec.Kind == core.KindQuestion:
		res = core.Response{Action: core.ActionAnswer, Answers: map[string][]string{questionID: {*s.Value}}}
	case s.Value != nil && *s.Value == gateAllow, s.Confirmed != nil && *s.Confirmed:
		res = core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}
	case s.Value != nil:
		res.Reason = "not now"
	case s.Confirmed == nil:
		res = core.Response{Action: core.ActionCancel}
	}
	r.op(core.Respond{ID: r.nextOp(), Ref: q.Ref, Response: res})
}

// pi plays a record of Pi's, with the translator's id for the recorded one.
func (r *replayer) pi(raw json.RawMessage) {
	var s spoken
	_ = json.Unmarshal(raw, &s)
	if s.Type == wire.TypeResponse && s.ID != "" {
		id, ours := r.ids[s.ID]
		if !ours && r.tr.calls[s.ID].command == "" {
			return // to a command that no op stands for
		}
		if ours {
			var m map[string]json.RawMessage
			_ = json.Unmarshal(raw, &m)
			m["id"] = json.RawMessage(`"` + id + `"`)
			raw, _ = json.Marshal(m)
		}
	}
	r.tr.read(raw)
	r.drain()
}

func TestRecordedConversationsTranslate(t *testing.T) {
	conntest.Golden(t, func(t *testing.T, file string) string {
		r := newReplayer(t)
		for _, line := range conntest.ReadRecording(t, file) {
			if line.Dir == "->" {
				r.client(line.Msg)
			} else {
				r.pi(line.Msg)
			}
			r.unrecorded()
		}
		r.tr.Lost()
		r.drain()
		return r.log.String()
	})
}
