package codex

import (
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestRejectedTurnLeavesTheNextOneAlone(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		op := r.Start("trn_1", "go")
		m := f.expect("turn/start")
		f.say(`{"id":%s,"error":{"code":-32600,"message":"no such model"}}`, m.ID)
		if done := r.OpDone(op); done.Err == nil || done.Err.Code != core.TurnRejected || !strings.Contains(done.Err.Message, "no such model") {
			t.Errorf("%+v", done)
		}
		f.begin(r, "trn_2")
		f.end("completed")
		r.TurnEnded("trn_2")
	})
}

func TestDeltasAreMadeToJoin(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":""}}}`)
		f.say(`{"method":"item/agentMessage/delta","params":{TURN,"itemId":"m1","delta":" one "}}`)
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":" one two "}}}`)
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"reasoning","id":"r1","summary":[],"content":[]}}}`)
		for i, part := range []string{"first", "second"} {
			f.say(`{"method":"item/reasoning/summaryPartAdded","params":{TURN,"itemId":"r1","summaryIndex":%d}}`, i)
			f.say(`{"method":"item/reasoning/summaryTextDelta","params":{TURN,"itemId":"r1","delta":"%s","summaryIndex":%d}}`, part, i)
		}
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"reasoning","id":"r1","summary":["first","second"],"content":[]}}}`)
		f.end("completed")
		r.TurnEnded("trn_1")
		if d := conntest.Contents[core.MessageDelta](r); len(d) != 2 || d[1].Text != "two " {
			t.Errorf("%+v", d)
		}
		if got := conntest.Contents[core.Reasoning](r); len(got) != 1 || got[0].Text != "first\n\nsecond" {
			t.Errorf("%+v", got)
		}
	})
}

func TestDeltasThatLackTheirMiddleAreNotTheMessage(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":""}}}`)
		f.say(`{"method":"item/agentMessage/delta","params":{TURN,"itemId":"m1","delta":"one three"}}`)
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":"one two three"}}}`)
		f.end("completed")
		r.TurnEnded("trn_1")
		m := conntest.Contents[core.Message](r)
		if len(m) != 2 || !m[0].Partial || m[0].Text != "one three" || m[1].Partial || m[1].Text != "one two three" || m[0].Item == m[1].Item {
			t.Errorf("%+v", m)
		}
	})
}

func TestModelThatRepeatsItsIdsHasItemsOfTheirOwn(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		for _, turn := range []string{"t1", "t2"} {
			op := r.Start("trn_"+turn, "go")
			f.reply(f.expect("turn/start"), `{"turn":{"id":"`+turn+`"}}`)
			r.OpDone(op)
			f.say(`{"method":"item/started","params":{THREAD,"turnId":"%s","item":{"type":"agentMessage","id":"msg_1","text":""}}}`, turn)
			f.say(`{"method":"item/agentMessage/delta","params":{THREAD,"turnId":"%s","itemId":"msg_1","delta":"hi"}}`, turn)
			f.say(`{"method":"item/completed","params":{THREAD,"turnId":"%s","item":{"type":"agentMessage","id":"msg_1","text":"hi"}}}`, turn)
			f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"%s","status":"completed"}}}`, turn)
			r.TurnEnded("trn_" + turn)
		}
		if m := conntest.Contents[core.Message](r); len(m) != 2 || m[0].Item != "msg_1" || m[1].Item != "msg_1@t2" {
			t.Errorf("%+v", m)
		}
	})
}

func TestCutMessageIsClosedBeforeTheNextOne(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		for _, id := range []string{"m1", "m2"} {
			f.say(`{"method":"item/started","params":{TURN,"item":{"type":"agentMessage","id":"%s","text":""}}}`, id)
			f.say(`{"method":"item/agentMessage/delta","params":{TURN,"itemId":"%s","delta":"text"}}`, id)
		}
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"agentMessage","id":"m2","text":"text"}}}`)
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":"late"}}}`)
		f.end("completed")
		r.TurnEnded("trn_1")
		m := conntest.Contents[core.Message](r)
		if len(m) != 2 || !m[0].Partial || m[0].Item != "m1" || m[1].Partial || m[1].Item != "m2" {
			t.Errorf("%+v", m)
		}
	})
}

func TestTurnOfCodexHoldsOursBack(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.say(`{"method":"turn/started","params":{THREAD,"turn":{"id":"own"}}}`)
		began := r.Until("its begin", func(n core.Notice) bool { _, ok := n.(core.TurnBegan); return ok }).(core.TurnBegan)
		op := r.Start("trn_1", "go")
		f.say(`{"method":"item/completed","params":{THREAD,"turnId":"own","item":{"type":"contextCompaction","id":"k"}}}`)
		f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"own","status":"completed"}}}`)
		r.TurnEnded(began.Turn)
		f.reply(f.expect("turn/start"), `{"turn":{"id":"t1"}}`)
		if done := r.OpDone(op); done.Err != nil {
			t.Error(done.Err)
		}
		f.end("completed")
		r.TurnEnded("trn_1")
	})
}

func TestTurnsThatOverlapOnTheWireEndTogether(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		op := r.Start("trn_1", "go")
		m := f.expect("turn/start")
		f.say(`{"method":"turn/started","params":{THREAD,"turn":{"id":"own"}}}`)
		f.reply(m, `{"turn":{"id":"own"}}`) // it was added to the turn that ran
		if done := r.OpDone(op); done.Err != nil || done.Ref != "own" {
			t.Errorf("%+v", done)
		}
		f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"own","status":"completed"}}}`)
		r.TurnEnded("trn_1")
	})
}

func TestReportsOfAnOldTurnAreNotTakenForTheNewOne(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		op := r.Start("trn_1", "go")
		m := f.expect("turn/start")
		f.say(`{"method":"thread/tokenUsage/updated","params":{THREAD,"turnId":"old","tokenUsage":{"total":{"totalTokens":5},"last":{"totalTokens":2}}}}`)
		f.reply(m, `{"turn":{"id":"t1"}}`)
		if done := r.OpDone(op); done.Ref != "t1" {
			t.Errorf("%+v", done)
		}
		f.say(`{"method":"thread/tokenUsage/updated","params":{TURN,"tokenUsage":{"total":{"totalTokens":9},"last":{"totalTokens":4}}}}`)
		f.end("completed")
		end := r.TurnEnded("trn_1")
		if end.Result.Usage == nil || *end.Result.Usage.TotalTokens != 4 {
			t.Errorf("%+v", end.Result.Usage)
		}
	})
}

func TestConfigureReachesTheNextTurn(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		configure := func(c core.Changes) core.OpDone {
			return r.OpDone(r.Send(core.Configure{ID: r.NextOp(), Changes: c}))
		}
		if done := configure(core.Changes{ApprovalMode: core.ApprovalAutoEdit, SandboxMode: core.SandboxReadOnly}); done.Err == nil || done.Err.Code != core.CodeOption {
			t.Errorf("%+v", done)
		}
		if done := configure(core.Changes{Model: "other", ApprovalMode: core.ApprovalAuto, ReasoningEffort: "high"}); done.Err != nil {
			t.Error(done.Err)
		}
		r.Start("trn_1", "go")
		m := f.expect("turn/start")
		want := `{"threadId":"thread","input":[{"type":"text","text":"go"}],"model":"other","effort":"high","approvalPolicy":"never",` +
			`"sandboxPolicy":{"type":"workspaceWrite","networkAccess":true,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}}`
		if string(m.Params) != want {
			t.Errorf("got  %s\nwant %s", m.Params, want)
		}
	})
}

func TestOtherThreadsAreKeptApart(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"turn/started","params":{"threadId":"sub","turn":{"id":"s1"}}}`)
		f.say(`{"method":"item/completed","params":{"threadId":"sub","turnId":"s1","item":{"type":"agentMessage","id":"x","text":"not ours"}}}`)
		f.say(`{"method":"turn/completed","params":{"threadId":"sub","turn":{"id":"s1","status":"completed"}}}`)
		f.say(`{"method":"item/commandExecution/requestApproval","id":3,"params":{"threadId":"sub","turnId":"s1","command":"make"}}`)
		if q := r.Request(); q.Turn != "trn_1" {
			t.Errorf("the sub-agent's request belongs to %q", q.Turn)
		}
		f.end("completed")
		r.TurnEnded("trn_1")
		if n := len(conntest.Contents[core.Message](r)); n != 0 {
			t.Errorf("%d messages of another thread", n)
		}
	})
}

func TestWhatComesAfterTheEndIsOfTheSession(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"make","status":"inProgress"}}}`)
		f.end("completed")
		r.TurnEnded("trn_1")
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"make","status":"failed","exitCode":1}}}`)
		f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"t1","status":"failed"}}}`)
		r.Until("what came late", func(n core.Notice) bool {
			c, ok := n.(core.Content)
			e, late := c.Payload.(core.ProviderEvent)
			return ok && late && c.Turn == "" && e.Kind == "turn/completed" && e.TurnID == "trn_1"
		})
		var kinds []string
		for _, e := range conntest.Contents[core.ProviderEvent](r) {
			if e.TurnID == "trn_1" {
				kinds = append(kinds, e.Kind)
			}
		}
		if strings.Join(kinds, " ") != "item/completed turn/completed" {
			t.Errorf("late: %v", kinds)
		}
		if done := conntest.Contents[core.ToolCompleted](r); len(done) != 1 || done[0].Status != core.ToolCancelled {
			t.Errorf("the command's end was reported %+v", done)
		}
	})
}
