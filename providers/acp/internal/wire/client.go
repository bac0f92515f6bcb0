package wire

import "encoding/json"

// PermissionParams asks for a decision.
type PermissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  json.RawMessage    `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
}

// PermissionOption is one answer.
type PermissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// Kinds of options.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// PermissionResult is a decision.
type PermissionResult struct {
	Outcome Outcome `json:"outcome"`
}

// Outcome is "selected" with an option, or "cancelled".
type Outcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitempty"`
}

// Selected is the outcome that chooses an option.
const Selected = "selected"

// ReadParams, ReadResult and WriteParams are those of the file methods.
type (
	ReadParams struct {
		SessionID string `json:"sessionId"`
		Path      string `json:"path"`
		Line      *int   `json:"line"` // from 1
		Limit     *int   `json:"limit"`
	}
	ReadResult struct {
		Content string `json:"content"`
	}
	WriteParams struct {
		SessionID string `json:"sessionId"`
		Path      string `json:"path"`
		Content   string `json:"content"`
	}
)

// CreateParams starts a command in a terminal.
type CreateParams struct {
	SessionID       string   `json:"sessionId"`
	Command         string   `json:"command"`
	Args            []string `json:"args"`
	Env             []Pair   `json:"env"`
	CWD             string   `json:"cwd"`
	OutputByteLimit *int     `json:"outputByteLimit"`
}

// TerminalRef names a terminal.
type TerminalRef struct {
	SessionID  string `json:"sessionId,omitempty"`
	TerminalID string `json:"terminalId"`
}

// OutputResult is what a terminal shows.
type OutputResult struct {
	Output     string      `json:"output"`
	Truncated  bool        `json:"truncated"`
	ExitStatus *ExitStatus `json:"exitStatus,omitempty"`
}

// ExitStatus is how a command ended.
type ExitStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}
