package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// geminiAPI is Google's generateContent API as Gemini CLI uses it: streaming,
// and plain JSON for its own small questions.
var geminiAPI = api{
	name:   "gemini",
	decode: decodeGemini,
	refuse: refuseGemini,
	reply: func(s *Server, w http.ResponseWriter, request any) responseWriter {
		return &candidate{server: s, w: w, request: request.(*geminiRequest), id: s.nextID("resp")}
	},
}

// geminiRequest is the part of a request that matters here.
type geminiRequest struct {
	Contents []geminiContent `json:"contents"`
	Tools    []struct {
		Declarations []struct {
			Name   string `json:"name"`
			Schema schema `json:"parametersJsonSchema"`
			Old    schema `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		ResponseMIMEType string `json:"responseMimeType"`
	} `json:"generationConfig"`

	size int // bytes of the request
}

type geminiContent struct {
	Role  string `json:"role"`
	Parts []struct {
		Text     string `json:"text"`
		Response *struct {
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
	} `json:"parts"`
}

func (r *geminiRequest) tools() []toolSchema {
	var list []toolSchema
	for _, t := range r.Tools {
		for _, d := range t.Declarations {
			s := d.Schema
			if len(s.Properties) == 0 {
				s = d.Old
			}
			list = append(list, toolSchema{Name: d.Name, Parameters: s})
		}
	}
	return list
}

func decodeGemini(body []byte) (conversation, any, error) {
	r := geminiRequest{size: len(body)}
	if err := json.Unmarshal(body, &r); err != nil {
		return conversation{}, nil, fmt.Errorf("modelserver: decode request: %w", err)
	}
	var c conversation
	for _, m := range r.Contents {
		if m.Role == "model" {
			continue
		}
		for _, p := range m.Parts {
			if p.Response != nil {
				c.outputs = append(c.outputs, string(p.Response.Response))
				continue
			}
			c.told([]string{p.Text})
		}
	}
	switch {
	case r.Config.ResponseMIMEType == "application/json":
		c.prompts = []string{`say {"reasoning":"none","model_choice":"flash","next_speaker":"user","complexity_score":1,"complexity_reasoning":"none"}`}
	case len(r.tools()) == 0:
		c.prompts = []string{noTools}
	}
	return c, &r, nil
}

// refuseGemini writes an error as Google's servers do.
func refuseGemini(w http.ResponseWriter, status int) {
	word := map[int]string{
		http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED",
		http.StatusForbidden: "PERMISSION_DENIED", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED",
	}[status]
	if word == "" {
		word = "INTERNAL"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": object{"code": status, "status": word,
		"message": fmt.Sprintf("The loopback model was told to fail with status %d.", status)}})
}

// candidate writes one answer: as server-sent events, or whole at the end.
type candidate struct {
	server  *Server
	w       http.ResponseWriter
	request *geminiRequest
	id      string
	stream  bool
	begun   bool
	parts   []object // of an answer in one piece
	output  int
}

func (c *candidate) usage() object {
	in, out := c.request.size/4, c.output/4+1
	return object{"promptTokenCount": in, "candidatesTokenCount": out, "totalTokenCount": in + out}
}

func (c *candidate) whole(parts []object, finish string) object {
	one := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	if finish != "" {
		one["finishReason"] = finish
	}
	return object{"candidates": []object{one}, "usageMetadata": c.usage(), "modelVersion": "loopback-model", "responseId": c.id}
}

// part writes a piece, or keeps it.
func (c *candidate) part(p object, finish string) error {
	if !c.stream {
		c.parts = append(c.parts, p)
		return nil
	}
	if !c.begun {
		c.begun = true
		c.w.Header().Set("Content-Type", "text/event-stream")
	}
	raw, err := json.Marshal(c.whole([]object{p}, finish))
	if err != nil {
		return fmt.Errorf("modelserver: encode candidate: %w", err)
	}
	if _, err := fmt.Fprintf(c.w, "data: %s\n\n", raw); err != nil {
		return fmt.Errorf("modelserver: write candidate: %w", err)
	}
	if f, ok := c.w.(http.Flusher); ok {
		f.Flush()
	}
	return nil
}

func (c *candidate) say(pieces []string, wait func() error) error {
	return c.each(pieces, wait, func(p string) object { return object{"text": p} })
}

func (c *candidate) think(text string, wait func() error) error {
	return c.each(split(text), wait, func(p string) object { return object{"text": "**Thought** " + p, "thought": true} })
}

func (c *candidate) each(pieces []string, wait func() error, part func(string) object) error {
	for _, p := range pieces {
		if err := wait(); err != nil {
			return err
		}
		c.output += len(p)
		if err := c.part(part(p), ""); err != nil {
			return err
		}
	}
	return nil
}

func (c *candidate) tool(d directive) error {
	name, arguments := chooseTool(d, c.request.tools())
	return c.part(object{"functionCall": object{"name": name, "args": json.RawMessage(arguments), "id": c.server.nextID("fc")}}, "")
}

func (c *candidate) end() error {
	if c.stream {
		return c.part(object{"text": ""}, "STOP")
	}
	c.w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(c.w).Encode(c.whole(c.parts, "STOP")); err != nil {
		return fmt.Errorf("modelserver: write candidate: %w", err)
	}
	return nil
}

func (c *candidate) failed(string) error {
	if c.begun {
		return c.cut()
	}
	refuseGemini(c.w, http.StatusInternalServerError)
	return nil
}

func (c *candidate) cut() error {
	if !c.stream {
		panic(http.ErrAbortHandler) // drops the connection; the HTTP server does not log it
	}
	return c.part(object{"text": "half an ans"}, "")
}

// gemini handles the one path that Google's methods share: MODEL:METHOD.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request) {
	_, method, _ := strings.Cut(r.PathValue("call"), ":")
	switch method {
	case "countTokens":
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{"totalTokens": max(1, r.ContentLength/4)})
	case "generateContent":
		s.serve(geminiAPI)(w, r)
	case "streamGenerateContent":
		stream := geminiAPI
		stream.reply = func(s *Server, w http.ResponseWriter, request any) responseWriter {
			return &candidate{server: s, w: w, request: request.(*geminiRequest), id: s.nextID("resp"), stream: true}
		}
		s.serve(stream)(w, r)
	default:
		refuseGemini(w, http.StatusNotFound)
	}
}
