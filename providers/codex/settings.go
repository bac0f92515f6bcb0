package codex

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
)

// Names of the provider options.
const (
	optionConfig        = "config"
	optionModelProvider = "model_provider"
	optionAuth          = "auth"
)

// options is how list_providers shows them.
var options = []core.OptionSpec{
	{Name: optionConfig, Type: "object", Description: "Codex configuration for this session, as `codex -c KEY=VALUE` takes it: dotted or nested keys, such as {\"sandbox_workspace_write.network_access\": true}. Approval and sandbox have arguments of their own."},
	{Name: optionModelProvider, Type: "string", Description: "name of a model provider from Codex's own configuration"},
	{Name: optionAuth, Type: "string", Enum: []string{authInherit, authSubscription}, Description: "inherit (default) uses whatever credentials and model provider Codex finds; subscription removes every variable that would reroute or bill elsewhere, pins the provider openai, and refuses to start without a sign-in by ChatGPT"},
}

// reserved are configuration keys that arguments of a session stand for: an
// option must not loosen them.
var reserved = []string{"approval_policy", "sandbox_mode", "approvals_reviewer", "default_permissions"}

// opening is what begins a conversation.
type opening struct {
	method       string // thread/start, thread/resume or thread/fork
	params       wire.ThreadParams
	skills       []string // directories to look for skills in
	subscription bool     // nothing else may be billed
}

// newOpening returns the opening of a session.
//
// Errors: CodeOption, CodeInvalidArgument.
func newOpening(cfg core.SessionConfig) (o opening, err *core.Error) {
	if o.subscription, err = authOption(cfg); err != nil {
		return o, err
	}
	if o.method, o.params, err = threadParams(cfg); err != nil {
		return o, err
	}
	if o.subscription {
		if err := checkGiven(cfg); err != nil {
			return o, err
		}
		o.params.ModelProvider = pinnedProvider
	}
	o.skills, err = skillRoots(cfg.Skills)
	return o, err
}

// threadParams returns one of thread/start, thread/resume and thread/fork, and its
// params.
//
// Errors: CodeOption, CodeInvalidArgument.
func threadParams(cfg core.SessionConfig) (method string, p wire.ThreadParams, err *core.Error) {
	m := modes{cfg.ApprovalMode, cfg.SandboxMode}.normal()
	if err := m.check(); err != nil {
		return "", p, err
	}
	if err := checkUnsupported(cfg); err != nil {
		return "", p, err
	}
	p = wire.ThreadParams{
		CWD:                   cfg.CWD,
		Model:                 cfg.Model,
		ApprovalPolicy:        approvals[m.approval],
		Sandbox:               sandboxes[m.sandbox].name,
		DeveloperInstructions: cfg.SystemPrompt,
	}
	if p.Config, err = threadConfig(cfg); err != nil {
		return "", p, err
	}
	if raw, ok := cfg.ProviderOptions[optionModelProvider]; ok {
		if json.Unmarshal(raw, &p.ModelProvider) != nil {
			return "", p, core.Errorf(core.CodeInvalidArgument, "provider option %s is not a string", optionModelProvider)
		}
	}
	if cfg.ProviderSesID == "" {
		return wire.ThreadStart, p, nil
	}
	// Codex would search its threads for any other text.
	if _, bad := uuid.Parse(cfg.ProviderSesID); bad != nil {
		return "", p, core.Errorf(core.CodeInvalidArgument, "%q is not the id of a Codex thread", cfg.ProviderSesID).
			WithHint("provider_session_id is a UUID, as Codex shows it for a conversation.")
	}
	p.ThreadID, p.ExcludeTurns = cfg.ProviderSesID, true
	if cfg.Fork {
		return wire.ThreadFork, p, nil
	}
	return wire.ThreadResume, p, nil
}

// checkUnsupported refuses what Codex has no setting for.
func checkUnsupported(cfg core.SessionConfig) *core.Error {
	if len(cfg.AllowedTools) > 0 || len(cfg.DisallowedTools) > 0 {
		return core.Errorf(core.CodeOption, "codex has no lists of allowed or disallowed tools").
			WithHint("Use sandbox_mode and approval_mode to limit it.")
	}
	for name := range cfg.ProviderOptions {
		if name != optionConfig && name != optionModelProvider && name != optionAuth {
			return core.Errorf(core.CodeOption, "codex has no provider option %q", name).
				WithHint("It has: %s, %s, %s.", optionAuth, optionConfig, optionModelProvider)
		}
	}
	return nil
}

// threadConfig returns the configuration of one thread, over that of the user.
func threadConfig(cfg core.SessionConfig) (map[string]any, *core.Error) {
	config := map[string]any{}
	if raw, ok := cfg.ProviderOptions[optionConfig]; ok {
		if json.Unmarshal(raw, &config) != nil {
			return nil, core.Errorf(core.CodeInvalidArgument, "provider option %s is not an object", optionConfig)
		}
		for key := range config {
			if root, _, _ := strings.Cut(key, "."); slices.Contains(reserved, root) {
				return nil, core.Errorf(core.CodeOption, "provider option config cannot set %s", key).
					WithHint("Use approval_mode and sandbox_mode.")
			}
		}
	}
	if cfg.ReasoningEffort != "" {
		config["model_reasoning_effort"] = cfg.ReasoningEffort
	}
	if len(cfg.AddDirs) > 0 {
		config["sandbox_workspace_write.writable_roots"] = cfg.AddDirs
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		server, err := mcpServer(name, cfg.MCPServers[name])
		if err != nil {
			return nil, err
		}
		config["mcp_servers."+name] = server
	}
	if len(config) == 0 {
		return nil, nil
	}
	return config, nil
}

// mcpServer turns the entry that MCP clients share ({command, args, env} or
// {url, headers}) into Codex's. Other keys pass as they are.
func mcpServer(name string, raw json.RawMessage) (map[string]any, *core.Error) {
	var in map[string]any
	if err := json.Unmarshal(raw, &in); err != nil || in == nil {
		return nil, core.Errorf(core.CodeInvalidArgument, "mcp server %q is not an object", name)
	}
	if strings.ContainsAny(name, ". \t\n\"'") {
		return nil, core.Errorf(core.CodeOption, "codex cannot have an MCP server named %q", name).
			WithHint("Use letters, digits, - and _.")
	}
	kind, _ := in["type"].(string)
	switch kind {
	case "", "stdio", "http", "streamable-http":
		delete(in, "type")
	default:
		return nil, core.Errorf(core.CodeOption, "codex cannot reach an MCP server of type %q", kind).
			WithHint("It has stdio and http.")
	}
	if headers, ok := in["headers"]; ok {
		in["http_headers"] = headers
		delete(in, "headers")
	}
	if in["command"] == nil && in["url"] == nil {
		return nil, core.Errorf(core.CodeInvalidArgument, "mcp server %q has neither command nor url", name)
	}
	return in, nil
}

// imageTypes are the files that Codex shows to the model as pictures.
var imageTypes = []string{".png", ".jpg", ".jpeg", ".gif", ".webp"}

// userInput returns a prompt as Codex takes it. A file that is no picture is
// named in the text: the agent reads it itself.
func userInput(in core.TurnInput) ([]wire.UserInput, *core.Error) {
	if len(in.ProviderOptions) > 0 {
		return nil, core.Errorf(core.CodeOption, "codex has no provider options per turn").
			WithHint("Give them to start_session.")
	}
	list := []wire.UserInput{{Type: "text", Text: in.Prompt}}
	for _, b := range in.Content {
		switch b.Type {
		case "text":
			list = append(list, wire.UserInput{Type: "text", Text: b.Text})
		case "image":
			list = append(list, wire.UserInput{Type: "image", URL: fmt.Sprintf("data:%s;base64,%s", b.MIMEType, b.Data)})
		default:
			return nil, core.Errorf(core.CodeCapability, "codex takes no content of type %q", b.Type)
		}
	}
	for _, path := range in.Attachments {
		if i := strings.LastIndexByte(path, '.'); i >= 0 && slices.Contains(imageTypes, strings.ToLower(path[i:])) {
			list = append(list, wire.UserInput{Type: "localImage", Path: path})
			continue
		}
		list = append(list, wire.UserInput{Type: "text", Text: "Attached file: " + path})
	}
	return list, nil
}
