// Package wire mirrors the messages of the Agent Client Protocol, version 1,
// under the protocol's own names. What a message may hold in more than one form
// stays raw JSON, since agents differ; unknown members are left out here and
// kept in the frame.
package wire

import "encoding/json"

// Version is the version of the protocol that is used here.
const Version = 1

// Methods that the client calls.
const (
	Initialize      = "initialize"
	SessionNew      = "session/new"
	SessionLoad     = "session/load"
	SessionResume   = "session/resume"
	SessionFork     = "session/fork"
	SessionPrompt   = "session/prompt"
	SessionCancel   = "session/cancel" // a notification
	SetMode         = "session/set_mode"
	SetModel        = "session/set_model"
	SetConfigOption = "session/set_config_option"
)

// Methods that the agent calls.
const (
	SessionUpdate     = "session/update" // a notification
	RequestPermission = "session/request_permission"
	ReadTextFile      = "fs/read_text_file"
	WriteTextFile     = "fs/write_text_file"
	TerminalCreate    = "terminal/create"
	TerminalOutput    = "terminal/output"
	TerminalWait      = "terminal/wait_for_exit"
	TerminalKill      = "terminal/kill"
	TerminalKillOld   = "terminal/kill_command" // an earlier name
	TerminalRelease   = "terminal/release"
)

// Codes of the agent's errors.
const (
	AuthRequired     = -32000
	ResourceNotFound = -32002
	InvalidParams    = -32602
)

// InitializeParams is what the client reports about itself.
type InitializeParams struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientInfo         Implementation     `json:"clientInfo"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
}

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// ClientCapabilities are the methods that the agent may call.
type ClientCapabilities struct {
	FS       FileSystem `json:"fs"`
	Terminal bool       `json:"terminal"`
}

// FileSystem is which of the file methods may be called.
type FileSystem struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
}

// InitializeResult is what the agent reports about itself.
type InitializeResult struct {
	ProtocolVersion   json.RawMessage   `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AgentInfo         *Implementation   `json:"agentInfo"`
	AuthMethods       []AuthMethod      `json:"authMethods"`
}

// AuthMethod is a way to sign in. That there are some does not mean that one is
// needed.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// AgentCapabilities are what the agent can do.
type AgentCapabilities struct {
	LoadSession         bool                       `json:"loadSession"`
	PromptCapabilities  PromptCapabilities         `json:"promptCapabilities"`
	MCPCapabilities     MCPCapabilities            `json:"mcpCapabilities"`
	SessionCapabilities map[string]json.RawMessage `json:"sessionCapabilities"`
}

// PromptCapabilities are the kinds of content in prompts, beside text and links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// MCPCapabilities are the transports of MCP servers, beside stdio.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// SessionParams opens a session: a new one, or the one with the id.
type SessionParams struct {
	SessionID             string      `json:"sessionId,omitempty"`
	CWD                   string      `json:"cwd"`
	MCPServers            []MCPServer `json:"mcpServers"`
	AdditionalDirectories []string    `json:"additionalDirectories,omitempty"`
}

// MCPServer is one MCP server for the session. A stdio server has no type.
type MCPServer struct {
	Type    string    `json:"type,omitempty"`
	Name    string    `json:"name"`
	Command string    `json:"command,omitempty"`
	Args    *[]string `json:"args,omitempty"` // present for stdio, even if empty
	Env     *[]Pair   `json:"env,omitempty"`
	URL     string    `json:"url,omitempty"`
	Headers *[]Pair   `json:"headers,omitempty"`
}

// Pair is a variable or a header.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SessionResult is the answer to SessionParams.
type SessionResult struct {
	SessionID     string          `json:"sessionId"`
	Modes         *Modes          `json:"modes"`
	Models        *Models         `json:"models"`
	ConfigOptions json.RawMessage `json:"configOptions"`
}

// Modes are the ways in which the agent can work.
type Modes struct {
	CurrentModeID  string `json:"currentModeId"`
	AvailableModes []struct {
		ID string `json:"id"`
	} `json:"availableModes"`
}

// Models are the models to choose from, in an older form than config options.
type Models struct {
	CurrentModelID  string `json:"currentModelId"`
	AvailableModels []struct {
		ModelID string `json:"modelId"`
	} `json:"availableModels"`
}

// Categories of config options.
const (
	CategoryMode   = "mode"
	CategoryModel  = "model"
	CategoryEffort = "thought_level"
)

// ConfigOption is one setting of a session.
type ConfigOption struct {
	ID           string          `json:"id"`
	Category     string          `json:"category"`
	CurrentValue json.RawMessage `json:"currentValue"`
	Options      []struct {
		Value   string `json:"value"`
		Options []struct {
			Value string `json:"value"`
		} `json:"options"` // of a group
	} `json:"options"`
}

// PromptParams begins a turn.
type PromptParams struct {
	SessionID string  `json:"sessionId"`
	Prompt    []Block `json:"prompt"`
}

// Kinds of content.
const (
	Plain = "text"
	Image = "image"
	Link  = "resource_link"
)

// Block is a piece of content.
type Block struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Data     string `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	URI      string `json:"uri,omitempty"`
	Name     string `json:"name,omitempty"`
}

// PromptResult ends a turn.
type PromptResult struct {
	StopReason string          `json:"stopReason"`
	Usage      json.RawMessage `json:"usage"`
	Meta       json.RawMessage `json:"_meta"`
}

// Stop reasons.
const (
	EndTurn         = "end_turn"
	MaxTokens       = "max_tokens"
	MaxTurnRequests = "max_turn_requests"
	Refusal         = "refusal"
	Cancelled       = "cancelled"
)

// Usage is what a turn used.
type Usage struct {
	InputTokens      *int64 `json:"inputTokens"`
	OutputTokens     *int64 `json:"outputTokens"`
	TotalTokens      *int64 `json:"totalTokens"`
	CachedReadTokens *int64 `json:"cachedReadTokens"`
	ThoughtTokens    *int64 `json:"thoughtTokens"`
}

// Quota is where Gemini CLI puts the usage of a turn.
type Quota struct {
	Quota struct {
		TokenCount struct {
			InputTokens  *int64 `json:"input_tokens"`
			OutputTokens *int64 `json:"output_tokens"`
		} `json:"token_count"`
	} `json:"quota"`
}

// SessionRef names a session.
type SessionRef struct {
	SessionID string `json:"sessionId"`
}

// SetModeParams, SetModelParams and SetConfigParams change a setting.
type (
	SetModeParams struct {
		SessionID string `json:"sessionId"`
		ModeID    string `json:"modeId"`
	}
	SetModelParams struct {
		SessionID string `json:"sessionId"`
		ModelID   string `json:"modelId"`
	}
	SetConfigParams struct {
		SessionID string `json:"sessionId"`
		ConfigID  string `json:"configId"`
		Value     string `json:"value"`
	}
)
