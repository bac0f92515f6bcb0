package claude

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// fuzzer plays lines of the CLI's, between ops, and checks the notices against
// the rules of every provider.
type fuzzer struct {
	t     *testing.T
	tr    *translator
	watch *providertest.Watch
	ops   core.OpID
	turns int
	refs  []string
}

func newFuzzer(t *testing.T) *fuzzer {
	f := &fuzzer{t: t, watch: providertest.NewWatch(core.Ready{})}
	n := 0
	f.tr = newTranslator(settings{
		newID: func() string { n++; return fmt.Sprintf("uuid-%d", n) }, exists: func(string) bool { return true },
	})
	return f
}

func (f *fuzzer) drain() {
	f.t.Helper()
	out := f.tr.Take()
	for _, n := range out.Notices {
		if err := f.watch.See(n); err != nil {
			f.t.Fatalf("%v\n  at %s", err, conntest.Brief(n))
		}
		if q, ok := n.(core.RequestRaised); ok {
			f.refs = append(f.refs, q.Ref)
		}
	}
	for _, l := range out.Frames {
		if _, err := encoded(l.Value); err != nil {
			f.t.Fatalf("a line that cannot be written: %v", err)
		}
		if l.Written != nil {
			l.Written()
		}
	}
	if len(out.Frames) > 0 {
		f.drain()
	}
}

// op plays the op that a byte stands for.
func (f *fuzzer) op(b byte) {
	f.ops++
	turn := fmt.Sprintf("turn-%d", f.turns)
	var op core.Op
	switch b % 8 {
	case 0:
		f.turns++
		op = core.StartTurn{ID: f.ops, TurnID: fmt.Sprintf("turn-%d", f.turns), Input: core.TurnInput{Prompt: "/clear @file"}}
	case 1:
		op = core.Steer{ID: f.ops, TurnID: turn, Input: core.TurnInput{Prompt: "steer"}}
	case 2:
		op = core.Interrupt{ID: f.ops, TurnID: turn}
	case 3:
		op = core.Configure{ID: f.ops, Changes: core.Changes{Model: "m", ApprovalMode: core.ApprovalAutoEdit}}
	case 4:
		f.tr.stall()
		f.drain()
		return
	default:
		ref := "nobody"
		if len(f.refs) > 0 {
			ref = f.refs[int(b)%len(f.refs)]
		}
		action := []core.Action{core.ActionApprove, core.ActionDeny, core.ActionCancel, core.ActionAnswer}[b/8%4]
		op = core.Respond{ID: f.ops, Ref: ref, Response: core.Response{Action: action, Scope: core.ScopeSession}}
	}
	f.watch.Sending(op)
	link.Do(f.tr, op)
	f.drain()
}

// Lines that the seeds are made of.
const (
	seedInit     = `{"type":"system","subtype":"init","session_id":"s","model":"m"}`
	seedStarted  = `{"type":"command_lifecycle","command_uuid":"uuid-1","state":"started"}`
	seedStarted2 = `{"type":"command_lifecycle","command_uuid":"uuid-2","state":"started"}`
	seedGone     = `{"type":"command_lifecycle","command_uuid":"uuid-1","state":"cancelled"}`
	seedMessage  = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}`
	seedText     = `{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text"}}}`
	seedDelta    = `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"ab"}}}`
	seedThought  = `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"ab"}}}`
	seedWhole    = `{"type":"assistant","uuid":"a","message":{"id":"m1","content":[{"type":"text","text":"abc"}]}}`
	seedTool     = `{"type":"assistant","uuid":"b","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}`
	seedSub      = `{"type":"assistant","parent_tool_use_id":"t1","message":{"content":[{"type":"text","text":"sub"}]}}`
	seedDone     = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 1\nx","is_error":true}]}}`
	seedWrote    = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]},"tool_use_result":{"type":"update","filePath":"/f","structuredPatch":[{"oldStart":1,"lines":["+a"]}]}}`
	seedAsk      = `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t1","permission_suggestions":[{"type":"addRules","rules":[{}],"behavior":"allow"}]}}`
	seedAgentAsk = `{"type":"control_request","request_id":"r2","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"f"},"agent_id":"g"}}`
	seedForm     = `{"type":"control_request","request_id":"r3","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"q","options":[{"label":"l"}]}]}}}`
	seedElicit   = `{"type":"control_request","request_id":"r4","request":{"subtype":"elicitation","message":"m"}}`
	seedHook     = `{"type":"control_request","request_id":"r5","request":{"subtype":"hook_callback"}}`
	seedCancel   = `{"type":"control_cancel_request","request_id":"r1"}`
	seedReply    = `{"type":"control_response","response":{"subtype":"success","request_id":"h1","response":{"cancelled":["uuid-1"]}}}`
	seedError    = `{"type":"control_response","response":{"subtype":"error","request_id":"h1","error":"no"}}`
	seedRetry    = `{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":5.5,"error":"x"}`
	seedFailed   = `{"type":"assistant","error":"rate_limit","message":{"model":"<synthetic>","content":[{"type":"text","text":"e"}]}}`
	seedTask     = `{"type":"system","subtype":"task_notification","task_id":"x"}`
	seedResult   = `{"type":"result","subtype":"success","result":"x","total_cost_usd":1,"modelUsage":{"m":{"inputTokens":1}}}`
	seedMine     = `{"type":"result","is_error":true,"terminal_reason":"aborted_tools","user_message_uuids":["uuid-1","uuid-2"]}`
	seedOther    = `{"type":"result","origin":{"kind":"task-notification"}}`
)

// fuzzSeeds are conversations in short; "0" is a turn of ours, and so on.
var fuzzSeeds = [][]string{
	{"0", seedStarted, seedInit, seedMessage, seedText, seedDelta, seedWhole, seedTool, seedAsk, "5", seedDone, seedResult},
	{"0", "0", seedStarted, seedStarted2, seedInit, seedTool, "1", seedWrote, seedMine},
	{"0", seedInit, seedMessage, seedText, seedThought, seedDelta, "2", seedReply, seedMine, seedResult},
	{"0", "2", seedGone, seedReply, seedTask, seedInit, seedOther, seedError, "garbage"},
	{seedTask, seedInit, seedAgentAsk, seedForm, seedElicit, seedHook, seedCancel, "7", "?", "G", seedSub, seedOther},
	{"0", seedStarted, seedInit, seedRetry, seedFailed, "3", seedError, "4", seedResult, seedResult},
}

// FuzzTranslator plays input line by line: one that is a single byte is an op,
// any other what the CLI writes.
func FuzzTranslator(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(strings.Join(seed, "\n")))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		fz := newFuzzer(t)
		for line := range bytes.Lines(input) {
			line = bytes.TrimSpace(line)
			switch len(line) {
			case 0:
			case 1:
				fz.op(line[0] - '0')
			default:
				fz.tr.read(line)
				fz.drain()
			}
		}
		fz.tr.Lost()
		fz.drain()
	})
}
