package codex

import (
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestInterruptWaitsForItsCommands(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"sleep 1","processId":"p1","status":"inProgress"}}}`)
		op := r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "trn_1"})
		again := r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "trn_1"})
		f.reply(f.expect("turn/interrupt"), "{}")
		r.OpDone(op)
		r.OpDone(again)
		f.end("interrupted")
		f.reply(f.expect("thread/backgroundTerminals/list"), `{"data":[{"itemId":"c1","processId":"p1"},{"itemId":"other","processId":"p2"}]}`)
		m := f.expect("thread/backgroundTerminals/terminate")
		if !strings.Contains(string(m.Params), `"processId":"p1"`) {
			t.Errorf("terminated %s", m.Params)
		}
		f.reply(m, "{}")
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"sleep 1","status":"failed","exitCode":-1,"aggregatedOutput":"out"}}}`)
		if end := r.TurnEnded("trn_1"); end.Verdict != core.VerdictCancelled {
			t.Errorf("%+v", end)
		}
		done := conntest.Contents[core.ToolCompleted](r)
		if len(done) != 1 || done[0].Status != core.ToolCancelled || done[0].Output != "out" {
			t.Errorf("%+v", done)
		}
	})
}

func TestInterruptWaitsForACommandWithALimit(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"sleep 1","status":"inProgress"}}}`)
		r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "trn_1"})
		f.reply(f.expect("turn/interrupt"), "{}")
		begin := time.Now()
		f.end("interrupted")
		f.expect("thread/backgroundTerminals/list") // and no answer
		r.TurnEnded("trn_1")
		if took := time.Since(begin); took != drainTimeout {
			t.Errorf("the end came after %v", took)
		}
		if w := conntest.Contents[core.Warning](r); len(w) != 1 || w[0].Code != "command_left_running" {
			t.Errorf("%+v", w)
		}
		f.begin(r, "trn_2")
	})
}

func TestEarlyInterruptIsRepeatedWhenCodexKnowsTheTurn(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		start := r.Start("trn_1", "go")
		f.reply(f.expect("turn/start"), `{"turn":{"id":"t1"}}`)
		r.OpDone(start)
		op := r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "trn_1"})
		m := f.expect("turn/interrupt")
		if !strings.Contains(string(m.Params), `"turnId":""`) {
			t.Errorf("%s", m.Params)
		}
		f.say(`{"id":%s,"error":{"code":-32600,"message":"no active turn to interrupt"}}`, m.ID)
		f.say(`{"method":"turn/started","params":{THREAD,"turn":{"id":"t1"}}}`)
		m = f.expect("turn/interrupt")
		if !strings.Contains(string(m.Params), `"turnId":"t1"`) {
			t.Errorf("%s", m.Params)
		}
		f.reply(m, "{}")
		if done := r.OpDone(op); done.Err != nil {
			t.Error(done.Err)
		}
		f.end("interrupted")
		r.TurnEnded("trn_1")
	})
}

func TestRequestsAreProvedWithdrawnAndThenRefused(t *testing.T) {
	ask := `{"method":"item/commandExecution/requestApproval","id":%d,"params":{TURN,"itemId":"c1","command":"make"}}`
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say(ask, 0)
		q := r.Request()
		op := r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionDeny}})
		if m := f.expect(""); string(m.Result) != `{"decision":"decline"}` {
			t.Errorf("%s", m.Result)
		}
		second := r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove}})
		if done := r.OpDone(second); done.Err == nil || done.Err.Code != core.CodeRequestNotPending {
			t.Errorf("a second answer: %+v", done)
		}
		f.say(`{"method":"serverRequest/resolved","params":{THREAD,"requestId":0}}`)
		if done := r.OpDone(op); done.Err != nil {
			t.Error(done.Err)
		}
		withdrawn := func(n core.Notice) bool { _, ok := n.(core.RequestWithdrawn); return ok }
		f.say(ask, 1)
		r.Request()
		f.say(`{"method":"serverRequest/resolved","params":{THREAD,"requestId":1}}`)
		r.Until("withdrawal", withdrawn)
		f.say(ask, 2)
		r.Request()
		f.end("failed")
		r.Until("withdrawal by the end", withdrawn)
		r.TurnEnded("trn_1")
	})
}

func TestTwoCancelledQuestionsInterruptOnce(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		var ops []core.OpID
		for id := range 2 {
			f.say(`{"method":"item/tool/requestUserInput","id":%d,"params":{TURN,"questions":[{"id":"q","question":"Why?"}]}}`, id)
			q := r.Request()
			ops = append(ops, r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionCancel}}))
		}
		f.reply(f.expect("turn/interrupt"), "{}")
		for _, op := range ops {
			if done := r.OpDone(op); done.Err != nil {
				t.Error(done.Err)
			}
		}
		f.end("interrupted")
		f.say(`{"method":"serverRequest/resolved","params":{THREAD,"requestId":0}}`)
		r.TurnEnded("trn_1")
		f.begin(r, "trn_2") // nothing else was sent
	})
}

func TestRequestsArriveWhileACallOfOursWaits(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		steer := r.Send(core.Steer{ID: r.NextOp(), TurnID: "trn_1", Input: core.TurnInput{Prompt: "and also"}})
		m := f.expect("turn/steer")
		f.say(`{"method":"item/fileChange/requestApproval","id":%s,"params":{TURN,"itemId":"x"}}`, m.ID) // the same id, the other way
		q := r.Request()
		answer := r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}})
		if a := f.expect(""); string(a.Result) != `{"decision":"acceptForSession"}` {
			t.Errorf("%s", a.Result)
		}
		f.say(`{"method":"serverRequest/resolved","params":{THREAD,"requestId":%s}}`, m.ID)
		if done := r.OpDone(answer); done.Err != nil {
			t.Error(done.Err)
		}
		f.reply(m, `{"turnId":"t1"}`)
		if done := r.OpDone(steer); done.Err != nil {
			t.Error(done.Err)
		}
	})
}
