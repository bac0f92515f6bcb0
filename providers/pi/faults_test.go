package pi

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestATurnEndsByAgentSettledAlone(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "one")
		f.say(answer("half", "toolUse"), `{"type":"turn_end","message":{},"toolResults":[]}`)
		f.say(`{"type":"agent_end","messages":[],"willRetry":true}`, agentStart, answer("whole", "stop"), agentEnd)
		f.expect("get_state") // unanswered: this release turns out to report it
		f.say(settled)
		if e := r.TurnEnded("one"); e.Verdict != core.VerdictCompleted || e.Result.StopReason != "stop" {
			t.Errorf("%+v", e)
		}
		f.begin(r, "two")
		f.end()
		r.TurnEnded("two") // and nothing is asked any more
	})
}

func TestATurnSettlesWithoutTheRecordWhenPiIsIdleTwice(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "one")
		f.say(answer("x", "stop"), agentEnd)
		f.reply(f.expect("get_state"), `true,"data":{"isStreaming":true}`)
		f.say(agentStart, answer("y", "stop"), agentEnd) // a run that followed
		f.reply(f.expect("get_state"), idle)
		f.reply(f.expect("get_state"), idle)
		if e := r.TurnEnded("one"); e.Verdict != core.VerdictCompleted {
			t.Errorf("%+v", e)
		}
		f.say(`{"type":"agent_settled","aborted":false}`) // late, and of no turn
		f.begin(r, "two")
		f.end()
		r.TurnEnded("two")
	})
}

func TestARetryIsProgressAndItsLastFailureFailsTheTurn(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "one")
		f.say(answer("", "error"), agentEnd)
		look := f.expect("get_state")
		f.say(`{"type":"auto_retry_start","attempt":1,"maxAttempts":2,"delayMs":100,"errorMessage":"500: no"}`)
		f.reply(look, idle) // between two runs Pi looks idle
		if e := conntest.Content[core.ProviderError](r); !e.WillRetry || e.Message != "500: no" {
			t.Errorf("%+v", e)
		}
		f.say(agentStart, answer("", "error"), agentEnd, `{"type":"auto_retry_end","success":false,"attempt":1,"finalError":"500: no"}`)
		f.reply(f.expect("get_state"), idle)
		f.reply(f.expect("get_state"), idle)
		if e := r.TurnEnded("one"); e.Verdict != core.VerdictFailed || e.Result.Error == nil || e.Result.Error.Message != "500: no" {
			t.Errorf("%+v", e)
		}
	})
}

func TestARefusedPromptIsADefiniteRejection(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		op := r.Start("one", "go")
		f.reply(f.expect("prompt"), `false,"error":"No API key found for p."`)
		if d := r.OpDone(op); d.Err == nil || !strings.Contains(d.Err.Message, "No API key") || d.Err.Hint == "" {
			t.Errorf("%+v", d)
		}
		f.begin(r, "two")
		f.end()
		r.TurnEnded("two")
	})
}

func TestAPromptThatMeetsARunOfPisOwnWaitsForItsEnd(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		op := r.Start("one", "go")
		m := f.expect("prompt")
		f.say(agentStart)
		f.reply(m, `false,"error":"Agent is already processing."`)
		began := r.Until("a turn of Pi's own", func(n core.Notice) bool { _, ok := n.(core.TurnBegan); return ok }).(core.TurnBegan)
		f.end()
		if e := r.TurnEnded(began.Turn); e.Verdict != core.VerdictCompleted || began.Turn == "one" {
			t.Errorf("%+v, %+v", began, e)
		}
		// The first end of a turn without the record may still be looked into.
		again := f.next(t, "prompt")
		f.reply(again, `true,"data":{"disposition":"started"}`)
		if d := r.OpDone(op); d.Err != nil {
			t.Error(d.Err)
		}
		f.say(agentStart)
		f.end()
		r.TurnEnded("one")
	})
}

// next reads on to a command of a kind.
func (f *fake) next(t *testing.T, kind string) heard {
	t.Helper()
	for {
		line, err := f.In.Next()
		if err != nil {
			t.Fatalf("instead of %s: %v", kind, err)
		}
		if m := decodeHeard(line); m.Type == kind {
			return m
		}
	}
}

func TestAnInterruptCancelsDialogsClearsTheQueueAndAbortsInThisOrder(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "one")
		f.say(`{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Sure?","message":"m"}`)
		q := r.Request()
		op := r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "one", Requests: []string{q.Ref}})
		if a := f.expect("extension_ui_response"); !a.Cancelled || a.ID != "d1" {
			t.Errorf("%+v", a)
		}
		f.reply(f.expect("clear_queue"), `true,"data":{"steering":[],"followUp":[]}`)
		m := f.expect("abort")
		// One that comes up while Pi aborts would keep it from doing so.
		f.say(`{"type":"extension_ui_request","id":"d2","method":"input","title":"More?"}`)
		if a := f.expect("extension_ui_response"); !a.Cancelled || a.ID != "d2" {
			t.Errorf("%+v", a)
		}
		f.say(answer("cut", "aborted"), agentEnd)
		f.expect("get_state") // unanswered: this release turns out to report it
		f.say(`{"type":"agent_settled","aborted":true}`)
		if e := r.TurnEnded("one"); e.Verdict != core.VerdictCancelled {
			t.Errorf("%+v", e)
		}
		answered := 0
		for _, n := range r.All() { // before the turn's end
			if d, ok := n.(core.OpDone); ok && d.Op == op && d.Err == nil {
				answered++
			}
		}
		if answered != 1 {
			t.Errorf("the interrupt was answered %d times", answered)
		}
		f.reply(m, `true`) // Pi's own answer comes last
		f.begin(r, "two")
		f.end()
		r.TurnEnded("two")
	})
}

func TestAnAbortWithoutEffectIsSentAgain(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "one")
		r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "one"})
		f.say(`{"type":"response","command":"clear_queue","success":false,"error":"Unknown command: clear_queue"}`)
		f.expect("clear_queue")
		f.reply(f.expect("abort"), `true`)
		f.reply(f.expect("get_state"), `true,"data":{"isStreaming":true}`)
		f.reply(f.expect("abort"), `true`)
		f.reply(f.expect("get_state"), idle)
		if e := r.TurnEnded("one"); e.Verdict != core.VerdictCancelled {
			t.Errorf("%+v", e)
		}
		f.begin(r, "two") // the barrier is gone
		f.end()
		r.TurnEnded("two")
	})
}

func TestADialogWithoutATurnIsDismissedAtOnce(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.say(`{"type":"extension_ui_request","id":"d1","method":"select","title":"Which?","options":["a"]}`)
		if a := f.expect("extension_ui_response"); !a.Cancelled || a.ID != "d1" {
			t.Errorf("%+v", a)
		}
		f.say(`{"type":"extension_ui_request","id":"d2","method":"notify","message":"hello"}`)
		f.begin(r, "one") // and a notification wants no answer
		f.end()
		r.TurnEnded("one")
	})
}

func TestADialogWithATimeoutIsWithdrawnWhenItHasPassed(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "one")
		f.say(`{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Sure?","message":"m","timeout":5000}`)
		q := r.Request()
		began := time.Now()
		r.Until("its withdrawal", func(n core.Notice) bool { w, ok := n.(core.RequestWithdrawn); return ok && w.Ref == q.Ref })
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("after %s", d)
		}
		op := r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove}})
		if d := r.OpDone(op); core.CodeOf(d.Err) != core.CodeRequestNotPending {
			t.Errorf("%+v", d)
		}
		f.end()
		r.TurnEnded("one")
	})
}

func TestASteerThatComesTooLateIsNotLeftForTheNextTurn(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "one")
		op := r.Send(core.Steer{ID: r.NextOp(), TurnID: "one", Input: core.TurnInput{Prompt: "faster"}})
		m := f.expect("steer")
		f.end()
		f.expect("get_state")
		r.TurnEnded("one")
		next := r.Start("two", "go")
		f.say(`{"type":"queue_update","steering":["faster"],"followUp":[]}`)
		f.reply(m, `true,"data":{"disposition":"queued"}`)
		f.reply(f.expect("clear_queue"), `true,"data":{"steering":["faster"],"followUp":[]}`)
		if d := r.OpDone(op); core.CodeOf(d.Err) != core.CodeTurnNotActive {
			t.Errorf("steer: %+v", d)
		}
		f.reply(f.expect("prompt"), `true,"data":{"disposition":"started"}`)
		if d := r.OpDone(next); d.Err != nil {
			t.Error(d.Err)
		}
		f.say(agentStart)
		f.end()
		r.TurnEnded("two")
	})
}

func TestAPromptThatAnExtensionHandledIsOverWithItsResponse(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		r.Start("one", "go")
		m := f.expect("prompt")
		f.say(`{"type":"extension_ui_request","id":"d1","method":"input","title":"Name?"}`)
		q := r.Request()
		r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionAnswer, Answers: map[string][]string{questionID: {"me"}}}})
		if a := f.expect("extension_ui_response"); a.Value == nil || *a.Value != "me" {
			t.Errorf("%+v", a)
		}
		f.reply(m, `true,"data":{"disposition":"handled"}`)
		if e := r.TurnEnded("one"); e.Verdict != core.VerdictCompleted || e.Result.StopReason != "handled" {
			t.Errorf("%+v", e)
		}
	})
}

func TestRecordsAreSplitAtLineFeedsAloneHoweverTheyArrive(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "one")
		text := "a\u2028b\u2029c\u0085d"
		whole := answer(text, "stop") + "\r\n" + `not json` + "\n" + `{"type":"novelty","x":1}` + "\n" + `{"type":"tool_execution_start","toolCallId":7}` + "\n" + agentEnd + "\n"
		for i := range len(whole) {
			if _, err := io.WriteString(f.Out, whole[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		f.say(settled)
		r.TurnEnded("one")
		if m := conntest.Contents[core.Message](r); len(m) != 1 || m[0].Text != text {
			t.Errorf("%+v", m)
		}
		if e := conntest.Contents[core.ProviderError](r); len(e) != 1 || e[0].Code != "unreadable_message" {
			t.Errorf("%+v", e)
		}
		kinds := map[string]bool{}
		for _, e := range conntest.Contents[core.ProviderEvent](r) {
			kinds[e.Kind] = true
		}
		if !kinds["garbage"] || !kinds["novelty"] {
			t.Errorf("kept: %v", kinds)
		}
	})
}

func TestAPiThatEndsInATurnIsALostLinkWithItsItemsClosed(t *testing.T) {
	play(t, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "one")
		f.say(`{"type":"message_start","message":{"role":"assistant","content":[],"timestamp":1}}`,
			`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"half"}}`,
			`{"type":"tool_execution_start","toolCallId":"t","toolName":"bash","args":{"command":"x"}}`)
		conntest.Content[core.ToolStarted](r)
		f.End(process.Exit{Code: -1, Signal: "SIGKILL"})
		if err := r.Ended(); core.CodeOf(err) != core.CodeSessionUnavailable || !strings.Contains(err.Error(), "SIGKILL") {
			t.Errorf("ended with %v", err)
		}
		if m := conntest.Contents[core.Message](r); len(m) != 1 || !m[0].Partial || m[0].Text != "half" {
			t.Errorf("%+v", m)
		}
		if x := conntest.Contents[core.ToolCompleted](r); len(x) != 1 || x[0].Status != core.ToolFailed {
			t.Errorf("%+v", x)
		}
		if err := r.Conn.Send(core.StartTurn{ID: 99, TurnID: "late"}); err == nil {
			t.Error("a dead link took an op")
		}
	})
}

func TestAnOpeningThatFailsReportsWhyAndLeavesNothing(t *testing.T) {
	cases := map[string]struct {
		cfg  core.SessionConfig
		play func(*fake)
		want string
	}{
		"Pi dies": {core.SessionConfig{}, func(f *fake) {
			f.expect("get_state")
			_, _ = io.WriteString(f.ErrOut, "secret=1\nError: No session found matching 'x'\n")
			f.End(process.Exit{Code: 1})
		}, "exit code 1: Error: No session found"},
		"Pi refuses":           {core.SessionConfig{}, func(f *fake) { f.reply(f.expect("get_state"), `false,"error":"broken"`) }, "broken"},
		"another conversation": {core.SessionConfig{ProviderSesID: "ab"}, func(f *fake) { f.handshake() }, "abc instead of ab"},
		"no fork":              {core.SessionConfig{ProviderSesID: "abc", Fork: true}, func(f *fake) { f.handshake() }, "did not fork"},
		"no gate":              {core.SessionConfig{}, func(f *fake) { f.reply(f.expect("get_state"), idle) }, "asks for approvals"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				go c.play(f)
				c.cfg.CWD = t.TempDir()
				_, err := fakeProvider(t, f).Open(t.Context(), c.cfg)
				if core.CodeOf(err) != core.CodeStartFailed || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v", err)
				}
				<-f.Done()
			})
		})
	}
}

func TestAnOpeningEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		go f.expect("get_state") // and no answer
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := fakeProvider(t, f).Open(ctx, core.SessionConfig{CWD: t.TempDir()})
		if core.CodeOf(err) != core.CodeStartFailed || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		<-f.Done()
	})
}

func TestWithoutTheGateASessionThatNeverAsksOpensWithAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		go func() { f.reply(f.expect("get_state"), idle) }()
		conn, err := fakeProvider(t, f).Open(t.Context(), core.SessionConfig{CWD: t.TempDir(), ApprovalMode: core.ApprovalAuto})
		if err != nil {
			t.Fatal(err)
		}
		if w := conn.Ready().Warnings; len(w) != 1 || !strings.Contains(w[0], "approval_mode") {
			t.Errorf("%q", w)
		}
		r := conntest.Record(t, conn)
		op := r.Send(core.Configure{ID: r.NextOp(), Changes: core.Changes{ApprovalMode: core.ApprovalPrompt}})
		if d := r.OpDone(op); core.CodeOf(d.Err) != core.CodeCapability {
			t.Errorf("%+v", d)
		}
		r.Close()
	})
}
