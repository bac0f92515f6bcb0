package process

import (
	"slices"
	"strings"
)

// NestingVar is a variable that an agent CLI sets for what it starts, and by
// which a CLI started there takes itself for a part of that conversation.
type NestingVar struct {
	// Name is the variable; with a trailing "*" every variable that begins so.
	Name string
	// Why says what goes wrong when a child inherits it.
	Why string
}

// NestingVars lists the variables that no child inherits. They describe one
// running conversation, never the user's configuration: homes, keys, base URLs,
// models and feature switches pass (CODEX_HOME, CLAUDE_CONFIG_DIR,
// ANTHROPIC_API_KEY, CLAUDE_CODE_USE_BEDROCK, CLAUDE_CODE_OAUTH_TOKEN).
func NestingVars() []NestingVar { return slices.Clone(nestingVars) }

var nestingVars = []NestingVar{
	{"CLAUDECODE", "Claude Code refuses to start, or behaves as a nested session, when it is set"},
	{"CLAUDE_CODE_ENTRYPOINT", "names the front end of the outer session; the inner one would report a false one"},
	{"CLAUDE_CODE_SESSION_ID", "the outer session's id, taken for the child's own by hooks and servers"},
	{"CLAUDE_CODE_REMOTE_SESSION_ID", "the outer remote session's id"},
	{"CLAUDE_CODE_PARENT_SESSION_ID", "ties the child to the outer session"},
	{"CLAUDE_CODE_CHILD_SESSION", "marks the child as a part of the outer session"},
	{"CLAUDE_CODE_SESSION", "an older mark of a running session"},
	{"CLAUDE_SESSION_ID", "an older name of the outer session's id"},
	{"CLAUDE_CODE_SSE_PORT", "the IDE connection of the outer session; the child would attach to that editor"},
	{"CLAUDE_CODE_MESSAGING_SOCKET", "the outer session's message socket"},
	{"CLAUDE_CODE_AGENT_ID", "the outer session's id of one of its sub-agents"},
	{"CLAUDE_CODE_AGENT_NAME", "the name of a sub-agent of the outer session"},
	{"CLAUDE_CODE_TEAM_NAME", "the outer session's team, which the child would join"},
	{"CLAUDE_CODE_SUBAGENT_TYPE", "the kind of a sub-agent of the outer session"},
	{"CLAUDE_CODE_EXECPATH", "the executable of the outer session"},
	{"CLAUDE_AGENT_SDK_VERSION", "says that an SDK drives the outer session"},
	{"CLAUDE_PROJECT_DIR", "the outer session's project, which hooks take for the child's"},
	{"CLAUDE_ENV_FILE", "a file into which hooks write variables of the outer session"},
	{"CLAUDE_EFFORT", "the effort of the outer session's turn, set for its tools"},
	{"ENABLE_IDE_INTEGRATION", "set by an editor for its own terminal; the child would attach to that editor"},
	{"AI_AGENT", "names the agent whose tool the child seems to be"},

	{"CODEX_SANDBOX", "says that the child runs in Codex's sandbox; Codex then skips its own"},
	{"CODEX_SANDBOX_*", "properties of the outer sandbox (no network), which the child believes of itself"},
	{"CODEX_THREAD_ID", "the outer conversation's id, taken for the child's own"},
	{"CODEX_TURN_ID", "the outer conversation's turn"},
	{"CODEX_SESSION_ID", "the outer conversation's id"},
	{"CODEX_CONVERSATION_ID", "an older name of the outer conversation's id"},
	{"CODEX_CI", "set by Codex for its commands; the child takes itself for one"},
	{"CODEX_INTERNAL_ORIGINATOR_OVERRIDE", "names the outer front end; the inner one would report a false one"},
	{"CODEX_SHELL", "says that the child is a shell of a Codex front end"},
	{"CODEX_MANAGED_BY_NPM", "how the outer Codex was installed, set by its launcher"},
	{"CODEX_MANAGED_BY_BUN", "how the outer Codex was installed, set by its launcher"},

	{"GEMINI_CLI", "says that the child is a command of Gemini CLI"},
	{"GEMINI_CLI_NO_RELAUNCH", "set by Gemini CLI for its own second start; the child would skip its memory settings"},
	{"GEMINI_SESSION_ID", "the outer session's id"},
	{"QWEN_CODE", "says that the child is a command of Qwen Code"},
	{"OPENCODE", "says that the child is a command of OpenCode"},
	{"OPENCODE_PID", "the outer OpenCode process"},
	{"OPENCODE_PROCESS_ROLE", "the part that the outer OpenCode process plays"},
	{"OPENCODE_RUN_ID", "the outer OpenCode run"},
	{"OPENCODE_SESSION_ID", "the outer session's id"},
	{"OPENCODE_CALLER", "the editor extension that started the outer OpenCode"},
	{"PI_CODING_AGENT", "says that the child is a command of Pi (PI_CODING_AGENT_DIR is configuration and stays)"},
	{"AMP_CURRENT_THREAD_ID", "the outer thread's id"},
	{"AMP_THREAD_ID", "the outer thread's id"},
	{"COPILOT_CLI", "says that the child is a command of Copilot CLI"},
	{"COPILOT_AGENT_SESSION_ID", "the outer session's id"},
	{"CURSOR_AGENT", "says that the child is a command of Cursor's agent"},
	{"CURSOR_TRACE_ID", "the trace of the outer Cursor session"},
	{"GOOSE_TERMINAL", "says that the child is a command of Goose"},
}

// Nesting reports whether no child inherits a variable of this name.
func Nesting(name string) bool {
	for _, v := range nestingVars {
		if prefix, wild := strings.CutSuffix(v.Name, "*"); name == v.Name || wild && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
