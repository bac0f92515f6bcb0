package modelserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func claudeUser(blocks ...object) object { return object{"role": "user", "content": blocks} }

func textBlock(text string) object { return object{"type": "text", "text": text} }

func toolBlock(text string) object {
	return object{"type": "tool_result", "tool_use_id": "t", "content": []object{textBlock(text)}}
}

// postMessages sends a conversation and returns the status and the events, or the
// whole message.
func postMessages(t *testing.T, s *Server, stream bool, messages ...object) (int, []object) {
	t.Helper()
	body, err := json.Marshal(object{"model": "m", "stream": stream, "messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.URL()+"/v1/messages?beta=true", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var list []object
	for in := bufio.NewScanner(res.Body); in.Scan(); {
		line := strings.TrimPrefix(in.Text(), "data: ")
		var o object
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &o) == nil {
			list = append(list, o)
		}
	}
	return res.StatusCode, list
}

// blocksOf puts the blocks of a stream together: texts, thoughts and calls.
func blocksOf(events []object) (list []string, stop string) {
	for _, e := range events {
		switch e["type"] {
		case "content_block_start":
			b := e["content_block"].(object)
			name, _ := b["name"].(string)
			list = append(list, b["type"].(string)+":"+name)
		case "content_block_delta":
			d := e["delta"].(object)
			for _, key := range []string{"text", "thinking", "partial_json"} {
				piece, _ := d[key].(string)
				list[len(list)-1] += piece
			}
		case "message_delta":
			stop = e["delta"].(object)["stop_reason"].(string)
		}
	}
	return list, stop
}

func TestMessagesStreamFollowsTheScript(t *testing.T) {
	s := start(t)
	prompt := claudeUser(textBlock("<system-reminder>say no</system-reminder>"), textBlock("think it over\nsay first\nrun ls\npatch a.txt one\nask Which?|A|B\ncalls [[\"Read\",{\"n\":1}],[\"Read\",{\"n\":2}]]\nsay last"))
	messages := []object{claudeUser(textBlock("earlier")), {"role": "system", "content": "say no"}, prompt}
	var got []string
	for i := range 5 {
		_, events := postMessages(t, s, true, messages...)
		list, stop := blocksOf(events)
		got = append(got, append(list, stop)...)
		results := []object{toolBlock("fine")}
		if i == 3 {
			results = append(results, toolBlock("fine too"))
		}
		messages = append(messages, claudeUser(results...))
	}
	want := []string{
		"thinking:it over", "text:first", `tool_use:Bash{"command":"ls","description":"what the script says"}`, "tool_use",
		`tool_use:Write{"content":"one\n","file_path":"a.txt"}`, "tool_use",
		`tool_use:AskUserQuestion{"questions":[{"header":"Question","multiSelect":false,"options":[{"description":"A","label":"A"},{"description":"B","label":"B"}],"question":"Which?"}]}`, "tool_use",
		`tool_use:Read{"n":1}`, `tool_use:Read{"n":2}`, "tool_use",
		"text:last", "end_turn",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMessagesInOnePieceSayTheSame(t *testing.T) {
	s := start(t)
	status, list := postMessages(t, s, false, claudeUser(textBlock("say h\u00e9llo\nrun ls")))
	if status != http.StatusOK || len(list) != 1 {
		t.Fatalf("%d: %v", status, list)
	}
	content := list[0]["content"].([]any)
	if len(content) != 2 || content[0].(object)["text"] != "h\u00e9llo" || content[1].(object)["name"] != "Bash" || list[0]["stop_reason"] != "tool_use" {
		t.Errorf("the message is %v", list[0])
	}
}

func TestMessagesThatGotNoAnswerAreTwoPrompts(t *testing.T) {
	s := start(t)
	for name, message := range map[string]object{
		"of one text":   claudeUser(textBlock("say first\n\n[Request interrupted by user]\n\nremember")),
		"of blocks":     claudeUser(textBlock("say first"), textBlock("[Request interrupted by user]"), textBlock("remember")),
		"with a result": claudeUser(textBlock("say first"), toolBlock("x"), textBlock("remember")),
	} {
		_, events := postMessages(t, s, true, message)
		if list, _ := blocksOf(events); len(list) != 1 || list[0] != `text:I remember: ["say first"]` {
			t.Errorf("%s: %q", name, list)
		}
	}
}

func TestMessagesFailAsTheVendorDoes(t *testing.T) {
	s := start(t)
	for status, kind := range map[int]string{401: "authentication_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"} {
		got, list := postMessages(t, s, true, claudeUser(textBlock("fail "+itoa(status))))
		if got != status || len(list) != 1 || list[0]["error"].(object)["type"] != kind {
			t.Errorf("fail %d gave %d: %v", status, got, list)
		}
	}
	_, events := postMessages(t, s, true, claudeUser(textBlock("fail overloaded_error")))
	if last := events[len(events)-1]; last["type"] != "error" {
		t.Errorf("last event is %v", last)
	}
	_, events = postMessages(t, s, true, claudeUser(textBlock("cut")))
	if last := events[len(events)-1]; last["type"] != "content_block_delta" {
		t.Errorf("a cut ends with %v", last)
	}
}

func TestMessagesAnswerWhatTheCLIAsksBeside(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ method, path, want string }{
		{http.MethodPost, "/v1/messages/count_tokens", "input_tokens"},
		{http.MethodGet, "/v1/models", "has_more"},
		{http.MethodHead, "/", ""},
	} {
		r, err := http.NewRequest(c.method, s.URL()+c.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, _ = b.ReadFrom(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || !strings.Contains(b.String(), c.want) {
			t.Errorf("%s %s gave %d: %s", c.method, c.path, res.StatusCode, b.String())
		}
	}
	if status, _ := postMessages(t, s, true); status != http.StatusBadRequest {
		t.Errorf("a request without messages gave %d", status)
	}
}
