package modelserver

import (
	"encoding/json"
	"slices"
	"strings"
)

// toolSchema is a tool that an agent offers: its name and what it takes.
type toolSchema struct {
	Name       string `json:"name"`
	Parameters schema `json:"parameters"`
}

// schema is the part of a JSON schema that arguments are made from.
type schema struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

type property struct {
	Type json.RawMessage `json:"type"` // a word, or several
	Enum []any           `json:"enum"`
}

// Names that agents give to the tools of a kind.
var (
	shellTools = []string{"bash", "shell", "run_shell_command", "exec_command", "local_shell", "run_terminal_cmd", "terminal"}
	writeTools = []string{"write", "write_file", "create", "create_file", "edit"}
	askTools   = []string{"question", "ask_user", "ask_user_question", "askuserquestion", "request_user_input"}
)

// chooseTool returns the tool that a directive stands for, among those that the
// agent offers, and its arguments. What a tool wants beside them gets a value
// that means nothing.
func chooseTool(d directive, offered []toolSchema) (name, arguments string) {
	var names []string
	known := map[string]any{}
	switch d.word {
	case "run", "escalate":
		names = shellTools
		known["command"], known["cmd"] = d.arg, d.arg
	case "patch":
		names = writeTools
		file, line := d.patchFile()
		for _, k := range []string{"filepath", "path", "absolutepath", "filename"} {
			known[k] = file
		}
		for _, k := range []string{"content", "text", "filetext"} {
			known[k] = line + "\n"
		}
	case "ask":
		names = askTools
		text, choices := d.question()
		known["question"], known["choices"] = text, choices
	default:
		name, arguments, _ := strings.Cut(d.arg, " ")
		return name, string(argumentsOf(arguments))
	}
	t := pickTool(offered, names)
	raw, err := json.Marshal(t.Parameters.fill(known))
	if err != nil { // strings and lists of them always encode
		raw = []byte("{}")
	}
	return t.Name, string(raw)
}

// pickTool finds the first of the names that is offered; the agent hears of one
// that is not, as of any tool that a model makes up.
func pickTool(offered []toolSchema, names []string) toolSchema {
	for _, n := range names {
		i := slices.IndexFunc(offered, func(t toolSchema) bool {
			have := strings.ToLower(t.Name)
			return have == n || strings.HasSuffix(have, "__"+n)
		})
		if i >= 0 {
			return offered[i]
		}
	}
	return toolSchema{Name: names[0]}
}

// fill makes arguments: what is known under whichever spelling the schema has,
// and something for whatever else is required.
func (s schema) fill(known map[string]any) object {
	args := object{}
	for name := range s.Properties {
		if v, ok := known[strings.ToLower(strings.ReplaceAll(name, "_", ""))]; ok {
			args[name] = v
		}
	}
	for _, name := range s.Required {
		if _, ok := args[name]; !ok {
			args[name] = s.Properties[name].anything(name)
		}
	}
	return args
}

// anything is a value of the property's type.
func (p property) anything(name string) any {
	if len(p.Enum) > 0 {
		return p.Enum[0]
	}
	switch t := strings.ToLower(string(p.Type)); {
	case strings.Contains(t, "string"), t == "":
		return "some " + name
	case strings.Contains(t, "bool"):
		return false
	case strings.Contains(t, "int"), strings.Contains(t, "number"):
		return 1
	case strings.Contains(t, "array"):
		return []any{}
	}
	return object{}
}
