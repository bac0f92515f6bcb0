package modelserver

import (
	"encoding/json"
	"fmt"
	"strings"
)

// yieldTime is how long Codex may wait for a command before it tells the model
// that it still runs.
const yieldTime = 10_000 // ms

// tool turns a directive into the call of a tool that Codex offers for a model
// it does not know: commands by exec_command, patches by the apply_patch
// command within it, questions by request_user_input.
func (r *response) tool(d directive) error {
	switch d.word {
	case "run":
		return r.shell(d.arg, object{"yield_time_ms": yieldTime})
	case "escalate":
		return r.shell(d.arg, object{"yield_time_ms": yieldTime, "sandbox_permissions": "require_escalated", "justification": "The loopback model was told to ask."})
	case "patch":
		file, line := d.patchFile()
		patch := fmt.Sprintf("*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\n", file, line)
		return r.shell("apply_patch <<'PATCH'\n"+patch+"PATCH\n", object{})
	case "ask":
		return r.call("request_user_input", askArguments(d))
	}
	name, arguments, _ := strings.Cut(d.arg, " ")
	if !json.Valid([]byte(arguments)) {
		arguments = "{}"
	}
	return r.call(name, json.RawMessage(arguments))
}

// shell calls the tool for commands: exec_command, or shell_command where Codex
// was told to do without sessions of commands.
func (r *response) shell(command string, arguments object) error {
	for _, t := range r.request.Tools {
		if t.Name == "shell_command" {
			arguments["command"] = command
			delete(arguments, "yield_time_ms")
			return r.call("shell_command", arguments)
		}
	}
	arguments["cmd"] = command
	return r.call("exec_command", arguments)
}

func askArguments(d directive) object {
	text, choices := d.question()
	options := make([]object, len(choices))
	for i, c := range choices {
		options[i] = object{"label": c, "description": c}
	}
	return object{"questions": []object{{
		"id": "question", "header": "Question", "question": text, "options": options}}}
}

// call writes a function call, with the namespace under which the agent offers
// the tool.
func (r *response) call(name string, arguments any) error {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return fmt.Errorf("modelserver: encode arguments of %s: %w", name, err)
	}
	id, callID := r.server.nextID("fc"), r.server.nextID("call")
	item := func(arguments string) object {
		it := object{"type": "function_call", "id": id, "call_id": callID, "name": name,
			"arguments": arguments, "status": "completed"}
		if ns := namespaceOf(r.request.Tools, name); ns != "" {
			it["namespace"] = ns
		}
		return it
	}
	return r.item(item(""), item(string(raw)), nil)
}

func namespaceOf(tools []offeredTool, name string) string {
	for _, t := range tools {
		for _, inner := range t.Tools {
			if t.Type == "namespace" && inner.Name == name {
				return t.Name
			}
		}
	}
	return ""
}
