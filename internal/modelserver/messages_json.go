package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// messageJSON writes an answer in one piece.
type messageJSON struct {
	*message
	w       http.ResponseWriter
	content []object
}

func (j *messageJSON) say(pieces []string, wait func() error) error {
	for range pieces {
		if err := wait(); err != nil {
			return err
		}
	}
	text := strings.Join(pieces, "")
	j.out += len(text)
	j.content = append(j.content, object{"type": "text", "text": text})
	return nil
}

func (j *messageJSON) think(text string, wait func() error) error {
	j.out += len(text)
	j.content = append(j.content, object{"type": "thinking", "thinking": text, "signature": signature})
	return wait()
}

func (j *messageJSON) tool(d directive) error {
	j.stop = "tool_use"
	for _, call := range claudeCalls(d) {
		j.content = append(j.content, object{
			"type": "tool_use", "id": j.server.nextID("toolu"), "name": call.name, "input": call.input})
	}
	return nil
}

func (j *messageJSON) end() error {
	j.w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(j.w).Encode(j.whole(j.content, j.stop)); err != nil {
		return fmt.Errorf("modelserver: write message: %w", err)
	}
	return nil
}

func (j *messageJSON) failed(code string) error {
	writeAnthropicError(j.w, http.StatusInternalServerError, code, "The loopback model was told to fail with "+code+".")
	return nil
}

// cut drops the connection; the HTTP server does not log this panic.
func (j *messageJSON) cut() error { panic(http.ErrAbortHandler) }
