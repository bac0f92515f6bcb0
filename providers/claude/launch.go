package claude

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
)

// launch is how a session's CLI is started, all checked before anything is.
type launch struct {
	opts    options
	session string // the conversation's id
	mode    string // the permission mode
	flags   []string

	settings json.RawMessage // of a file; nil for none
	mcp      json.RawMessage // of a file
	init     wire.InitializeRequest
}

// newLaunch decides how to start a session.
//
// Errors: CodeOption, CodeCapability, CodeInvalidArgument.
func newLaunch(cfg core.SessionConfig, newID func() string) (launch, *core.Error) {
	l := launch{session: newID()}
	var err *core.Error
	if l.opts, err = readOptions(cfg.ProviderOptions); err != nil {
		return l, err
	}
	if l.mode, err = permissionMode(cfg, l.opts); err != nil {
		return l, err
	}
	if l.settings, err = settingsOf(l.opts, cfg.SandboxMode, cfg.AddDirs); err != nil {
		return l, err
	}
	if l.mcp, err = mcpConfig(cfg.MCPServers); err != nil {
		return l, err
	}
	l.init = wire.InitializeRequest{Subtype: wire.Initialize, AppendSystemPrompt: cfg.SystemPrompt, JSONSchema: cfg.OutputSchema}
	return l, l.arguments(cfg)
}

// permissionMode is the CLI's mode of a session.
func permissionMode(cfg core.SessionConfig, o options) (string, *core.Error) {
	asked := cfg.ApprovalMode
	if asked == "" {
		asked = core.ApprovalDefault
	}
	mode, ok := permissionModes[asked]
	switch {
	case !ok:
		return "", core.Errorf(core.CodeOption, "claude has no approval mode %q", asked).
			WithHint("Use default, prompt, auto_edit or auto_approve.")
	case o.PermissionMode == "":
	case asked != core.ApprovalDefault && asked != core.ApprovalPrompt:
		return "", core.Errorf(core.CodeOption, "provider option permission_mode %s does not go with approval_mode %s", o.PermissionMode, asked).
			WithHint("Leave approval_mode at default.")
	default:
		mode = o.PermissionMode
	}
	if asked == core.ApprovalAutoEdit && cfg.SandboxMode == core.SandboxReadOnly {
		return "", core.Errorf(core.CodeOption, "approval mode auto_edit lets edits pass, and sandbox mode read_only forbids them").
			WithHint("Use workspace_write with auto_edit, or prompt with read_only.")
	}
	switch cfg.SandboxMode {
	case "", core.SandboxDefault, core.SandboxReadOnly, core.SandboxWorkspaceWrite, core.SandboxUnrestricted:
		return mode, nil
	}
	return "", core.Errorf(core.CodeOption, "claude has no sandbox mode %q", cfg.SandboxMode).
		WithHint("Use default, read_only, workspace_write or unrestricted.")
}

// fixed are the flags of every session. A flag that takes several values stands
// before one that does not, since it would take more arguments.
var fixed = []string{
	"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
	"--include-partial-messages", "--permission-prompt-tool", "stdio",
}

// arguments writes the flags.
func (l *launch) arguments(cfg core.SessionConfig) *core.Error {
	add := func(flag, value string) {
		if value != "" {
			l.flags = append(l.flags, flag, value)
		}
	}
	if err := l.conversation(cfg); err != nil {
		return err
	}
	denied := cfg.DisallowedTools
	if cfg.SandboxMode == core.SandboxReadOnly {
		denied = append(append([]string{}, denied...), writers...)
	}
	allowed := cfg.AllowedTools
	if len(cfg.Skills) > 0 && len(allowed) > 0 {
		allowed = append(append([]string{}, allowed...), "Skill")
	}
	for _, list := range []struct {
		flag   string
		values []string
	}{{"--allowedTools", allowed}, {"--disallowedTools", denied}, {"--add-dir", cfg.AddDirs}} {
		if len(list.values) == 0 {
			continue
		}
		for _, v := range list.values {
			if v == "" || strings.HasPrefix(v, "-") {
				return core.Errorf(core.CodeInvalidArgument, "%q cannot be a value of claude's %s", v, list.flag)
			}
		}
		l.flags = append(append(l.flags, list.flag), list.values...)
	}
	for _, v := range []struct{ name, value string }{{"model", cfg.Model}, {"title", cfg.Title}} {
		if strings.HasPrefix(v.value, "-") {
			return core.Errorf(core.CodeInvalidArgument, "%s cannot begin with a dash for claude", v.name)
		}
	}
	add("--model", cfg.Model)
	add("--permission-mode", l.mode)
	add("--effort", cfg.ReasoningEffort)
	add("--name", cfg.Title)
	if l.opts.MaxTurns > 0 {
		add("--max-turns", strconv.Itoa(l.opts.MaxTurns))
	}
	if l.opts.SettingSources != nil {
		l.flags = append(l.flags, "--setting-sources="+*l.opts.SettingSources)
	}
	return nil
}

// conversation writes which conversation is opened: a new one under an id of
// ours, an old one, or a branch of an old one.
func (l *launch) conversation(cfg core.SessionConfig) *core.Error {
	if cfg.ProviderSesID == "" {
		l.flags = append(l.flags, "--session-id", l.session)
		return nil
	}
	// The CLI would take other words for a search among its conversations.
	id, err := uuid.Parse(cfg.ProviderSesID)
	if err != nil || id.String() != strings.ToLower(cfg.ProviderSesID) {
		return core.Errorf(core.CodeInvalidArgument, "%q is not the id of a Claude Code conversation", cfg.ProviderSesID).
			WithHint("provider_session_id is a UUID, as Claude Code shows it for a conversation.")
	}
	l.flags = append(l.flags, "--resume", cfg.ProviderSesID)
	if cfg.Fork {
		l.flags = append(l.flags, "--fork-session", "--session-id", l.session)
		return nil
	}
	l.session = cfg.ProviderSesID
	return nil
}

// mcpConfig returns the servers as the CLI's config file has them: the entry that
// MCP clients share ({command, args, env} or {url, headers}), and no others
// unless the caller wants them.
func mcpConfig(servers map[string]json.RawMessage) (json.RawMessage, *core.Error) {
	out := make(map[string]map[string]any, len(servers))
	for name, raw := range servers {
		var entry map[string]any
		if json.Unmarshal(raw, &entry) != nil || entry == nil {
			return nil, core.Errorf(core.CodeInvalidArgument, "mcp server %q is not an object", name)
		}
		if name == "" || strings.ContainsFunc(name, notInServerName) {
			return nil, core.Errorf(core.CodeOption, "claude cannot have an MCP server named %q", name).WithHint("Use letters, digits, - and _.")
		}
		_, command := entry["command"]
		_, url := entry["url"]
		switch {
		case !command && !url:
			return nil, core.Errorf(core.CodeInvalidArgument, "mcp server %q has neither command nor url", name)
		case url && entry["type"] == nil:
			entry["type"] = "http"
		case entry["type"] == "streamable-http":
			entry["type"] = "http"
		}
		out[name] = entry
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": out})
	if err != nil {
		return nil, core.Errorf(core.CodeInvalidArgument, "the MCP servers cannot be written: %w", err)
	}
	return raw, nil
}

func notInServerName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}
