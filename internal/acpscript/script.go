package acpscript

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"
)

// streamPause is the pause between two chunks, in which a cancel can arrive.
const streamPause = 200 * time.Microsecond

// turn is one prompt as it is played.
type turn struct {
	a      *agent
	s      *session
	id     json.RawMessage
	cancel <-chan struct{}
	after  []func() // once the prompt is answered
	stop   string
	failed bool // it was answered with an error
}

// play performs a prompt and answers it.
func (a *agent) play(id json.RawMessage, s *session, prompt string, cancel <-chan struct{}) {
	t := &turn{a: a, s: s, id: id, cancel: cancel, stop: "end_turn"}
	spoke := false
	for line := range strings.Lines(strings.ReplaceAll(prompt, "\u2060", "")) {
		word, arg, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		do, ok := directives[word]
		if !ok {
			continue
		}
		spoke = true
		if !do(t, arg) {
			break
		}
		select {
		case <-t.cancel:
			t.stop = "cancelled"
		default:
			continue
		}
		break
	}
	if !spoke {
		t.say("ok: " + prompt)
	}
	s.Prompts = append(s.Prompts, prompt)
	a.keep(s)
	if !t.failed {
		t.answer()
	}
	for _, f := range t.after {
		f()
	}
}

func (t *turn) answer() {
	t.a.reply(t.id, object{"stopReason": t.stop, "usage": object{"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}})
}

func (t *turn) say(text string) {
	runes := []rune(text)
	step := max(1, (len(runes)+2)/3)
	for len(runes) > 0 {
		n := min(step, len(runes))
		t.a.update(t.s, chunk("agent_message_chunk", string(runes[:n])))
		runes = runes[n:]
	}
}

// cancelled waits for the cancel, or for d when it is above zero.
func (t *turn) cancelled(d time.Duration) bool {
	if d <= 0 {
		<-t.cancel
		return true
	}
	return rest(d, t.cancel)
}

func (t *turn) tool() string {
	t.s.tools++
	return "call_" + strconv.Itoa(t.s.tools)
}

// directives play one line each and say whether the turn goes on.
var directives map[string]func(t *turn, arg string) bool

func init() {
	directives = map[string]func(*turn, string) bool{
		"say":    func(t *turn, arg string) bool { t.say(arg); return true },
		"stream": stream,
		"big": func(t *turn, arg string) bool {
			n, _ := strconv.Atoi(arg)
			t.a.update(t.s, chunk("agent_message_chunk", strings.Repeat("x", n)))
			return true
		},
		"think": func(t *turn, arg string) bool {
			t.a.update(t.s, chunk("agent_thought_chunk", arg))
			return true
		},
		"slow": func(t *turn, arg string) bool {
			ms, _ := strconv.Atoi(arg)
			if t.cancelled(max(1, time.Duration(ms)*time.Millisecond)) {
				t.stop = "cancelled"
				return false
			}
			return true
		},
		"hang":    func(t *turn, _ string) bool { t.cancelled(0); t.stop = "cancelled"; return false },
		"ignore":  func(t *turn, _ string) bool { t.cancel = nil; return true },
		"deaf":    func(*turn, string) bool { select {} },
		"run":     run,
		"approve": func(t *turn, arg string) bool { return t.approve(arg, true) },
		"only":    func(t *turn, arg string) bool { return t.approve(arg, false) },
		"edit":    editFile,
		"fail": func(t *turn, arg string) bool {
			head, text, _ := strings.Cut(arg, " ")
			code, err := strconv.Atoi(head)
			if err != nil {
				code, text = -32603, arg
			}
			t.failed = true
			t.a.fail(t.id, code, text)
			return false
		},
		"stop": func(t *turn, arg string) bool { t.stop = arg; return false },
		"recall": func(t *turn, _ string) bool {
			t.say("I remember: " + strings.Join(t.s.Prompts, " | "))
			return true
		},
		"read":     func(t *turn, arg string) bool { return t.use("fs/read_text_file", object{"path": arg}) },
		"write":    writeFile,
		"terminal": terminal,
		"late": func(t *turn, arg string) bool {
			t.after = append(t.after, func() { t.a.update(t.s, chunk("agent_message_chunk", arg)) })
			return true
		},
		"lateTool": func(t *turn, _ string) bool {
			id := t.tool()
			t.a.update(t.s, object{"sessionUpdate": "tool_call", "toolCallId": id, "title": "slow tool", "status": "in_progress"})
			t.after = append(t.after, func() {
				t.a.update(t.s, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed"})
			})
			return true
		},
		"idless": func(t *turn, _ string) bool {
			t.a.line(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
			return true
		},
		"garbage": func(t *turn, arg string) bool { t.a.line(arg); return true },
		"raw": func(t *turn, arg string) bool {
			t.a.line(strings.ReplaceAll(arg, "SESSION", t.s.ID))
			return true
		},
		"unknown": unknown,
		"open": func(t *turn, _ string) bool {
			t.a.update(t.s, object{"sessionUpdate": "tool_call", "toolCallId": t.tool(), "title": "left open", "kind": "read", "status": "in_progress"})
			return true
		},
		"twice": func(t *turn, _ string) bool {
			t.after = append(t.after, t.answer)
			return true
		},
		"die": func(*turn, string) bool { os.Exit(3); return false },
	}
}

func stream(t *turn, arg string) bool {
	n, _ := strconv.Atoi(arg)
	for i := range n {
		if rest(streamPause, t.cancel) {
			t.stop = "cancelled"
			return false
		}
		t.a.update(t.s, chunk("agent_message_chunk", strconv.Itoa(i+1)+" "))
	}
	return true
}

// run is a tool as some agents announce it: empty at first.
func run(t *turn, arg string) bool {
	id := t.tool()
	t.a.update(t.s, object{"sessionUpdate": "tool_call", "toolCallId": id, "title": "Terminal", "kind": "execute", "status": "pending", "rawInput": object{}})
	t.a.update(t.s, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "title": arg, "rawInput": object{"command": arg}})
	t.a.update(t.s, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed",
		"rawOutput": object{"stdout": "done\n", "exit_code": 0}})
	return true
}

// approve asks before a tool. Known by the question alone, a rejection of it is
// never spoken of again.
func (t *turn) approve(command string, announce bool) bool {
	id := t.tool()
	if announce {
		t.a.update(t.s, object{"sessionUpdate": "tool_call", "toolCallId": id, "title": command, "kind": "execute",
			"status": "pending", "rawInput": object{"command": command}})
	}
	switch t.permission(object{"toolCallId": id, "title": command, "kind": "execute", "status": "pending"}) {
	case "yes":
		t.a.update(t.s, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "kind": "execute"})
	case "always":
		t.a.update(t.s, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "kind": "execute", "title": command + " (always)"})
	default:
		if announce {
			t.a.update(t.s, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed", "rawOutput": "rejected"})
		}
	}
	return true
}

// permission returns the option that was chosen; "" means cancelled.
func (t *turn) permission(call object) string {
	m := t.a.ask("session/request_permission", object{"sessionId": t.s.ID, "toolCall": call, "options": []any{
		object{"optionId": "wide", "name": "For ever", "kind": "allow_always"},
		object{"optionId": "always", "name": "For this session", "kind": "allow_always"},
		object{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
		object{"optionId": "no", "name": "No", "kind": "reject_once"},
		object{"optionId": "new", "name": "A new kind", "kind": "allow_sometimes"},
	}})
	var r struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
		t.say("the answer was an error")
		return ""
	}
	return r.Outcome.OptionID
}

func editFile(t *turn, arg string) bool {
	id := t.tool()
	diff := []any{object{"type": "diff", "path": arg, "oldText": "one\ntwo\n", "newText": "one\n2\n"}}
	if t.permission(object{"toolCallId": id, "title": "Edit " + arg, "kind": "edit", "status": "pending", "content": diff}) == "yes" {
		t.a.update(t.s, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "content": diff})
	}
	return true
}

// use calls a method of the client and sends its result as a message.
func (t *turn) use(method string, params object) bool {
	params["sessionId"] = t.s.ID
	m := t.a.ask(method, params)
	if m.Error != nil {
		t.say(method + " failed: " + string(m.Error))
	} else {
		t.say(method + " gave: " + string(m.Result))
	}
	return true
}

func writeFile(t *turn, arg string) bool {
	path, text, _ := strings.Cut(arg, " ")
	return t.use("fs/write_text_file", object{"path": path, "content": text + "\n"})
}

func terminal(t *turn, arg string) bool {
	m := t.a.ask("terminal/create", object{"sessionId": t.s.ID, "command": arg, "env": []any{object{"name": "TERMINAL_VAR", "value": "here"}}})
	var r struct {
		ID string `json:"terminalId"`
	}
	if json.Unmarshal(m.Result, &r) != nil || r.ID == "" {
		t.say("terminal/create failed: " + string(m.Error))
		return true
	}
	ref := func() object { return object{"terminalId": r.ID} }
	t.use("terminal/wait_for_exit", ref())
	t.use("terminal/output", ref())
	return t.use("terminal/release", ref())
}

func unknown(t *turn, _ string) bool {
	t.a.update(t.s, object{"sessionUpdate": "compaction_of_tomorrow", "x": 1})
	t.a.update(t.s, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "hologram", "data": "?"}})
	t.a.send(object{"jsonrpc": "2.0", "method": "vendor/notify", "params": object{"sessionId": t.s.ID}})
	m := t.a.ask("vendor/ask", object{"sessionId": t.s.ID})
	t.say("vendor/ask: " + string(m.Error))
	return true
}
