package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responsesAPI is the OpenAI Responses API, streaming, as Codex uses it.
var responsesAPI = api{
	name:   "responses",
	decode: decodeResponses,
	refuse: refuseOpenAI,
	reply: func(s *Server, w http.ResponseWriter, request any) responseWriter {
		return newResponse(s, w, request.(*responsesRequest))
	},
}

// responsesRequest is the part of a request that matters here.
type responsesRequest struct {
	Input          json.RawMessage `json:"input"` // items, or the prompt as a string
	Tools          []offeredTool   `json:"tools"`
	PromptCacheKey string          `json:"prompt_cache_key"`

	items []responsesItem
}

type responsesItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a string, or parts with a text
	Output  json.RawMessage `json:"output"`
}

type offeredTool struct {
	Type  string        `json:"type"`
	Name  string        `json:"name"`
	Tools []offeredTool `json:"tools"` // of a namespace
}

func decodeResponses(body []byte) (conversation, any, error) {
	var r responsesRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return conversation{}, nil, fmt.Errorf("modelserver: decode request: %w", err)
	}
	c := conversation{id: r.PromptCacheKey}
	var text string
	if json.Unmarshal(r.Input, &text) == nil {
		c.prompts = []string{text}
		return c, &r, nil
	}
	if err := json.Unmarshal(r.Input, &r.items); err != nil {
		return conversation{}, nil, fmt.Errorf("modelserver: decode input: %w", err)
	}
	for _, item := range r.items {
		switch {
		case item.prompt() != "":
			c.prompts = append(c.prompts, item.prompt())
			c.outputs = nil
		case strings.HasSuffix(item.Type, "_call_output"):
			c.outputs = append(c.outputs, contentText(item.Output))
		}
	}
	return c, &r, nil
}

// prompt returns what a person said in the item, "" for other items. Agents put
// notes of their own into user messages, as parts in angle brackets or from
// files of instructions.
func (i responsesItem) prompt() string {
	if i.Role != "user" || i.Type != "" && i.Type != "message" {
		return ""
	}
	var b strings.Builder
	for _, text := range contentTexts(i.Content) {
		note := strings.TrimSpace(text)
		if !strings.HasPrefix(note, "<") && !strings.HasPrefix(note, "# AGENTS.md") {
			b.WriteString(text)
		}
	}
	return strings.TrimSpace(b.String())
}

// contentText returns the text of a content.
func contentText(raw json.RawMessage) string { return strings.Join(contentTexts(raw), "") }

// contentTexts returns the texts of a content that is a string or a list of
// parts.
func contentTexts(raw json.RawMessage) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []string{text}
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return []string{string(raw)}
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return texts
}

// refuseOpenAI writes an error as OpenAI's servers do.
func refuseOpenAI(w http.ResponseWriter, status int) {
	kind, code := "server_error", any(nil)
	switch status {
	case http.StatusUnauthorized:
		kind, code = "invalid_request_error", "invalid_api_key"
	case http.StatusTooManyRequests:
		kind, code = "rate_limit_exceeded", "rate_limit_exceeded"
		w.Header().Set("Retry-After", "1")
	case http.StatusBadRequest:
		kind, code = "invalid_request_error", "bad_request"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": object{
		"message": fmt.Sprintf("The loopback model was told to fail with status %d.", status),
		"type":    kind, "code": code, "param": nil,
	}})
}

// object is a JSON object.
type object = map[string]any

// response writes one response as server-sent events.
type response struct {
	server  *Server
	w       http.ResponseWriter
	request *responsesRequest
	id      string
	index   int // of the next output item
	output  int // bytes said, for the usage
}

func newResponse(s *Server, w http.ResponseWriter, r *responsesRequest) *response {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	out := &response{server: s, w: w, request: r, id: s.nextID("resp")}
	// An error here meets the first event of the play again.
	_ = out.event("response.created", object{"response": object{"id": out.id, "status": "in_progress"}})
	return out
}

func (r *response) event(kind string, data object) error {
	data["type"] = kind
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("modelserver: encode %s: %w", kind, err)
	}
	if _, err := fmt.Fprintf(r.w, "event: %s\ndata: %s\n\n", kind, raw); err != nil {
		return fmt.Errorf("modelserver: write %s: %w", kind, err)
	}
	if f, ok := r.w.(http.Flusher); ok {
		f.Flush()
	}
	return nil
}

// item writes an output item: first empty, then what deltas writes, then whole.
func (r *response) item(empty, whole object, deltas func() error) error {
	err := r.event("response.output_item.added", object{"output_index": r.index, "item": empty})
	if err == nil && deltas != nil {
		err = deltas()
	}
	if err == nil {
		err = r.event("response.output_item.done", object{"output_index": r.index, "item": whole})
	}
	r.index++
	return err
}

func (r *response) say(pieces []string, wait func() error) error {
	id := r.server.nextID("msg")
	message := func(content []object) object {
		return object{"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content}
	}
	text := strings.Join(pieces, "")
	r.output += len(text)
	whole := message([]object{{"type": "output_text", "text": text, "annotations": []any{}}})
	return r.item(message([]object{}), whole, func() error {
		for _, p := range pieces {
			if err := wait(); err != nil {
				return err
			}
			err := r.event("response.output_text.delta", object{
				"item_id": id, "output_index": r.index, "content_index": 0, "delta": p})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *response) think(text string, wait func() error) error {
	id := r.server.nextID("rs")
	part := func(text string) object { return object{"type": "summary_text", "text": text} }
	reasoning := func(summary []object) object {
		return object{"type": "reasoning", "id": id, "summary": summary, "encrypted_content": nil}
	}
	r.output += len(text)
	return r.item(reasoning([]object{}), reasoning([]object{part(text)}), func() error {
		err := r.event("response.reasoning_summary_part.added", object{
			"item_id": id, "output_index": r.index, "summary_index": 0, "part": part("")})
		for _, p := range split(text) {
			if err == nil {
				err = wait()
			}
			if err == nil {
				err = r.event("response.reasoning_summary_text.delta", object{
					"item_id": id, "output_index": r.index, "summary_index": 0, "delta": p})
			}
		}
		return err
	})
}

func (r *response) end() error {
	in := len(r.request.Input) / 4 // about four bytes a token
	out := r.output/4 + 1
	return r.event("response.completed", object{"response": object{
		"id": r.id, "status": "completed",
		"usage": object{
			"input_tokens": in, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": out, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": in + out,
		},
	}})
}

func (r *response) failed(code string) error {
	return r.event("response.failed", object{"response": object{
		"id": r.id, "status": "failed",
		"error": object{"code": code, "message": "The loopback model was told to fail with " + code + "."},
	}})
}

func (r *response) cut() error {
	id := r.server.nextID("msg")
	err := r.event("response.output_item.added", object{"output_index": r.index, "item": object{
		"type": "message", "id": id, "role": "assistant", "content": []any{}}})
	if err != nil {
		return err
	}
	return r.event("response.output_text.delta", object{
		"item_id": id, "output_index": r.index, "content_index": 0, "delta": "half an ans"})
}
