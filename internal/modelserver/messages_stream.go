package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// argumentPiece is how many bytes of a tool's arguments one event carries.
const argumentPiece = 40

// messageStream writes an answer as server-sent events.
type messageStream struct {
	*message
	w     http.ResponseWriter
	index int // of the next block
}

func newMessageStream(w http.ResponseWriter, m *message) *messageStream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	s := &messageStream{message: m, w: w}
	// An error here meets the first event of the play again.
	_ = s.event("message_start", object{"message": m.whole([]object{}, nil)})
	return s
}

func (s *messageStream) event(kind string, data object) error {
	data["type"] = kind
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("modelserver: encode %s: %w", kind, err)
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, raw); err != nil {
		return fmt.Errorf("modelserver: write %s: %w", kind, err)
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
	return nil
}

// block writes a content block: its empty start, its deltas, its end.
func (s *messageStream) block(empty object, deltas []object, wait func() error) error {
	err := s.event("content_block_start", object{"index": s.index, "content_block": empty})
	for _, d := range deltas {
		if err == nil && wait != nil {
			err = wait()
		}
		if err == nil {
			err = s.event("content_block_delta", object{"index": s.index, "delta": d})
		}
	}
	if err == nil {
		err = s.event("content_block_stop", object{"index": s.index})
	}
	s.index++
	return err
}

func (s *messageStream) say(pieces []string, wait func() error) error {
	deltas := make([]object, len(pieces))
	for i, p := range pieces {
		s.out += len(p)
		deltas[i] = object{"type": "text_delta", "text": p}
	}
	return s.block(object{"type": "text", "text": ""}, deltas, wait)
}

func (s *messageStream) think(text string, wait func() error) error {
	s.out += len(text)
	var deltas []object
	for _, p := range split(text) {
		deltas = append(deltas, object{"type": "thinking_delta", "thinking": p})
	}
	deltas = append(deltas, object{"type": "signature_delta", "signature": signature})
	return s.block(object{"type": "thinking", "thinking": "", "signature": ""}, deltas, wait)
}

func (s *messageStream) tool(d directive) error {
	s.stop = "tool_use"
	for _, call := range claudeCalls(d) {
		raw, err := json.Marshal(call.input)
		if err != nil {
			return fmt.Errorf("modelserver: encode arguments of %s: %w", call.name, err)
		}
		var deltas []object
		for text := string(raw); text != ""; {
			n := min(argumentPiece, len(text))
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": text[:n]})
			text = text[n:]
		}
		empty := object{"type": "tool_use", "id": s.server.nextID("toolu"), "name": call.name, "input": object{}}
		if err := s.block(empty, deltas, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *messageStream) end() error {
	err := s.event("message_delta", object{
		"delta": object{"stop_reason": s.stop, "stop_sequence": nil}, "usage": object{"output_tokens": s.out/4 + 1}})
	if err == nil {
		err = s.event("message_stop", object{})
	}
	return err
}

func (s *messageStream) failed(code string) error {
	return s.event("error", object{"error": object{
		"type": code, "message": "The loopback model was told to fail with " + code + "."}})
}

func (s *messageStream) cut() error {
	err := s.event("content_block_start", object{"index": s.index, "content_block": object{"type": "text", "text": ""}})
	if err != nil {
		return err
	}
	return s.event("content_block_delta", object{"index": s.index, "delta": object{"type": "text_delta", "text": "half an ans"}})
}
