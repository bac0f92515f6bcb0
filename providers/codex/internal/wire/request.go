package wire

import "encoding/json"

// Decisions about commands and file changes.
const (
	Accept           = "accept"
	AcceptForSession = "acceptForSession"
	Decline          = "decline"
	Cancel           = "cancel"
)

// CommandApprovalParams asks whether a command may run.
type CommandApprovalParams struct {
	ItemID  string `json:"itemId"`
	Kind    string `json:"kind"`
	Reason  string `json:"reason"`
	Command string `json:"command"`
	CWD     string `json:"cwd"`
}

// FileChangeApprovalParams asks whether a patch may be applied. The patch is
// in the item that was started before.
type FileChangeApprovalParams struct {
	ItemID    string `json:"itemId"`
	Reason    string `json:"reason"`
	GrantRoot string `json:"grantRoot"`
}

// DecisionResponse answers both.
type DecisionResponse struct {
	Decision string `json:"decision"`
}

// PermissionApprovalParams asks for more permissions.
type PermissionApprovalParams struct {
	CWD         string          `json:"cwd"`
	Reason      string          `json:"reason"`
	Permissions json.RawMessage `json:"permissions"`
}

// PermissionApprovalResponse grants what Permissions names, nothing when it is
// an empty object.
type PermissionApprovalResponse struct {
	Permissions json.RawMessage `json:"permissions"`
	Scope       string          `json:"scope"` // turn or session
}

// UserInputParams asks questions.
type UserInputParams struct {
	Questions []UserInputQuestion `json:"questions"`
}

// UserInputQuestion is one of them.
type UserInputQuestion struct {
	ID       string `json:"id"`
	Header   string `json:"header"`
	Question string `json:"question"`
	IsOther  bool   `json:"isOther"`
	IsSecret bool   `json:"isSecret"`
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
}

// UserInputResponse answers them by their ids.
type UserInputResponse struct {
	Answers map[string]UserInputAnswer `json:"answers"`
}

// UserInputAnswer is the answer to one question.
type UserInputAnswer struct {
	Answers []string `json:"answers"`
}

// ElicitationParams passes on what an MCP server, or Codex about one, asks.
type ElicitationParams struct {
	ServerName      string          `json:"serverName"`
	Mode            string          `json:"mode"` // form, url, or one of the vendor's own
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema"`
	URL             string          `json:"url"`
	Meta            struct {
		ApprovalKind string          `json:"codex_approval_kind"`
		Persist      json.RawMessage `json:"persist"` // a string or a list
		ToolName     string          `json:"tool_name"`
		ToolParams   json.RawMessage `json:"tool_params"`
	} `json:"_meta"`
}

// ElicitationResponse answers it.
type ElicitationResponse struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content"`
	Meta    *PersistMeta    `json:"_meta"`
}

// PersistMeta asks to remember an approval.
type PersistMeta struct {
	Persist string `json:"persist"`
}
