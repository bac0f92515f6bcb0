package modelserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func user(text string) object {
	return object{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": text}}}
}

func output(text string) object {
	return object{"type": "function_call_output", "call_id": "c", "output": text}
}

// post sends the items and returns the status and the events of the stream.
func post(t *testing.T, s *Server, items ...object) (int, []object) {
	t.Helper()
	body, _ := json.Marshal(object{"input": items, "prompt_cache_key": "k", "tools": []object{
		{"type": "namespace", "name": "people", "tools": []object{{"type": "function", "name": "request_user_input"}}}}})
	res, err := http.Post(s.URL()+"/v1/responses", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var events []object
	for in := bufio.NewScanner(res.Body); in.Scan(); {
		if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
			var e object
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
	}
	return res.StatusCode, events
}

// done returns the finished output items and whether the response completed.
func done(events []object) (items []object, completed bool) {
	for _, e := range events {
		switch e["type"] {
		case "response.output_item.done":
			items = append(items, e["item"].(object))
		case "response.completed":
			completed = true
		}
	}
	return items, completed
}

func text(t *testing.T, item object) string {
	t.Helper()
	content, ok := item["content"].([]any)
	if !ok || len(content) != 1 {
		t.Fatalf("not a message: %v", item)
	}
	return content[0].(object)["text"].(string)
}

func TestDeltasJoinToTheMessage(t *testing.T) {
	s := start(t)
	for _, prompt := range []string{"say h\u00e9llo there, \u4e16\u754c", "stream 7", "just a prompt"} {
		_, events := post(t, s, user(prompt))
		var joined string
		for _, e := range events {
			if e["type"] == "response.output_text.delta" {
				joined += e["delta"].(string)
			}
		}
		items, completed := done(events)
		if !completed || len(items) != 1 {
			t.Fatalf("%q: completed %v, items %v", prompt, completed, items)
		}
		if got := text(t, items[0]); got != joined || got == "" {
			t.Errorf("%q: deltas %q, message %q", prompt, joined, got)
		}
	}
}

func TestFillIsAsLongAsItSays(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 64_000, 200_001} {
		whole := strings.Join(fill(n), "")
		if len(whole) != n {
			t.Errorf("fill %d is %d bytes long", n, len(whole))
		}
	}
	if got := fill(65 * 1000); len(got) != 2 || !strings.HasSuffix(got[1][:64], "1001\n") {
		t.Errorf("%d deltas", len(got))
	}
}

func TestScriptGoesOnAfterEachToolResult(t *testing.T) {
	s := start(t)
	prompt := user("think about it\nsay first\nrun ls -l\nescalate make\npatch a.txt one line\nask Which?|A|B\ncall other {\"n\":1}\nsay last")
	var got []string
	items := []object{user("<environment_context>x</environment_context>"), user("earlier"), prompt}
	for range 6 {
		_, events := post(t, s, items...)
		out, completed := done(events)
		if !completed {
			t.Fatal("a response did not complete")
		}
		for _, it := range out {
			switch it["type"] {
			case "function_call":
				ns, _ := it["namespace"].(string)
				got = append(got, it["name"].(string)+" "+ns+" "+it["arguments"].(string))
			case "message":
				got = append(got, text(t, it))
			default:
				got = append(got, it["type"].(string))
			}
		}
		items = append(items, output("fine"))
	}
	want := []string{
		"reasoning", "first",
		`exec_command  {"cmd":"ls -l","yield_time_ms":10000}`,
		`exec_command  {"cmd":"make","justification":"The loopback model was told to ask.","sandbox_permissions":"require_escalated","yield_time_ms":10000}`,
		`exec_command  {"cmd":"apply_patch \u003c\u003c'PATCH'\n*** Begin Patch\n*** Add File: a.txt\n+one line\n*** End Patch\nPATCH\n"}`,
		`request_user_input people {"questions":[{"header":"Question","id":"question","options":[{"description":"A","label":"A"},{"description":"B","label":"B"}],"question":"Which?"}]}`,
		`other  {"n":1}`,
		"last",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRememberAndOutputsReadTheConversation(t *testing.T) {
	s := start(t)
	_, events := post(t, s, user("say one"), user("<turn_aborted>x</turn_aborted>"), output("old"), user("remember\noutputs"), output("new"))
	items, _ := done(events)
	if len(items) != 2 {
		t.Fatal(items)
	}
	if got := text(t, items[0]); got != `I remember: ["say one"]` {
		t.Error(got)
	}
	if got := text(t, items[1]); got != `outputs: ["new"]` {
		t.Error(got)
	}
}

func TestFailuresLookLikeTheVendors(t *testing.T) {
	s := start(t)
	for _, status := range []int{400, 401, 429, 500} {
		got, events := post(t, s, user("fail "+itoa(status)))
		if got != status || len(events) != 0 {
			t.Errorf("fail %d gave %d and %d events", status, got, len(events))
		}
	}
	_, events := post(t, s, user("fail rate_limit_exceeded"))
	if last := events[len(events)-1]; last["type"] != "response.failed" {
		t.Errorf("last event is %v", last)
	}
	_, events = post(t, s, user("cut"))
	if _, completed := done(events); completed || len(events) != 3 {
		t.Errorf("cut gave %v", events)
	}
	got, _ := post(t, s, user("once fail 500\nsay ok"))
	again, _ := post(t, s, user("once fail 500\nsay ok"))
	if got != 500 || again != 200 {
		t.Errorf("once gave %d then %d", got, again)
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestSilentEndsWithItsCallerAndWithTheServer(t *testing.T) {
	s := start(t)
	open := func(ctx context.Context) io.ReadCloser {
		body, _ := json.Marshal(object{"input": "silent"})
		r, _ := http.NewRequestWithContext(ctx, "POST", s.URL()+"/v1/responses", bytes.NewReader(body))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return res.Body
	}
	ctx, cancel := context.WithCancel(t.Context())
	mine := open(ctx)
	cancel()
	if _, err := io.ReadAll(mine); err == nil {
		t.Error("a cancelled call ended without an error")
	}
	_ = mine.Close()
	theirs := open(t.Context())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(theirs) // returns: the server ended the stream
	_ = theirs.Close()
}

func TestRequestsAreRecordedWithinABound(t *testing.T) {
	s := start(t)
	for i := range maxRecorded + 3 {
		s.record(Request{Prompt: itoa(i)})
	}
	if got := s.Requests(); len(got) != maxRecorded || got[0].Prompt != "3" {
		t.Errorf("%d kept, first %q", len(got), got[0].Prompt)
	}
	post(t, s, user("say hi"))
	got := s.Requests()
	if last := got[len(got)-1]; last.Prompt != "say hi" || last.API != "responses" || len(last.Body) == 0 {
		t.Errorf("last is %+v", last)
	}
}

func TestGarbageIsRefused(t *testing.T) {
	s := start(t)
	for _, body := range []string{"", "{", `{"input": 3}`} {
		res, err := http.Post(s.URL()+"/v1/responses", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q gave %d", body, res.StatusCode)
		}
	}
}
