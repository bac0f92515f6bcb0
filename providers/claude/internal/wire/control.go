package wire

import "encoding/json"

// Request is a control request of the CLI's.
type Request struct {
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
}

// Ask is the body of can_use_tool.
type Ask struct {
	Subtype      string            `json:"subtype"`
	ToolName     string            `json:"tool_name"`
	DisplayName  string            `json:"display_name"`
	Input        json.RawMessage   `json:"input"`
	Description  string            `json:"description"`
	Suggestions  []json.RawMessage `json:"permission_suggestions"`
	BlockedPath  string            `json:"blocked_path"`
	Reason       string            `json:"decision_reason"`
	ReasonType   string            `json:"decision_reason_type"`
	ToolUseID    string            `json:"tool_use_id"`
	AgentID      string            `json:"agent_id"` // of a sub-agent that asks
	MCPServerRef struct {
		Name string `json:"name"`
	} `json:"mcp_server"`
}

// ModeReason is the decision_reason_type of an ask that the mode makes: plan
// mode asks for what it forbids.
const ModeReason = "mode"

// Tools that this adapter knows by name.
const (
	Bash            = "Bash"
	AskUserQuestion = "AskUserQuestion"
	ExitPlanMode    = "ExitPlanMode"
	TodoWrite       = "TodoWrite"
	MCPPrefix       = "mcp__"
)

// ToolInput has the fields of known tools' inputs that people want to see.
type ToolInput struct {
	Command      string `json:"command"`
	Description  string `json:"description"`
	FilePath     string `json:"file_path"`
	NotebookPath string `json:"notebook_path"`
	Pattern      string `json:"pattern"`
	Path         string `json:"path"`
	Query        string `json:"query"`
	URL          string `json:"url"`
	Prompt       string `json:"prompt"`
	Plan         string `json:"plan"`
	OldString    string `json:"old_string"`
	NewString    string `json:"new_string"`
	Content      string `json:"content"`
	Skill        string `json:"skill"`
	Todos        []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
	Questions []Question `json:"questions"`
}

// Question is one of AskUserQuestion's.
type Question struct {
	Question    string `json:"question"`
	Header      string `json:"header"`
	MultiSelect bool   `json:"multiSelect"`
	Options     []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
}

// Suggestion is a change of permissions that the CLI offers with an ask.
type Suggestion struct {
	Type        string          `json:"type"`
	Rules       json.RawMessage `json:"rules,omitempty"`
	Behavior    string          `json:"behavior,omitempty"`
	Destination string          `json:"destination"`
}

// What a suggestion does, and how far it reaches.
const (
	AddRules  = "addRules"
	ToSession = "session" // in memory only
)

// Allow and Deny are the answers to can_use_tool.
type Allow struct {
	Behavior           string          `json:"behavior"` // "allow"
	UpdatedInput       json.RawMessage `json:"updatedInput"`
	UpdatedPermissions []Suggestion    `json:"updatedPermissions,omitempty"`
}

// Deny refuses a tool use; Interrupt stops the turn too.
type Deny struct {
	Behavior  string `json:"behavior"` // "deny"
	Message   string `json:"message"`
	Interrupt bool   `json:"interrupt"`
}

// ElicitationRequest is the question of an MCP server.
type ElicitationRequest struct {
	MCPServerName   string          `json:"mcp_server_name"`
	Message         string          `json:"message"`
	Mode            string          `json:"mode"` // form or url; "" is a form
	URL             string          `json:"url"`
	RequestedSchema json.RawMessage `json:"requested_schema"`
}

// ElicitationAnswer answers it.
type ElicitationAnswer struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
}

// Response is a control response of the CLI's.
type Response struct {
	Response struct {
		Subtype   string          `json:"subtype"` // success or error
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
		ErrorCode string          `json:"error_code"`
	} `json:"response"`
}

// Success is the subtype of a response that is no error.
const Success = "success"

// Initialized is the response to initialize.
type Initialized struct {
	Version string `json:"claude_code_version"`
	Account struct {
		TokenSource      string `json:"tokenSource"`
		APIKeySource     string `json:"apiKeySource"`
		APIProvider      string `json:"apiProvider"`
		SubscriptionType string `json:"subscriptionType"`
	} `json:"account"`
	Models []struct {
		Value         string `json:"value"`
		ResolvedModel string `json:"resolvedModel"`
	} `json:"models"`
}

// Interrupted is the response to interrupt; older versions have none.
type Interrupted struct {
	Cancelled []string `json:"cancelled"`
}

// MessageCancelled is the response to cancel_async_message.
type MessageCancelled struct {
	Cancelled bool `json:"cancelled"`
}

// OutRequest is a control request of ours.
type OutRequest struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Request   any    `json:"request"`
}

// OutResponse is a control response of ours.
type OutResponse struct {
	Type     string          `json:"type"`
	Response OutResponseBody `json:"response"`
}

// OutResponseBody is a success with a Response, or an error.
type OutResponseBody struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Response  any    `json:"response,omitempty"`
	Error     string `json:"error,omitempty"`
}

// InitializeRequest opens the conversation.
type InitializeRequest struct {
	Subtype            string          `json:"subtype"`
	AppendSystemPrompt string          `json:"appendSystemPrompt,omitempty"`
	JSONSchema         json.RawMessage `json:"jsonSchema,omitempty"`
}

// InterruptRequest stops the running turn.
type InterruptRequest struct {
	Subtype      string `json:"subtype"`
	CancelQueued bool   `json:"cancel_queued,omitempty"`
}

// ModeRequest is set_permission_mode.
type ModeRequest struct {
	Subtype string `json:"subtype"`
	Mode    string `json:"mode"`
}

// ModelRequest is set_model.
type ModelRequest struct {
	Subtype string `json:"subtype"`
	Model   string `json:"model"`
}

// CancelRequest is cancel_async_message.
type CancelRequest struct {
	Subtype     string `json:"subtype"`
	MessageUUID string `json:"message_uuid"`
}

// EndRequest is end_session.
type EndRequest struct {
	Subtype string `json:"subtype"`
	Reason  string `json:"reason"`
}

// CancelOut withdraws a control request of ours.
type CancelOut struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
}

// Prompt is a user message of ours.
type Prompt struct {
	Type            string  `json:"type"`
	Message         Spoken  `json:"message"`
	ParentToolUseID *string `json:"parent_tool_use_id"`
	SessionID       string  `json:"session_id"`
	UUID            string  `json:"uuid"`
	Priority        string  `json:"priority,omitempty"`
	// ClientComposed keeps "/words" and "@files" of the text from being
	// commands.
	ClientComposed bool `json:"client_composed"`
}

// Spoken is the content of a user's message: a text, or []Block.
type Spoken struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// Later makes a message a turn of its own, after what runs.
const Later = "later"
