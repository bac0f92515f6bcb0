package pi

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// Names of the provider options.
const (
	optionProvider = "model_provider"
	optionTrust    = "trust_project"
)

// options is how list_providers shows them.
var options = []core.OptionSpec{
	{Name: optionProvider, Type: "string", Description: "whose model it is, where model does not say so: anthropic, openai, google, or a name from Pi's models.json"},
	{Name: optionTrust, Type: "boolean", Description: "whether Pi loads the settings, extensions and skills that the working directory brings along; absent: what the user has told Pi"},
}

// efforts are the thinking levels of Pi's.
var efforts = []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}

// asks reports whether a mode of approval ever asks.
func asks(m core.ApprovalMode) bool { return m != core.ApprovalAuto }

// conversation is the id of one: what else --session takes is a search.
var conversation = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// flags returns the arguments that a session's configuration stands for. The
// system prompt and the gate are files and come later.
//
// Errors: CodeOption, CodeCapability, CodeInvalidArgument.
func flags(cfg core.SessionConfig) ([]string, *core.Error) {
	if err := checkUnsupported(cfg); err != nil {
		return nil, err
	}
	args := []string{"--mode", "rpc"}
	add := func(field, flag, value string) *core.Error {
		switch {
		case value == "":
			return nil
		case strings.HasPrefix(value, "-"):
			return core.Errorf(core.CodeInvalidArgument, "%s cannot begin with -", field).WithDetail("field", field)
		}
		args = append(args, flag, value)
		return nil
	}
	owner, trust, err := providerOptions(cfg.ProviderOptions)
	if err != nil {
		return nil, err
	}
	if owner != "" && cfg.Model == "" {
		return nil, core.Errorf(core.CodeInvalidArgument, "provider option %s needs model too", optionProvider)
	}
	allowed, err := toolList("allowed_tools", cfg.AllowedTools)
	if err != nil {
		return nil, err
	}
	denied, err := toolList("disallowed_tools", cfg.DisallowedTools)
	if err != nil {
		return nil, err
	}
	session := "--session"
	if cfg.Fork {
		session = "--fork"
	}
	if cfg.ProviderSesID != "" && !conversation.MatchString(cfg.ProviderSesID) {
		return nil, core.Errorf(core.CodeInvalidArgument, "%q is not the id of a conversation of Pi's", cfg.ProviderSesID).
			WithHint("provider_session_id is what Pi shows as the session's id.")
	}
	for _, f := range [][3]string{
		{optionProvider, "--provider", owner},
		{"model", "--model", cfg.Model},
		{"reasoning_effort", "--thinking", cfg.ReasoningEffort},
		{"allowed_tools", "--tools", allowed},
		{"disallowed_tools", "--exclude-tools", denied},
		{"provider_session_id", session, cfg.ProviderSesID},
	} {
		if err := add(f[0], f[1], f[2]); err != nil {
			return nil, err
		}
	}
	for _, path := range cfg.Skills {
		if err := add("skills", "--skill", path); err != nil {
			return nil, err
		}
	}
	return append(args, trust...), nil
}

// checkUnsupported refuses what Pi has no setting for.
func checkUnsupported(cfg core.SessionConfig) *core.Error {
	switch {
	case len(cfg.MCPServers) > 0:
		return core.Errorf(core.CodeCapability, "pi takes no mcp_servers per session").
			WithHint("Add them to Pi itself with `pi mcp`, or use another provider.")
	case len(cfg.OutputSchema) > 0:
		return core.Errorf(core.CodeCapability, "pi cannot follow an output_schema").WithHint("Ask for JSON in the prompt instead.")
	case cfg.SandboxMode != "" && cfg.SandboxMode != core.SandboxDefault && cfg.SandboxMode != core.SandboxUnrestricted:
		return core.Errorf(core.CodeOption, "pi has no sandbox: it cannot do sandbox_mode %q", cfg.SandboxMode).
			WithHint("Limit it with approval_mode or allowed_tools, such as read, grep, find and ls.")
	}
	return nil
}

func providerOptions(given map[string]json.RawMessage) (owner string, trust []string, err *core.Error) {
	for name, raw := range given {
		switch name {
		case optionProvider:
			if json.Unmarshal(raw, &owner) != nil {
				return "", nil, core.Errorf(core.CodeInvalidArgument, "provider option %s is not a string", name)
			}
		case optionTrust:
			var yes bool
			if json.Unmarshal(raw, &yes) != nil {
				return "", nil, core.Errorf(core.CodeInvalidArgument, "provider option %s is not a boolean", name)
			}
			trust = []string{"--no-approve"}
			if yes {
				trust = []string{"--approve"}
			}
		default:
			return "", nil, core.Errorf(core.CodeOption, "pi has no provider option %q", name).
				WithHint("It has: %s, %s.", optionProvider, optionTrust)
		}
	}
	return owner, trust, nil
}

// toolList writes names of tools as Pi takes them. Pi reads more into some
// characters than a name.
func toolList(field string, names []string) (string, *core.Error) {
	for _, n := range names {
		if n == "" || strings.ContainsAny(n, ",+ \t\n") || strings.HasPrefix(n, "-") {
			return "", core.Errorf(core.CodeInvalidArgument, "%q is not the name of a tool of Pi's", n).WithDetail("field", field)
		}
	}
	return strings.Join(names, ","), nil
}

// prompt returns a prompt as Pi takes it. A file is named in the text: the agent
// reads it itself, pictures too.
func prompt(in core.TurnInput) (wire.Command, *core.Error) {
	if len(in.ProviderOptions) > 0 {
		return wire.Command{}, core.Errorf(core.CodeOption, "pi has no provider options per turn").WithHint("Give them to start_session.")
	}
	if len(in.OutputSchema) > 0 {
		return wire.Command{}, core.Errorf(core.CodeCapability, "pi cannot follow an output_schema").WithHint("Ask for JSON in the prompt instead.")
	}
	c := wire.Command{Type: wire.Prompt}
	parts := []string{in.Prompt}
	for _, b := range in.Content {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "image":
			c.Images = append(c.Images, wire.Image{Type: "image", Data: b.Data, MIMEType: b.MIMEType})
		default:
			return wire.Command{}, core.Errorf(core.CodeCapability, "pi takes no content of type %q", b.Type)
		}
	}
	for _, path := range in.Attachments {
		parts = append(parts, "Attached file: "+path)
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	text := escapeCommand(strings.Join(parts, "\n\n"))
	c.Message = &text
	return c, nil
}

// escapeCommand keeps a text from being one of Pi's commands, skills or templates,
// which it looks for after a leading slash.
func escapeCommand(text string) string {
	if strings.HasPrefix(text, "/") {
		return "\n" + text
	}
	return text
}
