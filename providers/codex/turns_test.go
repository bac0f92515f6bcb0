package codex

import (
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestRejectedTurnLeavesTheNextOneAlone(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		op := r.start("trn_1", "go")
		m := f.expect("turn/start")
		f.say(`{"id":%s,"error":{"code":-32600,"message":"no such model"}}`, m.ID)
		if done := r.opDone(op); done.Err == nil || done.Err.Code != core.TurnRejected || !strings.Contains(done.Err.Message, "no such model") {
			t.Errorf("%+v", done)
		}
		f.begin(r, "trn_2")
		f.end("completed")
		r.turnEnded("trn_2")
	})
}

func TestDeltasAreMadeToJoin(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
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
		r.turnEnded("trn_1")
		r.checkStream()
		if d := contents[core.MessageDelta](r); len(d) != 2 || d[1].Text != "two " {
			t.Errorf("%+v", d)
		}
		if got := contents[core.Reasoning](r); len(got) != 1 || got[0].Text != "first\n\nsecond" {
			t.Errorf("%+v", got)
		}
	})
}

func TestDeltasThatLackTheirMiddleAreNotTheMessage(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":""}}}`)
		f.say(`{"method":"item/agentMessage/delta","params":{TURN,"itemId":"m1","delta":"one three"}}`)
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":"one two three"}}}`)
		f.end("completed")
		r.turnEnded("trn_1")
		m := contents[core.Message](r)
		if len(m) != 2 || !m[0].Partial || m[0].Text != "one three" || m[1].Partial || m[1].Text != "one two three" || m[0].Item == m[1].Item {
			t.Errorf("%+v", m)
		}
	})
}

func TestModelThatRepeatsItsIdsHasItemsOfTheirOwn(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		for _, turn := range []string{"t1", "t2"} {
			op := r.start("trn_"+turn, "go")
			f.reply(f.expect("turn/start"), `{"turn":{"id":"`+turn+`"}}`)
			r.opDone(op)
			f.say(`{"method":"item/started","params":{THREAD,"turnId":"%s","item":{"type":"agentMessage","id":"msg_1","text":""}}}`, turn)
			f.say(`{"method":"item/agentMessage/delta","params":{THREAD,"turnId":"%s","itemId":"msg_1","delta":"hi"}}`, turn)
			f.say(`{"method":"item/completed","params":{THREAD,"turnId":"%s","item":{"type":"agentMessage","id":"msg_1","text":"hi"}}}`, turn)
			f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"%s","status":"completed"}}}`, turn)
			r.turnEnded("trn_" + turn)
		}
		r.checkStream()
		if m := contents[core.Message](r); len(m) != 2 || m[0].Item != "msg_1" || m[1].Item != "msg_1@t2" {
			t.Errorf("%+v", m)
		}
	})
}

func TestCutMessageIsClosedBeforeTheNextOne(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		for _, id := range []string{"m1", "m2"} {
			f.say(`{"method":"item/started","params":{TURN,"item":{"type":"agentMessage","id":"%s","text":""}}}`, id)
			f.say(`{"method":"item/agentMessage/delta","params":{TURN,"itemId":"%s","delta":"text"}}`, id)
		}
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"agentMessage","id":"m2","text":"text"}}}`)
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":"late"}}}`)
		f.end("completed")
		r.turnEnded("trn_1")
		m := contents[core.Message](r)
		if len(m) != 2 || !m[0].Partial || m[0].Item != "m1" || m[1].Partial || m[1].Item != "m2" {
			t.Errorf("%+v", m)
		}
		r.checkStream()
	})
}

func TestTurnOfCodexHoldsOursBack(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.say(`{"method":"turn/started","params":{THREAD,"turn":{"id":"own"}}}`)
		began := r.until("its begin", func(n core.Notice) bool { _, ok := n.(core.TurnBegan); return ok }).(core.TurnBegan)
		op := r.start("trn_1", "go")
		f.say(`{"method":"item/completed","params":{THREAD,"turnId":"own","item":{"type":"contextCompaction","id":"k"}}}`)
		f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"own","status":"completed"}}}`)
		r.turnEnded(began.Turn)
		f.reply(f.expect("turn/start"), `{"turn":{"id":"t1"}}`)
		if done := r.opDone(op); done.Err != nil {
			t.Error(done.Err)
		}
		f.end("completed")
		r.turnEnded("trn_1")
	})
}

func TestTurnsThatCrossOnTheWireEndTogether(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		op := r.start("trn_1", "go")
		m := f.expect("turn/start")
		f.say(`{"method":"turn/started","params":{THREAD,"turn":{"id":"own"}}}`)
		f.reply(m, `{"turn":{"id":"own"}}`) // it was added to the turn that ran
		if done := r.opDone(op); done.Err != nil || done.Ref != "own" {
			t.Errorf("%+v", done)
		}
		f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"own","status":"completed"}}}`)
		r.turnEnded("trn_1")
	})
}

func TestWhatIsSaidOfAnOldTurnIsNotTakenForTheNewOne(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		op := r.start("trn_1", "go")
		m := f.expect("turn/start")
		f.say(`{"method":"thread/tokenUsage/updated","params":{THREAD,"turnId":"old","tokenUsage":{"total":{"totalTokens":5},"last":{"totalTokens":2}}}}`)
		f.reply(m, `{"turn":{"id":"t1"}}`)
		if done := r.opDone(op); done.Ref != "t1" {
			t.Errorf("%+v", done)
		}
		f.say(`{"method":"thread/tokenUsage/updated","params":{TURN,"tokenUsage":{"total":{"totalTokens":9},"last":{"totalTokens":4}}}}`)
		f.end("completed")
		end := r.turnEnded("trn_1")
		if end.Result.Usage == nil || *end.Result.Usage.TotalTokens != 4 {
			t.Errorf("%+v", end.Result.Usage)
		}
	})
}

func TestConfigureReachesTheNextTurn(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		configure := func(c core.Changes) core.OpDone {
			return r.opDone(r.send(core.Configure{ID: r.nextOp(), Changes: c}))
		}
		if done := configure(core.Changes{ApprovalMode: core.ApprovalAutoEdit, SandboxMode: core.SandboxReadOnly}); done.Err == nil || done.Err.Code != core.CodeOption {
			t.Errorf("%+v", done)
		}
		if done := configure(core.Changes{Model: "other", ApprovalMode: core.ApprovalAuto, ReasoningEffort: "high"}); done.Err != nil {
			t.Error(done.Err)
		}
		r.start("trn_1", "go")
		m := f.expect("turn/start")
		want := `{"threadId":"thread","input":[{"type":"text","text":"go"}],"model":"other","effort":"high","approvalPolicy":"never",` +
			`"sandboxPolicy":{"type":"workspaceWrite","networkAccess":true,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}}`
		if string(m.Params) != want {
			t.Errorf("got  %s\nwant %s", m.Params, want)
		}
	})
}

func TestOtherThreadsAreKeptApart(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"turn/started","params":{"threadId":"sub","turn":{"id":"s1"}}}`)
		f.say(`{"method":"item/completed","params":{"threadId":"sub","turnId":"s1","item":{"type":"agentMessage","id":"x","text":"not ours"}}}`)
		f.say(`{"method":"turn/completed","params":{"threadId":"sub","turn":{"id":"s1","status":"completed"}}}`)
		f.say(`{"method":"item/commandExecution/requestApproval","id":3,"params":{"threadId":"sub","turnId":"s1","command":"make"}}`)
		if q := r.request(); q.Turn != "trn_1" {
			t.Errorf("the sub-agent's request belongs to %q", q.Turn)
		}
		f.end("completed")
		r.turnEnded("trn_1")
		if n := len(contents[core.Message](r)); n != 0 {
			t.Errorf("%d messages of another thread", n)
		}
	})
}

func TestWhatComesAfterTheEndIsOfTheSession(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"make","status":"inProgress"}}}`)
		f.end("completed")
		r.turnEnded("trn_1")
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"make","status":"failed","exitCode":1}}}`)
		f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"t1","status":"failed"}}}`)
		r.until("what came late", func(n core.Notice) bool {
			c, ok := n.(core.Content)
			e, late := c.Payload.(core.ProviderEvent)
			return ok && late && c.Turn == "" && e.Kind == "turn/completed" && e.TurnID == "trn_1"
		})
		var kinds []string
		for _, e := range contents[core.ProviderEvent](r) {
			if e.TurnID == "trn_1" {
				kinds = append(kinds, e.Kind)
			}
		}
		if strings.Join(kinds, " ") != "item/completed turn/completed" {
			t.Errorf("late: %v", kinds)
		}
		if done := contents[core.ToolCompleted](r); len(done) != 1 || done[0].Status != core.ToolCancelled {
			t.Errorf("the command's end was reported %+v", done)
		}
	})
}
