package codex

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
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

func TestGarbageDoesNotEndTheConversation(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		f.say("Segmentation fault, or so")
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":7}}}`)
		f.say(`{"method":"brand/new","params":{TURN}}`)
		f.say(`{"id":99,"result":{}}`)
		f.say(`{"method":"item/agentMessage/delta","params":{TURN,"itemId":"unknown","delta":"x"}}`)
		f.end("completed")
		r.turnEnded("trn_1")
		var kinds []string
		for _, e := range contents[core.ProviderEvent](r) {
			kinds = append(kinds, e.Kind)
		}
		if got := strings.Join(kinds, ", "); got != "garbage, brand/new, response without a request, item/agentMessage/delta" {
			t.Error(got)
		}
		if errs := contents[core.ProviderError](r); len(errs) != 1 || errs[0].Code != "unreadable_message" {
			t.Errorf("%+v", errs)
		}
	})
}

func TestDeathInTheMiddleOfATurnClosesItsItemsAndIsNotAnEnd(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":""}}}`)
		f.say(`{"method":"item/agentMessage/delta","params":{TURN,"itemId":"m1","delta":"half"}}`)
		content[core.MessageDelta](r)
		f.die(process.Exit{Code: 101})
		err := r.ended()
		if isEOF(err) || core.CodeOf(err) != core.CodeSessionUnavailable || !strings.Contains(err.Error(), "exit code 101") {
			t.Errorf("ended with %v", err)
		}
		if m := contents[core.Message](r); len(m) != 1 || m[0] != (core.Message{Item: "m1", Text: "half", Partial: true}) {
			t.Errorf("messages %+v", m)
		}
		for _, n := range r.all() {
			if _, ok := n.(core.TurnEnded); ok {
				t.Error("a lost link ended the turn")
			}
		}
		if err := r.conn.Send(core.StartTurn{ID: 99}); core.CodeOf(err) != core.CodeSessionUnavailable {
			t.Errorf("send: %v", err)
		}
	})
}

func TestFragmentsAreWhole(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		text := `{"method":"item/completed","params":{"threadId":"thread","turnId":"t1","item":{"type":"agentMessage","id":"m1","text":"h\u00e9llo"}}}` + "\n"
		for i := range len(text) {
			if _, err := f.out.Write([]byte{text[i]}); err != nil {
				t.Fatal(err)
			}
		}
		f.end("completed")
		r.turnEnded("trn_1")
		if m := contents[core.Message](r); len(m) != 1 || m[0].Text != "h\u00e9llo" {
			t.Errorf("%+v", m)
		}
		r.checkStream()
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

func TestUnknownRequestsAreRefusedAtOnce(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/tool/call","id":"x-1","params":{TURN}}`)
		line, err := f.in.Next()
		if err != nil || !strings.Contains(string(line), `"id":"x-1","error"`) {
			t.Errorf("%s, %v", line, err)
		}
		f.say(`{"method":"item/tool/requestUserInput","id":5,"params":{TURN,"questions":[]}}`)
		line, err = f.in.Next()
		if err != nil || !strings.Contains(string(line), `"id":5,"error"`) {
			t.Errorf("%s, %v", line, err)
		}
	})
}

func TestRequestForCredentialsFailsTheTurnAndTheLink(t *testing.T) {
	for _, method := range []string{"account/chatgptAuthTokens/refresh", "attestation/generate"} {
		play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
			f.begin(r, "trn_1")
			f.say(`{"method":"%s","id":7,"params":{}}`, method)
			if line, err := f.in.Next(); err != nil || !strings.Contains(string(line), `"id":7,"error"`) {
				t.Errorf("%s, %v", line, err)
			}
			end := r.turnEnded("trn_1")
			if end.Verdict != core.VerdictFailed || end.Result.Error.Code != core.TurnAuthRequired {
				t.Errorf("%+v", end)
			}
			if err := r.ended(); isEOF(err) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestInterruptWaitsForItsCommands(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"sleep 1","processId":"p1","status":"inProgress"}}}`)
		op := r.send(core.Interrupt{ID: r.nextOp(), TurnID: "trn_1"})
		again := r.send(core.Interrupt{ID: r.nextOp(), TurnID: "trn_1"})
		f.reply(f.expect("turn/interrupt"), "{}")
		r.opDone(op)
		r.opDone(again)
		f.end("interrupted")
		f.reply(f.expect("thread/backgroundTerminals/list"), `{"data":[{"itemId":"c1","processId":"p1"},{"itemId":"other","processId":"p2"}]}`)
		m := f.expect("thread/backgroundTerminals/terminate")
		if !strings.Contains(string(m.Params), `"processId":"p1"`) {
			t.Errorf("terminated %s", m.Params)
		}
		f.reply(m, "{}")
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"sleep 1","status":"failed","exitCode":-1,"aggregatedOutput":"out"}}}`)
		if end := r.turnEnded("trn_1"); end.Verdict != core.VerdictCancelled {
			t.Errorf("%+v", end)
		}
		done := contents[core.ToolCompleted](r)
		if len(done) != 1 || done[0].Status != core.ToolCancelled || done[0].Output != "out" {
			t.Errorf("%+v", done)
		}
		r.checkStream()
	})
}

func TestInterruptDoesNotWaitForEverForACommand(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"commandExecution","id":"c1","command":"sleep 1","status":"inProgress"}}}`)
		r.send(core.Interrupt{ID: r.nextOp(), TurnID: "trn_1"})
		f.reply(f.expect("turn/interrupt"), "{}")
		begin := time.Now()
		f.end("interrupted")
		f.expect("thread/backgroundTerminals/list") // and no answer
		r.turnEnded("trn_1")
		if took := time.Since(begin); took != drainTimeout {
			t.Errorf("the end came after %v", took)
		}
		if w := contents[core.Warning](r); len(w) != 1 || w[0].Code != "command_left_running" {
			t.Errorf("%+v", w)
		}
		f.begin(r, "trn_2")
	})
}

func TestEarlyInterruptIsRepeatedWhenCodexKnowsTheTurn(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		start := r.start("trn_1", "go")
		f.reply(f.expect("turn/start"), `{"turn":{"id":"t1"}}`)
		r.opDone(start)
		op := r.send(core.Interrupt{ID: r.nextOp(), TurnID: "trn_1"})
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
		if done := r.opDone(op); done.Err != nil {
			t.Error(done.Err)
		}
		f.end("interrupted")
		r.turnEnded("trn_1")
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

func TestUnknownStatusIsNeverASuccess(t *testing.T) {
	for _, body := range []string{`"status":"inProgress"`, `"status":""`, `"status":"splendid"`, `"status":3`} {
		play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
			f.begin(r, "trn_1")
			f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"t1",` + body + `}}}`)
			if end := r.turnEnded("trn_1"); end.Verdict != core.VerdictFailed || end.Result.Error == nil {
				t.Errorf("%s: %+v", body, end)
			}
		})
	}
}

func TestRequestsAreProvedWithdrawnAndRefusedWhenDead(t *testing.T) {
	ask := `{"method":"item/commandExecution/requestApproval","id":%d,"params":{TURN,"itemId":"c1","command":"make"}}`
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		f.say(ask, 0)
		q := r.request()
		op := r.send(core.Respond{ID: r.nextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionDeny}})
		if m := f.expect(""); string(m.Result) != `{"decision":"decline"}` {
			t.Errorf("%s", m.Result)
		}
		second := r.send(core.Respond{ID: r.nextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove}})
		if done := r.opDone(second); done.Err == nil || done.Err.Code != core.CodeRequestNotPending {
			t.Errorf("a second answer: %+v", done)
		}
		f.say(`{"method":"serverRequest/resolved","params":{THREAD,"requestId":0}}`)
		if done := r.opDone(op); done.Err != nil {
			t.Error(done.Err)
		}
		withdrawn := func(n core.Notice) bool { _, ok := n.(core.RequestWithdrawn); return ok }
		f.say(ask, 1)
		r.request()
		f.say(`{"method":"serverRequest/resolved","params":{THREAD,"requestId":1}}`)
		r.until("withdrawal", withdrawn)
		f.say(ask, 2)
		r.request()
		f.end("failed")
		r.until("withdrawal by the end", withdrawn)
		r.turnEnded("trn_1")
	})
}

func TestTwoCancelledQuestionsInterruptOnce(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		var ops []core.OpID
		for id := range 2 {
			f.say(`{"method":"item/tool/requestUserInput","id":%d,"params":{TURN,"questions":[{"id":"q","question":"Why?"}]}}`, id)
			q := r.request()
			ops = append(ops, r.send(core.Respond{ID: r.nextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionCancel}}))
		}
		f.reply(f.expect("turn/interrupt"), "{}")
		for _, op := range ops {
			if done := r.opDone(op); done.Err != nil {
				t.Error(done.Err)
			}
		}
		f.end("interrupted")
		f.say(`{"method":"serverRequest/resolved","params":{THREAD,"requestId":0}}`)
		r.turnEnded("trn_1")
		f.begin(r, "trn_2") // nothing else was sent
	})
}

func TestRequestsArriveWhileACallOfOursWaits(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *recorder) {
		f.begin(r, "trn_1")
		steer := r.send(core.Steer{ID: r.nextOp(), TurnID: "trn_1", Input: core.TurnInput{Prompt: "and also"}})
		m := f.expect("turn/steer")
		f.say(`{"method":"item/fileChange/requestApproval","id":%s,"params":{TURN,"itemId":"x"}}`, m.ID) // the same id, the other way
		q := r.request()
		answer := r.send(core.Respond{ID: r.nextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}})
		if a := f.expect(""); string(a.Result) != `{"decision":"acceptForSession"}` {
			t.Errorf("%s", a.Result)
		}
		f.say(`{"method":"serverRequest/resolved","params":{THREAD,"requestId":%s}}`, m.ID)
		if done := r.opDone(answer); done.Err != nil {
			t.Error(done.Err)
		}
		f.reply(m, `{"turnId":"t1"}`)
		if done := r.opDone(steer); done.Err != nil {
			t.Error(done.Err)
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

func TestNobodyReadingStopsCodexAndNotUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		go f.handshake()
		conn, err := fakeProvider(t, f).Open(t.Context(), core.SessionConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Send(core.StartTurn{ID: 1, TurnID: "trn_1"}); err != nil {
			t.Fatal(err)
		}
		f.expect("turn/start")
		said := 0
		go func() {
			for said < 10*maxQueued {
				if _, err := io.WriteString(f.out, `{"method":"x"}`+"\n"); err != nil {
					return
				}
				said++
			}
		}()
		synctest.Wait() // everybody waits for somebody
		if said < maxQueued || said > 10*maxQueued-1 {
			t.Errorf("%d lines were read without a reader", said)
		}
		for id := core.OpID(2); id < 500; id++ { // and the pipe is not read either
			if err := conn.Send(core.Configure{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for {
			if _, err := conn.Recv(t.Context()); err != nil {
				if !isEOF(err) {
					t.Errorf("ended with %v", err)
				}
				return
			}
		}
	})
}

func TestOpeningFailsWithItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		play func(f *fake)
		want string
	}{
		"refused": {func(f *fake) {
			m := f.expect("initialize")
			f.say(`{"id":%s,"error":{"code":-32600,"message":"Model provider nope not found"}}`, m.ID)
		}, "nope not found"},
		"died": {func(f *fake) { f.expect("initialize"); f.die(process.Exit{Code: 2}) }, "exit code 2"},
		"no thread": {func(f *fake) {
			f.reply(f.expect("initialize"), "{}")
			f.expect("initialized")
			f.reply(f.expect("thread/start"), "{}")
		}, "no id"},
		"unreadable": {func(f *fake) { f.reply(f.expect("initialize"), "7") }, "initialize"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			go c.play(f)
			_, err := fakeProvider(t, f).Open(t.Context(), core.SessionConfig{})
			if core.CodeOf(err) != core.CodeStartFailed || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			if f.stop == 0 {
				t.Errorf("%s: the child was left", name)
			}
		})
	}
}

func TestOpeningEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		go f.expect("initialize") // and no answer
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := fakeProvider(t, f).Open(ctx, core.SessionConfig{})
		if !errors.Is(err, context.DeadlineExceeded) || f.stop == 0 {
			t.Errorf("%v, stopped %d times", err, f.stop)
		}
	})
}

func TestLaunchGivesTheEnvironmentAndNoPrompt(t *testing.T) {
	t.Setenv("CODEX_THREAD_ID", "outer")
	t.Setenv("CLAUDECODE", "1")
	cfg := core.SessionConfig{SessionID: "ses_1", CWD: "/somewhere", SystemPrompt: "be brief", Env: map[string]string{"MINE": "1"}}
	play(t, cfg, func(f *fake, _ *recorder) {
		env := strings.Join(f.spec.Env, "\n")
		if f.spec.Dir != "/somewhere" || f.spec.Resource != "ses_1" || f.spec.Args[0] != "app-server" {
			t.Errorf("%+v", f.spec)
		}
		for _, want := range []string{"MINE=1", "RUST_LOG=error"} {
			if !strings.Contains(env, want) {
				t.Errorf("no %s", want)
			}
		}
		if strings.Contains(env, "CODEX_THREAD_ID") || strings.Contains(env, "CLAUDECODE") {
			t.Error("marks of an outer agent reach the child")
		}
		if raw, _ := json.Marshal(f.spec.Args); strings.Contains(string(raw), "brief") {
			t.Error("the system prompt is in the arguments")
		}
	})
}
