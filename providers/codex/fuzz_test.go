package codex

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// FuzzTranslatorKeepsItsPromises plays whatever lines a broken Codex may write
// while a turn is being started, runs and is interrupted.
func FuzzTranslatorKeepsItsPromises(f *testing.F) {
	for _, file := range conntest.Recordings(f) {
		var said []string
		for _, line := range conntest.ReadRecording(f, file) {
			if line.Dir == "<-" && len(said) < 40 {
				said = append(said, string(line.Msg))
			}
		}
		f.Add(strings.Join(said, "\n"))
	}
	f.Add(`{"method":"turn/started","params":{"turn":{"id":"t"}}}` + "\n" + `{"id":1,"result":{"turn":{"id":"t"}}}`)
	f.Fuzz(func(t *testing.T, said string) {
		r := newReplayer(t, settings{})
		r.tr.opened(wire.ThreadResponse{})
		r.op(core.StartTurn{ID: r.nextOp(), TurnID: "trn_1"})
		lines := strings.Split(said, "\n")
		for i, line := range lines {
			if i == len(lines)/2 {
				r.op(core.Interrupt{ID: r.nextOp(), TurnID: "trn_1"})
			}
			if i == len(lines)*3/4 {
				r.expireDrain()
			}
			r.anyLine([]byte(line))
			if r.failed != nil {
				return
			}
		}
		r.tr.Lost()
		r.drainOutput()
	})
}

// anyLine plays a line as the peer would return it; a response answers the oldest
// open call of ours.
func (r *replayer) anyLine(line []byte) {
	var m jsonrpc.Message
	var e struct {
		frameOf
		Error *jsonrpc.Error `json:"error"`
	}
	switch err := json.Unmarshal(line, &e); {
	case err != nil:
		m = jsonrpc.Message{Kind: jsonrpc.Invalid, Line: line}
	case e.Method != "" && len(e.ID) > 0:
		m = jsonrpc.Message{Kind: jsonrpc.Request}
	case e.Method != "":
		m = jsonrpc.Message{Kind: jsonrpc.Notification}
	default:
		m = jsonrpc.Message{Kind: jsonrpc.Response}
		for _, method := range []string{wire.TurnStart, wire.TurnInterrupt, wire.TerminalsList, wire.TerminalTerminate} {
			if tags := r.sent[method]; len(tags) > 0 {
				m.Call = &jsonrpc.Call{Method: method, Tag: tags[0]}
				r.sent[method] = tags[1:]
				break
			}
		}
	}
	if m.Kind != jsonrpc.Invalid {
		m.ID, m.Method, m.Params, m.Result, m.Error, m.Raw = e.ID, e.Method, e.Params, e.Result, e.Error, line
	}
	r.tr.message(m)
	r.drainOutput()
}
