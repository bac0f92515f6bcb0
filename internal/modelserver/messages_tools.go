package modelserver

import (
	"encoding/json"
	"strings"
)

// signature stands for the proof that thinking is the model's own.
const signature = "bG9vcGJhY2s="

// claudeCall is the use of a tool that Claude Code offers.
type claudeCall struct {
	name  string
	input any
}

// claudeCalls turns a directive into uses of Claude Code's tools. Claude Code
// decides by the command itself whether a person is asked, so run and escalate
// are the same to it.
func claudeCalls(d directive) []claudeCall {
	switch d.word {
	case "run", "escalate":
		return []claudeCall{{"Bash", object{"command": d.arg, "description": "what the script says"}}}
	case "patch":
		file, line := d.patchFile()
		return []claudeCall{{"Write", object{"file_path": file, "content": line + "\n"}}}
	case "ask":
		return []claudeCall{{"AskUserQuestion", askUser(d)}}
	case "calls":
		return severalCalls(d.arg)
	}
	name, arguments, _ := strings.Cut(d.arg, " ")
	return []claudeCall{{name, argumentsOf(arguments)}}
}

func argumentsOf(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

// severalCalls reads [[NAME, ARGUMENTS], ...].
func severalCalls(text string) []claudeCall {
	var list [][]json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	var calls []claudeCall
	for _, pair := range list {
		var name string
		if len(pair) == 2 && json.Unmarshal(pair[0], &name) == nil {
			calls = append(calls, claudeCall{name, pair[1]})
		}
	}
	return calls
}

func askUser(d directive) object {
	text, choices := d.question()
	options := make([]object, len(choices))
	for i, c := range choices {
		options[i] = object{"label": c, "description": c}
	}
	return object{"questions": []object{{
		"question": text, "header": "Question", "multiSelect": false, "options": options}}}
}
