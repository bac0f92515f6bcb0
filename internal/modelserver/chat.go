package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// chatAPI is OpenAI's Chat Completions API, as most other agents use it:
// streaming, and plain JSON.
var chatAPI = api{
	name:   "chat",
	decode: decodeChat,
	refuse: refuseOpenAI,
	reply: func(s *Server, w http.ResponseWriter, request any) responseWriter {
		r := request.(*chatRequest)
		c := &completion{server: s, w: w, request: r, id: s.nextID("chatcmpl"), finish: "stop"}
		if r.Stream {
			return newChatStream(c)
		}
		return &chatJSON{completion: c}
	},
}

// chatRequest is the part of a request that matters here.
type chatRequest struct {
	Model    string        `json:"model"`
	Stream   bool          `json:"stream"`
	Messages []chatMessage `json:"messages"`
	Tools    []struct {
		Function toolSchema `json:"function"`
	} `json:"tools"`

	size int // bytes of the request
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a string, or parts with a text
}

func (r *chatRequest) tools() []toolSchema {
	list := make([]toolSchema, len(r.Tools))
	for i, t := range r.Tools {
		list[i] = t.Function
	}
	return list
}

func decodeChat(body []byte) (conversation, any, error) {
	r := chatRequest{size: len(body)}
	if err := json.Unmarshal(body, &r); err != nil {
		return conversation{}, nil, fmt.Errorf("modelserver: decode request: %w", err)
	}
	if len(r.Messages) == 0 {
		return conversation{}, nil, fmt.Errorf("modelserver: a request without messages")
	}
	var c conversation
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			c.told(contentTexts(m.Content))
		case "tool":
			c.outputs = append(c.outputs, contentText(m.Content))
		}
	}
	if len(r.Tools) == 0 {
		c.prompts = []string{noTools}
	}
	return c, &r, nil
}

// noTools is the script of a request that offers no tools: agents ask so for
// titles and summaries, and quote the prompt that is another request's script.
const noTools = "say A title"

// told takes one user message. Each text of it is a prompt of its own: an agent
// may send one that got no answer again, together with the next.
func (c *conversation) told(texts []string) {
	for _, text := range texts {
		if text = withoutNotes(text); text != "" {
			c.prompts = append(c.prompts, text)
			c.outputs, c.rounds = nil, 0
		}
	}
}

// withoutNotes takes out what agents put around a person's words: blocks in
// tags that stand on lines of their own.
func withoutNotes(text string) string {
	var kept []string
	end := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if end != "" {
			if strings.HasSuffix(trimmed, end) {
				end = ""
			}
			continue
		}
		if name := openTag(trimmed); name != "" {
			if end = "</" + name + ">"; strings.HasSuffix(trimmed, end) {
				end = ""
			}
			continue
		}
		kept = append(kept, line)
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// openTag is the name of the tag that a line begins with, such as
// system-reminder or current_datetime.
func openTag(line string) string {
	rest, ok := strings.CutPrefix(line, "<")
	if !ok {
		return ""
	}
	end := strings.IndexAny(rest, "> ")
	if end <= 0 || !strings.Contains(rest, ">") {
		return ""
	}
	name := rest[:end]
	for _, r := range name {
		if r != '-' && r != '_' && (r < 'a' || r > 'z') {
			return ""
		}
	}
	return name
}

// completion is one answer, in whichever way it is written.
type completion struct {
	server  *Server
	w       http.ResponseWriter
	request *chatRequest
	id      string
	finish  string
	output  int // bytes said, for the usage
	calls   int
}

func (c *completion) usage() object {
	in, out := c.request.size/4, c.output/4+1
	return object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

// chosen returns the call of a tool as the API has it.
func (c *completion) chosen(d directive) object {
	name, arguments := chooseTool(d, c.request.tools())
	c.finish = "tool_calls"
	call := object{"index": c.calls, "id": c.server.nextID("call"), "type": "function",
		"function": object{"name": name, "arguments": arguments}}
	c.calls++
	return call
}

// chatStream writes an answer as server-sent events.
type chatStream struct{ *completion }

func newChatStream(c *completion) *chatStream {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	s := &chatStream{c}
	// An error here meets the first event of the play again.
	_ = s.delta(object{"role": "assistant", "content": ""}, nil)
	return s
}

func (s *chatStream) data(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("modelserver: encode chunk: %w", err)
	}
	return s.write(string(raw))
}

func (s *chatStream) write(text string) error {
	if _, err := fmt.Fprintf(s.w, "data: %s\n\n", text); err != nil {
		return fmt.Errorf("modelserver: write chunk: %w", err)
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
	return nil
}

func (s *chatStream) chunk(choices []object) object {
	return object{"id": s.id, "object": "chat.completion.chunk", "created": 1, "model": s.request.Model, "choices": choices}
}

func (s *chatStream) delta(delta object, finish any) error {
	return s.data(s.chunk([]object{{"index": 0, "delta": delta, "finish_reason": finish}}))
}

func (s *chatStream) each(field string, pieces []string, wait func() error) error {
	for _, p := range pieces {
		if err := wait(); err != nil {
			return err
		}
		s.output += len(p)
		if err := s.delta(object{field: p}, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *chatStream) say(pieces []string, wait func() error) error {
	return s.each("content", pieces, wait)
}

func (s *chatStream) think(text string, wait func() error) error {
	return s.each("reasoning_content", split(text), wait)
}

func (s *chatStream) tool(d directive) error {
	return s.delta(object{"tool_calls": []object{s.chosen(d)}}, nil)
}

func (s *chatStream) end() error {
	if err := s.delta(object{}, s.finish); err != nil {
		return err
	}
	last := s.chunk([]object{})
	last["usage"] = s.usage()
	if err := s.data(last); err != nil {
		return err
	}
	return s.write("[DONE]")
}

func (s *chatStream) failed(code string) error {
	return s.data(object{"error": object{"code": code, "type": code, "message": "The loopback model was told to fail with " + code + "."}})
}

func (s *chatStream) cut() error { return s.delta(object{"content": "half an ans"}, nil) }

// chatJSON writes an answer in one piece.
type chatJSON struct {
	*completion
	text  strings.Builder
	tools []object
}

func (j *chatJSON) say(pieces []string, wait func() error) error {
	for _, p := range pieces {
		if err := wait(); err != nil {
			return err
		}
		j.text.WriteString(p)
	}
	return nil
}

func (j *chatJSON) think(_ string, wait func() error) error { return wait() }

func (j *chatJSON) tool(d directive) error {
	j.tools = append(j.tools, j.chosen(d))
	return nil
}

func (j *chatJSON) end() error {
	j.output = j.text.Len()
	answer := object{"role": "assistant", "content": j.text.String()}
	if len(j.tools) > 0 {
		answer["tool_calls"] = j.tools
	}
	j.w.Header().Set("Content-Type", "application/json")
	err := json.NewEncoder(j.w).Encode(object{"id": j.id, "object": "chat.completion", "created": 1, "model": j.request.Model,
		"choices": []object{{"index": 0, "message": answer, "finish_reason": j.finish}}, "usage": j.usage()})
	if err != nil {
		return fmt.Errorf("modelserver: write completion: %w", err)
	}
	return nil
}

func (j *chatJSON) failed(string) error {
	refuseOpenAI(j.w, http.StatusInternalServerError)
	return nil
}

// cut drops the connection; the HTTP server does not log this panic.
func (j *chatJSON) cut() error { panic(http.ErrAbortHandler) }
