package acp

import (
	"encoding/json"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
)

// toolKinds are the protocol's kinds of tools.
var toolKinds = map[string]core.ToolKind{
	wire.KindRead:    core.ToolFile,
	wire.KindEdit:    core.ToolFile,
	wire.KindDelete:  core.ToolFile,
	wire.KindMove:    core.ToolFile,
	wire.KindSearch:  core.ToolSearch,
	wire.KindExecute: core.ToolCommand,
	wire.KindFetch:   core.ToolWeb,
}

// input is what tools of many agents take, under the names they use for it.
type input struct {
	Command json.RawMessage `json:"command"`
	Cmd     json.RawMessage `json:"cmd"`
	CWD     string          `json:"cwd"`
	Workdir string          `json:"workdir"`
	Path    string          `json:"path"`
	File    string          `json:"file_path"`
	OCFile  string          `json:"filePath"`
}

func readInput(raw json.RawMessage) input {
	var in input
	_ = json.Unmarshal(raw, &in) // what cannot be read is not there
	return in
}

// command returns the command of a tool, without a shell around it.
func (in input) command() string {
	for _, raw := range []json.RawMessage{in.Command, in.Cmd} {
		var text string
		var argv []string
		switch {
		case json.Unmarshal(raw, &text) == nil && text != "":
			return text
		case json.Unmarshal(raw, &argv) == nil && len(argv) > 0:
			if len(argv) == 3 && (argv[1] == "-lc" || argv[1] == "-c") {
				return argv[2]
			}
			return strings.Join(argv, " ")
		}
	}
	return ""
}

func (in input) cwd() string {
	if in.CWD != "" {
		return in.CWD
	}
	return in.Workdir
}

// path is the file that a tool works on, if there is one.
func (x *tool) path() string {
	for _, c := range x.content {
		if c.Type == wire.ContentDiff && c.Path != "" {
			return c.Path
		}
	}
	if len(x.call.Locations) > 0 && x.call.Kind != wire.KindExecute {
		return x.call.Locations[0].Path
	}
	in := readInput(x.call.RawInput)
	for _, p := range []string{in.File, in.OCFile, in.Path} {
		if p != "" {
			return p
		}
	}
	return ""
}

// toolStarted reports the beginning of a use.
func toolStarted(x *tool) core.ToolStarted {
	s := core.ToolStarted{Item: x.item, Name: x.call.Name, Kind: core.ToolOther, Title: x.call.Title}
	if k, ok := toolKinds[x.call.Kind]; ok {
		s.Kind = k
	}
	if strings.HasPrefix(x.call.Name, "mcp__") {
		s.Kind = core.ToolMCP
	}
	if !emptyInput(x.call.RawInput) {
		s.Input = x.call.RawInput
	}
	if s.Kind == core.ToolCommand {
		in := readInput(x.call.RawInput)
		s.Command, s.CWD = in.command(), in.cwd()
		if s.Command != "" {
			s.Title = s.Command
		}
	}
	if s.Name == "" {
		s.Name = x.call.Kind
	}
	if s.Name == "" {
		s.Name = "tool"
	}
	if s.Title, _, _ = strings.Cut(strings.TrimSpace(s.Title), "\n"); s.Title == "" {
		s.Title = s.Name
	}
	return s
}

// toolCompleted reports the end of a use. The status is the agent's, which
// is no exit code: some call a command that ended with another than 0 completed.
func toolCompleted(x *tool, status core.ToolStatus) core.ToolCompleted {
	done := core.ToolCompleted{Item: x.item, Status: status, Output: contentText(x.content)}
	out := readOutput(x.call.RawOutput)
	done.ExitCode = out.exitCode()
	if out.text() != "" && (done.Output == "" || done.ExitCode != nil) {
		done.Output = out.text()
	}
	switch status {
	case core.ToolFailed, core.ToolDeclined:
		done.Error = out.mistake()
	case core.ToolCancelled:
		if x.call.Status != wire.Failed {
			done.Error = "The agent did not say how it ended."
		}
	}
	return done
}

// contentText returns the text blocks of a tool's content.
func contentText(list []wire.ToolContent) string {
	var b strings.Builder
	for _, c := range list {
		if c.Type == wire.ContentBlock && c.Content.Type == wire.Plain {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(c.Content.Text)
		}
	}
	return b.String()
}

// rawOutput is what tools of many agents return, under the names they use.
type rawOutput struct {
	whole      string          // the output itself, where it is a string
	Formatted  string          `json:"formatted_output"`
	Aggregated string          `json:"aggregated_output"`
	Output     json.RawMessage `json:"output"`
	Content    json.RawMessage `json:"content"`
	Stdout     string          `json:"stdout"`
	Stderr     string          `json:"stderr"`
	ExitSnake  *int            `json:"exit_code"`
	ExitCamel  *int            `json:"exitCode"`
	Error      json.RawMessage `json:"error"`
	Message    string          `json:"message"`
	Metadata   struct {
		Exit *int `json:"exit"`
	} `json:"metadata"`
}

func readOutput(raw json.RawMessage) rawOutput {
	var out rawOutput
	if json.Unmarshal(raw, &out.whole) != nil {
		_ = json.Unmarshal(raw, &out) // what cannot be read is not there
	}
	return out
}

func (o rawOutput) text() string {
	for _, s := range []string{o.whole, o.Aggregated, o.Formatted, plain(o.Output), o.Stdout + o.Stderr, plain(o.Content)} {
		if s != "" {
			return s
		}
	}
	return ""
}

func (o rawOutput) exitCode() *int {
	for _, c := range []*int{o.ExitSnake, o.ExitCamel, o.Metadata.Exit} {
		if c != nil {
			return c
		}
	}
	return nil
}

func (o rawOutput) mistake() string {
	if s := plain(o.Error); s != "" {
		return s
	}
	return o.Message
}

// plain is a JSON value that is a string, or "".
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
