package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/providers/demo"
	"github.com/harness-mcp/harness-mcp/tools"
	"github.com/mark3labs/mcp-go/server"
)

// client calls tools over the protocol, on a real harness with the scripted
// agent, inside a bubble of fake time.
type client struct {
	t   *testing.T
	srv *server.MCPServer
	h   *harness.Harness
	cwd string
}

func withClient(t *testing.T, o tools.Options, f func(c *client)) {
	t.Helper()
	withLimits(t, o, core.Limits{}, f)
}

func withLimits(t *testing.T, o tools.Options, limits core.Limits, f func(c *client)) {
	t.Helper()
	dir, cwd := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := harness.New(harness.Config{
			Store:     memstore.New(),
			Limits:    limits,
			Providers: []core.Provider{demo.New(demo.Options{Dir: dir})},
		})
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := h.Shutdown(ctx); err != nil {
				t.Errorf("shutdown: %v", err)
			}
		}()
		f(&client{t: t, srv: tools.NewServer(h, o), h: h, cwd: cwd})
	})
}

// answer is a reply: its text half, and its structured half by fields.
type answer struct {
	t       *testing.T
	isError bool
	text    string
	object  map[string]any
	size    int
}

func (c *client) call(tool string, arguments map[string]any) answer {
	c.t.Helper()
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": arguments}})
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := json.Marshal(c.srv.HandleMessage(c.t.Context(), raw))
	if err != nil {
		c.t.Fatal(err)
	}
	var m struct {
		Result struct {
			IsError           bool
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
		}
		Error json.RawMessage
	}
	if err := json.Unmarshal(out, &m); err != nil || m.Error != nil || len(m.Result.Content) == 0 {
		c.t.Fatalf("%s: %s (%v)", tool, out, err)
	}
	a := answer{t: c.t, isError: m.Result.IsError, text: m.Result.Content[0].Text, size: len(m.Result.StructuredContent)}
	if err := json.Unmarshal(m.Result.StructuredContent, &a.object); err != nil {
		c.t.Fatal(err)
	}
	return a
}

// must is a call that has to succeed.
func (c *client) must(tool string, arguments map[string]any) answer {
	c.t.Helper()
	a := c.call(tool, arguments)
	if a.isError {
		c.t.Fatalf("%s %v: %s", tool, arguments, a.text)
	}
	return a
}

// get follows names and list positions into the structured half.
func (a answer) get(path ...any) any {
	a.t.Helper()
	var v any = a.object
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				a.t.Fatalf("no %v in %v", path, a.object)
			}
			v = m[p]
		case int:
			l, ok := v.([]any)
			if !ok || p >= len(l) {
				a.t.Fatalf("no %v in %v", path, a.object)
			}
			v = l[p]
		}
	}
	return v
}

func (a answer) str(path ...any) string {
	a.t.Helper()
	s, _ := a.get(path...).(string)
	return s
}

func (a answer) num(path ...any) float64 {
	a.t.Helper()
	n, ok := a.get(path...).(float64)
	if !ok {
		a.t.Fatalf("%v is no number: %v", path, a.get(path...))
	}
	return n
}

func (a answer) is(want string, path ...any) answer {
	a.t.Helper()
	if got := fmt.Sprint(a.get(path...)); got != want {
		a.t.Errorf("%v is %s, want %s\n%s", path, got, want, a.text)
	}
	return a
}

func (a answer) says(words ...string) answer {
	a.t.Helper()
	for _, w := range words {
		if !strings.Contains(a.text, w) {
			a.t.Errorf("the text does not say %q:\n%s", w, a.text)
		}
	}
	return a
}

// closes checks that the session of a delegated task closes behind the reply, or has.
func (a answer) closes() answer {
	a.t.Helper()
	if st := a.str("session_status"); st != "closing" && st != "closed" {
		a.t.Errorf("the session is %s:\n%s", st, a.text)
	}
	return a
}

type args = map[string]any

func (c *client) start(extra args) string {
	c.t.Helper()
	a := args{"provider": "demo", "cwd": c.cwd}
	for k, v := range extra {
		a[k] = v
	}
	return c.must("start_session", a).str("session_id")
}

func TestOneTaskTakesOneCall(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		a := c.must("delegate", args{"provider": "demo", "cwd": c.cwd, "prompt": "say all is well"})
		a.is("completed", "status").closes().is("all is well", "text").says("all is well", "completed", a.str("session_status"))

		again := c.must("start_session", args{"resume": a.str("session_id")})
		again.is("idle", "status").is(a.str("session_id"), "session_id")
	})
}

func TestADelegatedTaskClosesItsSessionWhoeverWaits(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		a := c.must("delegate", args{"provider": "demo", "cwd": c.cwd, "prompt": "slow 5000\nsay late", "wait_ms": 0})
		kept := c.must("delegate", args{"provider": "demo", "cwd": c.cwd, "prompt": "say kept", "wait_ms": 0, "keep_open": true})
		c.must("await", args{"ids": []string{a.str("turn_id"), kept.str("turn_id")}}).is("done", "outcome").says("late", "kept")
		time.Sleep(time.Second)
		c.must("inspect", args{"id": a.str("session_id")}).is("closed", "status").is("late", "last_turn", "text")
		c.must("inspect", args{"id": kept.str("session_id")}).is("idle", "status")
	})
}

func TestADelegatedTaskThatIsNotAwaitedEndsWithTheServer(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		c.must("delegate", args{"provider": "demo", "cwd": c.cwd, "prompt": "approve", "wait_ms": 0})
	})
}

func TestASessionOfSeveralTurns(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses := c.start(nil)
		first := c.must("send_message", args{"session_id": ses, "prompt": "slow 2000\nsay one"})
		first.is("starting", "status")
		busy := c.call("send_message", args{"session_id": ses, "prompt": "say no"})
		busy.is("turn_in_progress", "error", "code").says(first.str("turn_id"))
		second := c.must("follow_up", args{"session_id": ses, "prompt": "slow 10\nsay two"})
		second.is("queued", "status").is("1", "queue_position")

		timeout := c.must("await", args{"ids": []string{first.str("turn_id")}, "wait_ms": 500})
		timeout.is("timeout", "outcome").is(first.str("turn_id"), "waiting_on", 0)
		if timeout.size > 400 || len(timeout.text) > 400 {
			t.Errorf("a time-out takes %d and %d bytes", timeout.size, len(timeout.text))
		}
		both := c.must("await", args{"ids": []string{second.str("turn_id"), first.str("turn_id")}})
		both.is("done", "outcome").is("one", "results", 0, "text").is("two", "results", 1, "text").says("one", "two")
		c.must("await", args{"ids": ses}).is("two", "results", 0, "last_turn", "text")
		c.must("close", args{"id": ses}).is("closed", "status").is("false", "live")
	})
}

func TestAnApprovalIsHandedToTheCaller(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses := c.start(nil)
		a := c.must("send_message", args{"session_id": ses, "prompt": "approve\nsay done", "wait_ms": 10_000})
		a.is("awaiting_input", "status").is("command_approval", "pending_requests", 0, "kind")
		req := a.str("pending_requests", 0, "request_id")
		a.says(req, a.str("pending_requests", 0, "details", "command"), `"action":"approve"`)

		c.must("list", args{"kind": "requests", "status": "pending"}).is(req, "items", 0, "request_id")
		wrong := c.call("respond", args{"request_id": req, "action": "answer", "answer": "yes"})
		wrong.is("action_unsupported", "error", "code").says("approve", "deny")
		done := c.must("respond", args{"request_id": req, "action": "approve", "wait_ms": "10000"})
		done.is("resolved", "status").is("completed", "turn", "status").is("done", "turn", "text").says("done")
		late := c.call("respond", args{"request_id": req, "action": "approve"})
		late.is("request_not_pending", "error", "code").is("resolved", "error", "details", "state").says("resolved", req)
	})
}

func TestAQuestionIsAnsweredByOneOfItsChoices(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses := c.start(nil)
		c.must("send_message", args{"session_id": ses, "prompt": "ask\nsay done"})
		a := c.must("await", args{"ids": ses})
		a.is("request_pending", "outcome")
		next := a.get("next", 0).(map[string]any)
		if next["tool"] != "respond" {
			t.Fatalf("suggests %v", next)
		}
		call := next["arguments"].(map[string]any)
		call["wait_ms"] = 10_000
		c.must("respond", call).is("completed", "turn", "status")
	})
}

func TestInterruptSaysWhatFollows(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses := c.start(nil)
		c.must("send_message", args{"session_id": ses, "prompt": "slow 60000"})
		queued := c.must("follow_up", args{"session_id": ses, "prompt": "say next"})
		a := c.must("interrupt", args{"session_id": ses, "wait_ms": 10_000})
		a.is("cancelled", "status").is("1", "queued_turns").says("1 queued turn")
		c.must("await", args{"ids": queued.str("turn_id")}).is("next", "results", 0, "text")
		none := c.call("interrupt", args{"session_id": ses})
		none.is("no_active_turn", "error", "code")
	})
}

func TestALongAnswerIsCutAndReadInPages(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses := c.start(nil)
		want := strings.Repeat("gr\u00fc\u00dfe \"x\" ", 4000)
		a := c.must("send_message", args{"session_id": ses, "prompt": "say " + want, "wait_ms": 60_000})
		a.is("true", "truncated").says("bytes: inspect {id, offset: ")
		total := int(a.num("text_bytes"))
		if len(a.text) > 8<<10 || a.size > 8<<10+1000 { // mcp-go escapes a little more
			t.Errorf("halves of %d and %d bytes", len(a.text), a.size)
		}
		var got strings.Builder
		for offset := 0; ; {
			p := c.must("inspect", args{"id": a.str("turn_id"), "offset": offset})
			got.WriteString(p.str("text"))
			p.says(p.str("text"))
			if p.get("next_offset") == nil {
				break
			}
			offset = int(p.num("next_offset"))
		}
		if got.Len() != total || !strings.Contains(got.String(), strings.TrimSpace(want)) {
			t.Errorf("pages give %d bytes of %d", got.Len(), total)
		}
	})
}

func TestAJournalReadsTheSameInPagesAsAtOnce(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses := c.start(nil)
		c.must("send_message", args{"session_id": ses, "prompt": "think hard\nrun\nstream 300\npatch\nsay end", "wait_ms": 60_000})
		for _, view := range []string{"joined", "summary", "events", "raw"} {
			whole := c.must("replay", args{"id": ses, "view": view, "max_bytes": 1 << 20, "limit": 1000})
			whole.is("false", "more")
			var seqs []string
			after := 0.0
			for range 200 {
				p := c.must("replay", args{"id": ses, "view": view, "after": after, "max_bytes": 2000})
				if p.size > 2000 || len(p.text) > 2000 {
					t.Errorf("%s: a page of %d and %d bytes", view, p.size, len(p.text))
				}
				for _, e := range p.get("events").([]any) {
					seqs = append(seqs, fmt.Sprint(e.(map[string]any)["seq"]))
				}
				if p.get("more") == false {
					break
				}
				if p.num("cursor") <= after {
					t.Fatalf("%s: the cursor stands still at %v", view, after)
				}
				after = p.num("cursor")
			}
			last := whole.get("events").([]any)
			if want := fmt.Sprint(last[len(last)-1].(map[string]any)["seq"]); seqs[len(seqs)-1] != want {
				t.Errorf("%s: pages end at %s, the whole at %s", view, seqs[len(seqs)-1], want)
			}
			if view != "joined" && len(seqs) != len(last) {
				t.Errorf("%s: pages have %d events, the whole has %d", view, len(seqs), len(last))
			}
		}
		joined := c.must("replay", args{"id": ses, "max_bytes": 1 << 20})
		if strings.Contains(joined.text, "message_delta") {
			t.Errorf("deltas whose message follows are shown:\n%s", joined.text)
		}
	})
}

func TestARepeatedKeyStartsNothingTwice(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		call := args{"provider": "demo", "cwd": c.cwd, "prompt": "slow 3000\nsay once", "wait_ms": 100, "idempotency_key": "k"}
		first := c.must("delegate", call)
		first.is("running", "status")
		call["wait_ms"] = 60_000
		second := c.must("delegate", call)
		second.is("completed", "status").is(first.str("turn_id"), "turn_id").is("once", "text")
		call["prompt"] = "say other"
		c.call("delegate", call).is("idempotency_conflict", "error", "code")
		if n := len(c.must("list", args{"kind": "turns"}).get("items").([]any)); n != 1 {
			t.Errorf("%d turns", n)
		}
	})
}

func TestListsPageThroughEverything(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		for range 5 {
			c.start(args{"title": strings.Repeat("t", 300)})
			time.Sleep(time.Second) // of the bubble: rows are ordered by time
		}
		seen := map[string]bool{}
		next := args{"kind": "sessions", "limit": 2}
		for range 10 {
			a := c.must("list", next)
			for i, row := range a.get("items").([]any) {
				seen[a.str("items", i, "session_id")] = true
				if b, _ := json.Marshal(row); len(b) > 200 {
					t.Errorf("a row of %d bytes: %s", len(b), b)
				}
			}
			if a.get("next_page") == nil {
				break
			}
			next["page"] = a.str("next_page")
		}
		if len(seen) != 5 {
			t.Errorf("%d of 5 sessions", len(seen))
		}
	})
}

func TestSteerConfigureAndPrune(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses := c.start(nil)
		c.call("configure", args{"session_id": ses}).is("invalid_argument", "error", "code")
		c.must("configure", args{"session_id": ses, "model": "demo-fast"}).is("demo-fast", "model")
		turn := c.must("send_message", args{"session_id": ses, "prompt": "slow 3000\nsay end"}).str("turn_id")
		time.Sleep(time.Second)
		c.must("steer", args{"session_id": ses, "prompt": "say more", "wait_ms": 60_000}).is(turn, "turn_id").is("completed", "status")
		c.call("prune", args{"id": ses}).is("resource_active", "error", "code")
		c.must("close", args{"id": ses})
		synctest.Wait() // its goroutine has let go of it
		c.must("prune", args{"id": ses}).is(ses, "pruned", 0)
		c.call("inspect", args{"id": ses}).is("not_found", "error", "code").says("list ")
	})
}

func TestOwnersDoNotSeeEachOther(t *testing.T) {
	owner := "a"
	o := tools.Options{Owner: func(context.Context) core.Caller { return core.Caller{Owner: owner} }}
	withClient(t, o, func(c *client) {
		ses := c.start(nil)
		owner = "b"
		c.call("inspect", args{"id": ses}).is("not_found", "error", "code")
		c.call("close", args{"id": ses}).is("not_found", "error", "code")
		if n := len(c.must("list", args{"kind": "sessions"}).get("items").([]any)); n != 0 {
			t.Errorf("%d rows of another owner", n)
		}
	})
}

func TestOnlyAPersonAnswersUnderTheOperatorsAnswerByUser(t *testing.T) {
	withLimits(t, tools.Options{AnswerByUser: true}, core.Limits{AnswerByUser: true}, func(c *client) {
		ses := c.start(nil)
		a := c.must("send_message", args{"session_id": ses, "prompt": "approve", "wait_ms": 10_000})
		req := a.str("pending_requests", 0, "request_id")
		a.is("await", "next", 0, "tool").is(req, "next", 0, "arguments", "ignore_requests", 0)
		c.call("respond", args{"request_id": req, "action": "approve"}).is("not_supported_by_client", "error", "code").says(req)
		c.must("inspect", args{"id": req}).is("pending", "status")
	})
}
