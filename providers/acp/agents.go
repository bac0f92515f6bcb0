package acp

import "github.com/harness-mcp/harness-mcp/core"

// Agent is one agent as data: how it is started, and in what it differs. The
// JSON form is that of a configuration file.
type Agent struct {
	// Name is the provider's name in list_providers and start_session.
	Name string `json:"-"`
	// Title is the name that is shown.
	Title string `json:"title,omitempty"`
	// Command is the executable and its arguments.
	Command []string `json:"command"`
	// Env is set for the agent, unless a session's own env overrides it.
	Env map[string]string `json:"env,omitempty"`
	// Install is what a person runs to get it.
	Install string `json:"install,omitempty"`
	// Login is what a person runs to sign in.
	Login string `json:"login,omitempty"`
	// Native is the path of the native program from the directory of the
	// launcher's package: %s stands for the platform as npm names it.
	Native string `json:"native,omitempty"`
	// AuthEnv are variables, and AuthFiles files below the home directory,
	// that are signs of a sign-in.
	AuthEnv   []string `json:"auth_env,omitempty"`
	AuthFiles []string `json:"auth_files,omitempty"`
	// Modes are the agent's session modes by approval mode. Modes["default"] is
	// set at every opening, so that an agent that decides by itself asks. A mode
	// without an entry is made of that one: the adapter answers instead.
	Modes map[core.ApprovalMode]string `json:"modes,omitempty"`
	// Efforts are reasoning efforts that can be asked for.
	Efforts []string `json:"reasoning_efforts,omitempty"`
	// Can is what it declares, as far as it is known before it is started. What
	// it then lacks is refused at the opening.
	Can Abilities `json:"can,omitzero"`
	// Quirks are its departures from the protocol.
	Quirks Quirks `json:"quirks,omitzero"`
}

// Abilities are what an agent may or may not have.
type Abilities struct {
	Resume core.Support `json:"resume,omitempty"`
	Fork   core.Support `json:"fork,omitempty"`
	MCP    core.Support `json:"per_session_mcp,omitempty"`
	Images core.Support `json:"attachments,omitempty"`
	Model  core.Support `json:"model,omitempty"`
}

// Quirks are departures from the protocol that cannot be seen on the wire.
type Quirks struct {
	// RejectEnds reports that a rejected tool ends the turn. Then requests offer
	// cancel, which is reported so, and no deny.
	RejectEnds bool `json:"reject_ends_turn,omitempty"`
	// CancelFails reports that a cancelled turn may end with an error instead of
	// the stop reason "cancelled".
	CancelFails bool `json:"cancel_may_fail,omitempty"`
	// SettleMS is how long, in milliseconds, the agent needs after a turn that
	// failed: a prompt that comes earlier would be lost in that turn.
	SettleMS int `json:"settle_ms,omitempty"`
	// UsageIsTotal reports that a turn's usage counts the whole session.
	UsageIsTotal bool `json:"usage_is_total,omitempty"`
	// AvoidOptions are ids of permission options that allow more than
	// their kind.
	AvoidOptions []string `json:"avoid_options,omitempty"`
	// Asides are message chunks that are not the model's words.
	Asides []Aside `json:"asides,omitempty"`
}

// Aside is how to know a chunk that is not the model's words. It must be a
// whole chunk at the beginning of a message.
type Aside struct {
	Prefix string    `json:"prefix"`
	Means  AsideKind `json:"means"`
}

// AsideKind is the meaning of an aside.
type AsideKind string

// What an aside may be: a warning; an error after which the agent continues; an
// error that the turn failed with, if nothing comes after it.
const (
	AsideWarning AsideKind = "warning"
	AsideRetry   AsideKind = "retry"
	AsideError   AsideKind = "error"
)

// Agents returns the known agents, in the order in which they are listed.
func Agents() []Agent {
	return []Agent{
		{
			Name: "gemini", Title: "Gemini CLI (ACP)", Command: []string{"gemini", "--acp"},
			Install: "npm install -g @google/gemini-cli",
			AuthEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, AuthFiles: []string{".gemini/oauth_creds.json"},
			Modes: map[core.ApprovalMode]string{core.ApprovalDefault: "default", core.ApprovalAutoEdit: "autoEdit", core.ApprovalAuto: "yolo"},
			Can:   Abilities{Resume: core.Experimental, MCP: core.Native, Images: core.Native, Model: core.Native},
			Quirks: Quirks{
				AvoidOptions: []string{"proceed_always_and_save"},
			},
		},
		{
			Name: "opencode", Title: "OpenCode (ACP)", Command: []string{"opencode", "acp"},
			Install: "npm install -g opencode-ai",
			Login:   "opencode auth login",
			Native:  "../opencode-%s/bin/opencode",
			// Without this it edits and runs without a question.
			Env:       map[string]string{"OPENCODE_PERMISSION": `{"edit":"ask","bash":"ask","webfetch":"ask"}`},
			AuthFiles: []string{".local/share/opencode/auth.json"},
			Efforts:   []string{"low", "medium", "high"},
			Can:       Abilities{Resume: core.Native, Fork: core.Native, MCP: core.Native, Images: core.Native, Model: core.Native},
			Quirks:    Quirks{RejectEnds: true, CancelFails: true},
		},
		{
			Name: "copilot", Title: "GitHub Copilot CLI (ACP)", Command: []string{"copilot", "--acp"},
			Install: "npm install -g @github/copilot",
			Native:  "../copilot-%s/copilot",
			AuthEnv: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"}, AuthFiles: []string{".copilot/config.json"},
			Modes: map[core.ApprovalMode]string{core.ApprovalDefault: "https://agentclientprotocol.com/protocol/session-modes#agent"},
			Can:   Abilities{Resume: core.Native, MCP: core.Experimental, Images: core.Native},
			Quirks: Quirks{
				UsageIsTotal: true,
				Asides: []Aside{
					{"Error: ", AsideError},
					{"Info: Request failed", AsideRetry},
					{"Info: Response was interrupted", AsideRetry},
					{"Info: ", AsideWarning},
				},
			},
		},
		{
			Name: "qwen", Title: "Qwen Code (ACP)", Command: []string{"qwen", "--acp"},
			Install: "npm install -g @qwen-code/qwen-code",
			AuthEnv: []string{"OPENAI_API_KEY", "DASHSCOPE_API_KEY"}, AuthFiles: []string{".qwen/oauth_creds.json"},
			Modes: map[core.ApprovalMode]string{core.ApprovalDefault: "default", core.ApprovalAutoEdit: "auto-edit", core.ApprovalAuto: "yolo"},
			Can:   Abilities{Resume: core.Native, MCP: core.Native, Images: core.Native, Model: core.Native},
			Quirks: Quirks{
				AvoidOptions: []string{"proceed_once_and_switch_to_default"},
			},
		},
		{
			Name: "claude-acp", Title: "Claude Agent (ACP wrapper)", Command: []string{"claude-agent-acp"},
			Install: "npm install -g @agentclientprotocol/claude-agent-acp",
			AuthEnv: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}, AuthFiles: []string{".claude/.credentials.json"},
			Modes:   map[core.ApprovalMode]string{core.ApprovalDefault: "default", core.ApprovalAutoEdit: "acceptEdits"},
			Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Can:     Abilities{Resume: core.Native, Fork: core.Native, MCP: core.Native, Images: core.Native, Model: core.Native},
		},
		{
			// With unified_exec a cancelled turn leaves its commands running.
			Name: "codex-acp", Title: "Codex (ACP wrapper)", Command: []string{"codex-acp", "-c", "features.unified_exec=false"},
			Install: "npm install -g @zed-industries/codex-acp",
			Native:  "../codex-acp-%s/bin/codex-acp",
			Env:     map[string]string{"NO_BROWSER": "1"},
			AuthEnv: []string{"CODEX_API_KEY", "OPENAI_API_KEY"}, AuthFiles: []string{".codex/auth.json"},
			Modes: map[core.ApprovalMode]string{core.ApprovalDefault: "auto", core.ApprovalPrompt: "read-only", core.ApprovalAutoEdit: "auto", core.ApprovalAuto: "full-access"},
			Can:   Abilities{Resume: core.Native, MCP: core.Native, Images: core.Native, Model: core.Native},
			Quirks: Quirks{
				RejectEnds:   true,
				SettleMS:     1000,
				AvoidOptions: []string{"approved-execpolicy-amendment", "approved-always-network"},
				Asides:       []Aside{{"Model metadata for `", AsideWarning}},
			},
		},
	}
}
