package acpscript

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say which agent is played.
type Options struct {
	// Dir keeps the sessions.
	Dir string
	// Version is the protocol version that is answered; 0 means 1.
	Version int
	// StayAlive goes on after the end of input, as some agents do.
	StayAlive bool
	// NoLoad, NoResume and NoFork take abilities away.
	NoLoad, NoResume, NoFork bool
	// StringIDs makes the ids of its requests strings instead of numbers.
	StringIDs bool
	// Replay is how many chunks a loaded session repeats before what it knows.
	Replay int
}

// Run runs the agent until its input ends.
func Run(in io.Reader, out io.Writer, o Options) error {
	a := &agent{opts: o, out: out, waits: map[string]chan message{}, sessions: map[string]*session{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var m message
			if json.Unmarshal(line, &m) == nil {
				a.take(m)
			}
		}
		if err != nil {
			break
		}
	}
	if o.StayAlive {
		select {}
	}
	return nil
}

type object = map[string]any

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type agent struct {
	opts Options

	mu       sync.Mutex
	out      io.Writer
	waits    map[string]chan message // our requests, by id
	asked    int
	sessions map[string]*session
}

// session is one conversation.
type session struct {
	ID      string   `json:"id"`
	Prompts []string `json:"prompts"`
	cwd     string
	mode    string
	model   string
	cancel  chan struct{} // closed when the turn is to stop
	tools   int
}

func (a *agent) send(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug of the script
	}
	a.line(string(raw))
}

func (a *agent) line(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = io.WriteString(a.out, s+"\n") // a client that is gone ends our input too
}

func (a *agent) reply(id json.RawMessage, result any) {
	a.send(object{"jsonrpc": "2.0", "id": id, "result": result})
}

func (a *agent) fail(id json.RawMessage, code int, text string) {
	a.send(object{"jsonrpc": "2.0", "id": id, "error": object{"code": code, "message": text}})
}

// ask sends a request and waits for the answer.
func (a *agent) ask(method string, params object) message {
	a.mu.Lock()
	id := strconv.Itoa(a.asked) // from 0, as real agents count
	if a.opts.StringIDs {
		id = strconv.Quote("ask-" + id)
	}
	a.asked++
	wait := make(chan message, 1)
	a.waits[id] = wait
	a.mu.Unlock()
	a.send(object{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	return <-wait
}

func (a *agent) take(m message) {
	if m.Method == "" {
		a.mu.Lock()
		wait := a.waits[string(m.ID)]
		delete(a.waits, string(m.ID))
		a.mu.Unlock()
		if wait != nil {
			wait <- m
		}
		return
	}
	var p struct {
		SessionID string           `json:"sessionId"`
		CWD       string           `json:"cwd"`
		ModeID    string           `json:"modeId"`
		Value     string           `json:"value"`
		ConfigID  string           `json:"configId"`
		Prompt    []map[string]any `json:"prompt"`
	}
	_ = json.Unmarshal(m.Params, &p) // what is wrong is missing, and refused
	s := a.sessions[p.SessionID]
	switch m.Method {
	case "initialize":
		a.initialize(m)
	case "session/new":
		a.begin(m, &session{ID: fmt.Sprintf("s-%d-%d", os.Getpid(), len(a.sessions)+1)}, p.CWD)
	case "session/load", "session/resume", "session/fork":
		a.open(m, p.SessionID, p.CWD)
	case "session/set_mode":
		if s != nil {
			s.mode = p.ModeID
		}
		a.reply(m.ID, object{})
	case "session/set_config_option":
		if p.Value == "unwilling" {
			a.fail(m.ID, -32602, "no")
			return
		}
		if s != nil {
			s.model = p.Value
		}
		a.reply(m.ID, object{"configOptions": a.config(p.Value)})
	case "session/prompt":
		if s == nil {
			a.fail(m.ID, -32002, "Resource not found")
			return
		}
		var texts []string
		for _, b := range p.Prompt {
			text, _ := b["text"].(string)
			if uri, ok := b["uri"].(string); ok {
				text = "say link " + uri
			}
			if b["type"] == "image" {
				text = "say image"
			}
			texts = append(texts, text)
		}
		s.cancel = make(chan struct{})
		go a.play(m.ID, s, strings.Join(texts, "\n"), s.cancel)
	case "session/cancel":
		if s != nil && s.cancel != nil {
			close(s.cancel)
			s.cancel = nil
		}
	default:
		if m.ID != nil {
			a.fail(m.ID, -32601, "Method not found")
		}
	}
}

func (a *agent) initialize(m message) {
	version := a.opts.Version
	if version == 0 {
		version = 1
	}
	able := object{"list": object{}}
	if !a.opts.NoResume {
		able["resume"] = object{}
	}
	if !a.opts.NoFork {
		able["fork"] = object{}
	}
	a.reply(m.ID, object{
		"protocolVersion": version,
		"agentInfo":       object{"name": "acpscript", "version": "7.7.7"},
		"authMethods":     []any{object{"id": "never", "name": "Never needed"}},
		"agentCapabilities": object{
			"loadSession":         !a.opts.NoLoad,
			"promptCapabilities":  object{"image": true},
			"mcpCapabilities":     object{"http": true, "sse": false},
			"sessionCapabilities": able,
		},
	})
}

func (a *agent) config(model string) []any {
	return []any{
		object{"id": "dial", "type": "dial", "currentValue": 11, "options": "none"},
		object{"id": "model", "category": "model", "type": "select", "currentValue": model,
			"options": []any{object{"value": "small"}, object{"group": "g", "options": []any{object{"value": "large"}, object{"value": "unwilling"}}}}},
	}
}

// begin answers with a session, one update before the answer and one behind it.
func (a *agent) begin(m message, s *session, cwd string) {
	if !filepath.IsAbs(cwd) {
		a.fail(m.ID, -32602, "cwd is not absolute")
		return
	}
	s.cwd, s.mode, s.model = cwd, "judge", "small"
	a.sessions[s.ID] = s
	commands := object{"sessionUpdate": "available_commands_update", "availableCommands": []any{}}
	a.update(s, commands)
	a.reply(m.ID, object{
		"sessionId": s.ID,
		"modes": object{"currentModeId": "judge", "availableModes": []any{
			object{"id": "judge", "name": "Judges by itself"}, object{"id": "ask", "name": "Asks"}, object{"id": "edits", "name": "Edits"}}},
		"configOptions": a.config("small"),
	})
	a.update(s, commands)
}

// open continues a session, or branches off it.
func (a *agent) open(m message, id, cwd string) {
	raw, err := os.ReadFile(filepath.Join(a.opts.Dir, filepath.Base(id)))
	s := &session{}
	if err != nil || json.Unmarshal(raw, s) != nil {
		a.fail(m.ID, -32002, "Resource not found")
		return
	}
	switch m.Method {
	case "session/fork":
		s.ID = fmt.Sprintf("%s-fork%d", id, os.Getpid())
	case "session/load":
		for i := range a.opts.Replay {
			a.update(s, chunk("agent_message_chunk", "replayed "+strconv.Itoa(i)))
		}
		for _, p := range s.Prompts {
			a.update(s, chunk("user_message_chunk", p))
			a.update(s, chunk("agent_message_chunk", "an answer"))
			a.update(s, object{"sessionUpdate": "tool_call", "toolCallId": "old", "title": "old", "status": "completed"})
		}
	}
	a.begin(m, s, cwd)
}

func (a *agent) keep(s *session) {
	raw, err := json.Marshal(s)
	if err == nil && a.opts.Dir != "" {
		_ = os.WriteFile(filepath.Join(a.opts.Dir, s.ID), raw, 0o600) // a loss shows in the load
	}
}

func chunk(kind, text string) object {
	return object{"sessionUpdate": kind, "content": object{"type": "text", "text": text}}
}

func (a *agent) update(s *session, u object) {
	a.send(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": s.ID, "update": u}})
}

// rest waits for d, or for the cancel, and reports whether that came.
func rest(d time.Duration, cancel <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-cancel:
		return true
	case <-t.C:
		return false
	}
}
