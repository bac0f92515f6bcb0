package modelserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// postJSON sends a body and returns the status and what came back: the events of
// a stream, or the one object.
func postJSON(t *testing.T, s *Server, path string, body object) (int, []object) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.URL()+path, "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var list []object
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		all, _ := io.ReadAll(res.Body)
		var one object
		if err := json.Unmarshal(all, &one); err != nil {
			t.Fatalf("%s: %v", all, err)
		}
		return res.StatusCode, []object{one}
	}
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var one object
		if err := json.Unmarshal([]byte(data), &one); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		list = append(list, one)
	}
	return res.StatusCode, list
}

// dig follows keys and places through decoded JSON; nil where there is none.
func dig(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

var shellTool = object{"name": "run_shell_command", "parameters": object{
	"properties": object{"command": object{"type": "string"}, "is_background": object{"type": "boolean"}, "how": object{"enum": []string{"fast", "slow"}}},
	"required":   []string{"command", "is_background", "how"}}}

func chatBody(stream bool, messages ...object) object {
	return object{"model": "m", "stream": stream, "messages": messages, "tools": []object{{"type": "function", "function": shellTool}}}
}

func TestChatStreamsAndAnswersWhole(t *testing.T) {
	s := start(t)
	ask := object{"role": "user", "content": []object{
		{"type": "text", "text": "<system-reminder>\nsay nothing of this\n</system-reminder>"}, {"type": "text", "text": "think hard\nsay hello"}}}
	status, events := postJSON(t, s, "/v1/chat/completions", chatBody(true, ask))
	if status != http.StatusOK {
		t.Fatal(status)
	}
	text, thought := "", ""
	for _, e := range events {
		if c, ok := dig(e, "choices", 0, "delta", "content").(string); ok {
			text += c
		}
		if c, ok := dig(e, "choices", 0, "delta", "reasoning_content").(string); ok {
			thought += c
		}
	}
	last := events[len(events)-1]
	if text != "hello" || thought != "hard" || dig(last, "usage", "total_tokens") == nil {
		t.Errorf("said %q, thought %q, last %v", text, thought, last)
	}
	_, whole := postJSON(t, s, "/v1/chat/completions", chatBody(false, ask))
	if got := dig(whole[0], "choices", 0, "message", "content"); got != "hello" {
		t.Errorf("whole: %v", whole[0])
	}
}

func TestChatCallsTheToolThatTheAgentOffers(t *testing.T) {
	s := start(t)
	ask := object{"role": "user", "content": "run ls\nsay over"}
	_, events := postJSON(t, s, "/v1/chat/completions", chatBody(true, ask))
	call := dig(events[1], "choices", 0, "delta", "tool_calls", 0, "function")
	want := map[string]any{"name": "run_shell_command", "arguments": `{"command":"ls","how":"fast","is_background":false}`}
	if d := cmp.Diff(want, call); d != "" {
		t.Error(d)
	}
	_, events = postJSON(t, s, "/v1/chat/completions", chatBody(false, ask,
		object{"role": "assistant", "tool_calls": []object{}}, object{"role": "tool", "content": "files"}))
	if got := dig(events[0], "choices", 0, "message", "content"); got != "over" {
		t.Errorf("after the tool: %v", events[0])
	}
}

func TestChatWithoutToolsIsATitle(t *testing.T) {
	s := start(t)
	body := object{"messages": []object{{"role": "user", "content": "silent"}}}
	_, events := postJSON(t, s, "/v1/chat/completions", body)
	if got := dig(events[0], "choices", 0, "message", "content"); got != "A title" {
		t.Error(events[0])
	}
}

func TestChatTakesAPromptThatIsSentAgainApart(t *testing.T) {
	s := start(t)
	again := object{"role": "user", "content": []object{{"type": "text", "text": "stream 2000"}, {"type": "text", "text": "say next"}}}
	_, events := postJSON(t, s, "/v1/chat/completions", chatBody(false, again))
	if got := dig(events[0], "choices", 0, "message", "content"); got != "next" {
		t.Error(events[0])
	}
}

func geminiBody(contents ...object) object {
	return object{"contents": contents, "tools": []object{{"functionDeclarations": []object{
		{"name": shellTool["name"], "parametersJsonSchema": shellTool["parameters"]}}}}}
}

func TestGeminiStreamsCallsAndCounts(t *testing.T) {
	s := start(t)
	const path = "/v1beta/models/some-model:"
	said := func(text string) object {
		return object{"role": "user", "parts": []object{{"text": text}}}
	}
	_, events := postJSON(t, s, path+"streamGenerateContent", geminiBody(said("think hard\nrun ls\nsay over")))
	if dig(events[0], "candidates", 0, "content", "parts", 0, "thought") != true {
		t.Errorf("no thought: %v", events[0])
	}
	var call any
	for _, e := range events {
		if c := dig(e, "candidates", 0, "content", "parts", 0, "functionCall"); c != nil {
			call = c
		}
	}
	if dig(call, "name") != "run_shell_command" || dig(call, "args", "command") != "ls" {
		t.Errorf("call: %v", call)
	}
	_, events = postJSON(t, s, path+"generateContent", geminiBody(said("run ls\nsay over"),
		object{"role": "user", "parts": []object{{"functionResponse": object{"response": object{"output": "files"}}}}}))
	parts, _ := dig(events[0], "candidates", 0, "content", "parts").([]any)
	text := ""
	for _, p := range parts {
		text += dig(p, "text").(string)
	}
	if text != "over" {
		t.Errorf("after the tool: %v", events[0])
	}
	if _, events = postJSON(t, s, path+"countTokens", object{}); dig(events[0], "totalTokens") == nil {
		t.Error(events[0])
	}
	if status, events := postJSON(t, s, path+"generateContent", geminiBody(said("fail 429"))); status != http.StatusTooManyRequests ||
		dig(events[0], "error", "status") != "RESOURCE_EXHAUSTED" {
		t.Error(status, events)
	}
}
