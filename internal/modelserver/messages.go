package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// messagesAPI is Anthropic's Messages API as Claude Code uses it: streaming,
// and plain JSON where the CLI falls back to it after a broken stream.
var messagesAPI = api{
	name:   "messages",
	decode: decodeMessages,
	refuse: refuseAnthropic,
	reply: func(s *Server, w http.ResponseWriter, request any) responseWriter {
		r := request.(*messagesRequest)
		m := &message{server: s, id: s.nextID("msg"), model: r.Model, stop: "end_turn", in: r.size / 4}
		if r.Stream {
			return newMessageStream(w, m)
		}
		return &messageJSON{w: w, message: m}
	},
}

// messagesRequest is the part of a request that matters here.
type messagesRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Messages []messagesMessage `json:"messages"`

	size int // bytes of the request
}

type messagesMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a string, or blocks
}

type messagesBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // of a tool_result
}

// blocks returns the content as blocks, whichever way it came.
func (m messagesMessage) blocks() []messagesBlock {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []messagesBlock{{Type: "text", Text: text}}
	}
	var list []messagesBlock
	if json.Unmarshal(m.Content, &list) != nil {
		return nil
	}
	return list
}

func decodeMessages(body []byte) (conversation, any, error) {
	r := messagesRequest{size: len(body)}
	if err := json.Unmarshal(body, &r); err != nil {
		return conversation{}, nil, fmt.Errorf("modelserver: decode request: %w", err)
	}
	if len(r.Messages) == 0 {
		return conversation{}, nil, fmt.Errorf("modelserver: a request without messages")
	}
	var c conversation
	for _, m := range r.Messages {
		if m.Role == "user" {
			c.addUserMessage(m.blocks())
		}
	}
	return c, &r, nil
}

// addUserMessage takes one user message: the results of tools that ran at once, prompts,
// or both.
func (c *conversation) addUserMessage(blocks []messagesBlock) {
	results := 0
	for _, b := range blocks {
		switch b.Type {
		case "tool_result":
			c.outputs = append(c.outputs, contentText(b.Content))
			results++
		case "text":
			for _, prompt := range promptParts(b.Text) {
				c.prompts = append(c.prompts, prompt)
				c.outputs, c.rounds, results = nil, 0, 0
			}
		}
	}
	if results > 0 {
		c.rounds++
	}
}

// abortNotes stand between two prompts that the CLI sends as one text, because
// the first one got no answer.
var abortNotes = []string{"[Request interrupted by user]", "[Request interrupted by user for tool use]"}

// promptParts returns what a person said in a text: nothing when it is one of
// the agent's own notes.
func promptParts(text string) []string {
	for _, note := range abortNotes {
		text = strings.ReplaceAll(text, note, "\x00")
	}
	var parts []string
	for part := range strings.SplitSeq(text, "\x00") {
		if part = strings.TrimSpace(part); part != "" && !strings.HasPrefix(part, "<") {
			parts = append(parts, part)
		}
	}
	return parts
}

// anthropicErrors are the vendor's words for statuses.
var anthropicErrors = map[int]string{
	http.StatusBadRequest:            "invalid_request_error",
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	529:                              "overloaded_error",
}

// refuseAnthropic writes an error as Anthropic's servers do.
func refuseAnthropic(w http.ResponseWriter, status int) {
	kind, ok := anthropicErrors[status]
	if !ok {
		kind = "api_error"
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	writeAnthropicError(w, status, kind, fmt.Sprintf("The loopback model was told to fail with status %d.", status))
}

func writeAnthropicError(w http.ResponseWriter, status int, kind, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"type": "error", "error": object{"type": kind, "message": text}})
}

// countTokens answers the question how long a conversation is.
func countTokens(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"input_tokens": max(1, r.ContentLength/4)})
}

// noModels is a list of models without any.
func noModels(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"data": []any{}, "has_more": false})
}

// message is one answer, in whichever way it is written.
type message struct {
	server *Server
	id     string
	model  string
	stop   string // why it ends
	in     int    // tokens of the request, about
	out    int    // bytes said
}

func (m *message) usage() object {
	return object{"input_tokens": m.in, "output_tokens": m.out/4 + 1,
		"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
}

// whole is the message with its content.
func (m *message) whole(content []object, stop any) object {
	return object{"id": m.id, "type": "message", "role": "assistant", "model": m.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": m.usage()}
}
