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
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

func TestGarbageDoesNotEndTheConversation(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say("Segmentation fault, or so")
		f.say(`{"method":"item/completed","params":{TURN,"item":{"type":7}}}`)
		f.say(`{"method":"brand/new","params":{TURN}}`)
		f.say(`{"id":99,"result":{}}`)
		f.say(`{"method":"item/agentMessage/delta","params":{TURN,"itemId":"unknown","delta":"x"}}`)
		f.end("completed")
		r.TurnEnded("trn_1")
		var kinds []string
		for _, e := range conntest.Contents[core.ProviderEvent](r) {
			kinds = append(kinds, e.Kind)
		}
		if got := strings.Join(kinds, ", "); got != "garbage, brand/new, response without a request, item/agentMessage/delta" {
			t.Error(got)
		}
		if errs := conntest.Contents[core.ProviderError](r); len(errs) != 1 || errs[0].Code != "unreadable_message" {
			t.Errorf("%+v", errs)
		}
	})
}

func TestAnEndOfCodexInATurnClosesItsItemsAndIsNoEndOfTheTurn(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/started","params":{TURN,"item":{"type":"agentMessage","id":"m1","text":""}}}`)
		f.say(`{"method":"item/agentMessage/delta","params":{TURN,"itemId":"m1","delta":"half"}}`)
		conntest.Content[core.MessageDelta](r)
		f.End(process.Exit{Code: 101})
		err := r.Ended()
		if errors.Is(err, io.EOF) || core.CodeOf(err) != core.CodeSessionUnavailable || !strings.Contains(err.Error(), "exit code 101") {
			t.Errorf("ended with %v", err)
		}
		if m := conntest.Contents[core.Message](r); len(m) != 1 || m[0] != (core.Message{Item: "m1", Text: "half", Partial: true}) {
			t.Errorf("messages %+v", m)
		}
		for _, n := range r.All() {
			if _, ok := n.(core.TurnEnded); ok {
				t.Error("a lost link ended the turn")
			}
		}
		if err := r.Conn.Send(core.StartTurn{ID: 99}); core.CodeOf(err) != core.CodeSessionUnavailable {
			t.Errorf("send: %v", err)
		}
	})
}

func TestFragmentsAreJoined(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		text := `{"method":"item/completed","params":{"threadId":"thread","turnId":"t1","item":{"type":"agentMessage","id":"m1","text":"h\u00e9llo"}}}` + "\n"
		for i := range len(text) {
			if _, err := f.Out.Write([]byte{text[i]}); err != nil {
				t.Fatal(err)
			}
		}
		f.end("completed")
		r.TurnEnded("trn_1")
		if m := conntest.Contents[core.Message](r); len(m) != 1 || m[0].Text != "h\u00e9llo" {
			t.Errorf("%+v", m)
		}
	})
}

func TestUnknownRequestsAreRefusedAtOnce(t *testing.T) {
	play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
		f.begin(r, "trn_1")
		f.say(`{"method":"item/tool/call","id":"x-1","params":{TURN}}`)
		line, err := f.In.Next()
		if err != nil || !strings.Contains(string(line), `"id":"x-1","error"`) {
			t.Errorf("%s, %v", line, err)
		}
		f.say(`{"method":"item/tool/requestUserInput","id":5,"params":{TURN,"questions":[]}}`)
		line, err = f.In.Next()
		if err != nil || !strings.Contains(string(line), `"id":5,"error"`) {
			t.Errorf("%s, %v", line, err)
		}
	})
}

func TestRequestForCredentialsFailsTheTurnAndTheLink(t *testing.T) {
	for _, method := range []string{"account/chatgptAuthTokens/refresh", "attestation/generate"} {
		play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
			f.begin(r, "trn_1")
			f.say(`{"method":"%s","id":7,"params":{}}`, method)
			if line, err := f.In.Next(); err != nil || !strings.Contains(string(line), `"id":7,"error"`) {
				t.Errorf("%s, %v", line, err)
			}
			end := r.TurnEnded("trn_1")
			if end.Verdict != core.VerdictFailed || end.Result.Error.Code != core.TurnAuthRequired {
				t.Errorf("%+v", end)
			}
			if err := r.Ended(); errors.Is(err, io.EOF) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestUnknownStatusIsNeverASuccess(t *testing.T) {
	for _, body := range []string{`"status":"inProgress"`, `"status":""`, `"status":"splendid"`, `"status":3`} {
		play(t, core.SessionConfig{}, func(f *fake, r *conntest.Recorder) {
			f.begin(r, "trn_1")
			f.say(`{"method":"turn/completed","params":{THREAD,"turn":{"id":"t1",` + body + `}}}`)
			if end := r.TurnEnded("trn_1"); end.Verdict != core.VerdictFailed || end.Result.Error == nil {
				t.Errorf("%s: %+v", body, end)
			}
		})
	}
}

func TestAFullInboxStopsReadingFromCodex(t *testing.T) {
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
			for said < 10*link.DefaultLimits.Count {
				if _, err := io.WriteString(f.Out, `{"method":"x"}`+"\n"); err != nil {
					return
				}
				said++
			}
		}()
		synctest.Wait() // every goroutine waits
		if said < link.DefaultLimits.Count || said > 10*link.DefaultLimits.Count-1 {
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
				if !errors.Is(err, io.EOF) {
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
		"died": {func(f *fake) { f.expect("initialize"); f.End(process.Exit{Code: 2}) }, "exit code 2"},
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
			if f.Stops() == 0 {
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
		if !errors.Is(err, context.DeadlineExceeded) || f.Stops() == 0 {
			t.Errorf("%v, stopped %d times", err, f.Stops())
		}
	})
}

func TestLaunchSetsTheEnvironmentAndNoPrompt(t *testing.T) {
	t.Setenv("CODEX_THREAD_ID", "outer")
	t.Setenv("CLAUDECODE", "1")
	cfg := core.SessionConfig{SessionID: "ses_1", CWD: "/somewhere", SystemPrompt: "be brief", Env: map[string]string{"MINE": "1"}}
	play(t, cfg, func(f *fake, _ *conntest.Recorder) {
		env := strings.Join(f.Spec.Env, "\n")
		if f.Spec.Dir != "/somewhere" || f.Spec.Resource != "ses_1" || f.Spec.Args[0] != "app-server" {
			t.Errorf("%+v", f.Spec)
		}
		for _, want := range []string{"MINE=1", "RUST_LOG=error"} {
			if !strings.Contains(env, want) {
				t.Errorf("no %s", want)
			}
		}
		if strings.Contains(env, "CODEX_THREAD_ID") || strings.Contains(env, "CLAUDECODE") {
			t.Error("marks of an outer agent reach the child")
		}
		if raw, _ := json.Marshal(f.Spec.Args); strings.Contains(string(raw), "brief") {
			t.Error("the system prompt is in the arguments")
		}
	})
}

func TestAnEndThatWeAskedForIsNoLoss(t *testing.T) {
	for range 50 { // the end of the process and our closing are seen in any order
		play(t, core.SessionConfig{}, func(_ *fake, r *conntest.Recorder) {
			r.Close()
			if err := r.Ended(); !errors.Is(err, io.EOF) {
				t.Fatalf("closed with %v", err)
			}
		})
	}
}
