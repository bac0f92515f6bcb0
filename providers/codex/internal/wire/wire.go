// Package wire mirrors the messages of `codex app-server` under the vendor's
// own names: only the parts that the adapter reads or writes, and no behaviour.
// The reference is what the program itself prints with
// `codex app-server generate-json-schema`; the versions tested are 0.150.0 and
// 0.171.0.
package wire

import "encoding/json"

// Requests that the client makes.
const (
	Initialize        = "initialize"
	ConfigRead        = "config/read"
	RequirementsRead  = "configRequirements/read"
	SkillsRootsSet    = "skills/extraRoots/set"
	ThreadStart       = "thread/start"
	ThreadResume      = "thread/resume"
	ThreadFork        = "thread/fork"
	TurnStart         = "turn/start"
	TurnSteer         = "turn/steer"
	TurnInterrupt     = "turn/interrupt"
	TerminalsList     = "thread/backgroundTerminals/list"
	TerminalTerminate = "thread/backgroundTerminals/terminate"

	Initialized = "initialized" // a notification
)

// Notifications that the server sends.
const (
	Error                 = "error"
	Warning               = "warning"
	GuardianWarning       = "guardianWarning"
	ConfigWarning         = "configWarning"
	DeprecationNotice     = "deprecationNotice"
	ThreadStarted         = "thread/started"
	TokenUsageUpdated     = "thread/tokenUsage/updated"
	RateLimitsUpdated     = "account/rateLimits/updated"
	ModelRerouted         = "model/rerouted"
	TurnStarted           = "turn/started"
	TurnCompleted         = "turn/completed"
	PlanUpdated           = "turn/plan/updated"
	ItemStarted           = "item/started"
	ItemCompleted         = "item/completed"
	AgentMessageDelta     = "item/agentMessage/delta"
	ReasoningSummaryDelta = "item/reasoning/summaryTextDelta"
	ReasoningSummaryPart  = "item/reasoning/summaryPartAdded"
	ReasoningTextDelta    = "item/reasoning/textDelta"
	CommandOutputDelta    = "item/commandExecution/outputDelta"
	McpToolCallProgress   = "item/mcpToolCall/progress"
	ServerRequestResolved = "serverRequest/resolved"
)

// Requests that the server makes.
const (
	CommandApproval    = "item/commandExecution/requestApproval"
	FileChangeApproval = "item/fileChange/requestApproval"
	PermissionApproval = "item/permissions/requestApproval"
	RequestUserInput   = "item/tool/requestUserInput"
	Elicitation        = "mcpServer/elicitation/request"
	AuthTokensRefresh  = "account/chatgptAuthTokens/refresh"
	Attestation        = "attestation/generate"
)

// InitializeParams begins the handshake.
type InitializeParams struct {
	ClientInfo   ClientInfo   `json:"clientInfo"`
	Capabilities Capabilities `json:"capabilities"`
}

// ClientInfo names the client.
type ClientInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

// Capabilities are what the client can take.
type Capabilities struct {
	ExperimentalAPI           bool     `json:"experimentalApi"`
	RequestAttestation        bool     `json:"requestAttestation"`
	OptOutNotificationMethods []string `json:"optOutNotificationMethods,omitempty"`
}

// InitializeResponse ends the handshake.
type InitializeResponse struct {
	UserAgent string `json:"userAgent"`
	CodexHome string `json:"codexHome"`
}

// ThreadParams are those of thread/start, thread/resume and thread/fork.
type ThreadParams struct {
	ThreadID              string         `json:"threadId,omitempty"`
	CWD                   string         `json:"cwd,omitempty"`
	Model                 string         `json:"model,omitempty"`
	ModelProvider         string         `json:"modelProvider,omitempty"`
	ApprovalPolicy        string         `json:"approvalPolicy,omitempty"`
	Sandbox               string         `json:"sandbox,omitempty"`
	Config                map[string]any `json:"config,omitempty"`
	DeveloperInstructions string         `json:"developerInstructions,omitempty"`
	ExcludeTurns          bool           `json:"excludeTurns,omitempty"`
}

// ThreadResponse answers the three.
type ThreadResponse struct {
	Thread          Thread         `json:"thread"`
	Model           string         `json:"model"`
	ModelProvider   string         `json:"modelProvider"`
	ReasoningEffort string         `json:"reasoningEffort"`
	Sandbox         *SandboxPolicy `json:"sandbox"`
}

// Thread is a conversation.
type Thread struct {
	ID string `json:"id"`
}

// SandboxPolicy is the sandbox as turn/start takes it. The pointers are unset
// for the kinds that do not have the field.
type SandboxPolicy struct {
	Type                string   `json:"type"`
	WritableRoots       []string `json:"writableRoots,omitempty"`
	NetworkAccess       *bool    `json:"networkAccess,omitempty"`
	ExcludeTmpdirEnvVar *bool    `json:"excludeTmpdirEnvVar,omitempty"`
	ExcludeSlashTmp     *bool    `json:"excludeSlashTmp,omitempty"`
}

// TurnStartParams begins a turn. What it overrides stays for later turns.
type TurnStartParams struct {
	ThreadID       string          `json:"threadId"`
	Input          []UserInput     `json:"input"`
	Model          string          `json:"model,omitempty"`
	Effort         string          `json:"effort,omitempty"`
	ApprovalPolicy string          `json:"approvalPolicy,omitempty"`
	SandboxPolicy  *SandboxPolicy  `json:"sandboxPolicy,omitempty"`
	OutputSchema   json.RawMessage `json:"outputSchema,omitempty"`
}

// TurnSteerParams adds to a running turn.
type TurnSteerParams struct {
	ThreadID       string      `json:"threadId"`
	ExpectedTurnID string      `json:"expectedTurnId"`
	Input          []UserInput `json:"input"`
}

// UserInput is a part of a prompt.
type UserInput struct {
	Type string `json:"type"` // text, image or localImage
	Text string `json:"text,omitempty"`
	URL  string `json:"url,omitempty"`
	Path string `json:"path,omitempty"`
}

// TurnRef names a turn, as turn/interrupt takes it.
type TurnRef struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

// TurnResponse answers turn/start.
type TurnResponse struct {
	Turn Turn `json:"turn"`
}

// Turn is a turn as its notifications carry it.
type Turn struct {
	ID     string     `json:"id"`
	Status string     `json:"status"` // inProgress, completed, interrupted or failed
	Error  *TurnError `json:"error"`
	Items  []Item     `json:"items"`
}

// TurnError is why a turn failed. CodexErrorInfo is a string or an object of
// one key.
type TurnError struct {
	Message           string          `json:"message"`
	CodexErrorInfo    json.RawMessage `json:"codexErrorInfo"`
	AdditionalDetails string          `json:"additionalDetails,omitempty"`
}

// Terminals answers thread/backgroundTerminals/list.
type Terminals struct {
	Data []Terminal `json:"data"`
}

// Terminal is a command that runs on after its turn.
type Terminal struct {
	ItemID    string `json:"itemId"`
	ProcessID string `json:"processId"`
}

// TerminateParams ends one terminal.
type TerminateParams struct {
	ThreadID  string `json:"threadId"`
	ProcessID string `json:"processId"`
}

// ThreadRef names a thread.
type ThreadRef struct {
	ThreadID string `json:"threadId"`
}
