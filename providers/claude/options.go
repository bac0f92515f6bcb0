package claude

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Names of the provider options.
const (
	optionAuth           = "auth"
	optionPermissionMode = "permission_mode"
	optionSettings       = "settings"
	optionSettingSources = "setting_sources"
	optionStrictMCP      = "strict_mcp_config"
	optionMaxTurns       = "max_turns"
	optionStall          = "stall_timeout_ms"
)

// Values of the option auth.
const (
	authInherit      = "inherit"
	authSubscription = "subscription"
)

// optionSpecs is how list_providers shows them.
var optionSpecs = []core.OptionSpec{
	{Name: optionAuth, Type: "string", Enum: []string{authInherit, authSubscription}, Description: "inherit (default) uses whatever credentials Claude Code finds; subscription removes every variable that would reroute or bill elsewhere, and refuses to start without a claude.ai login"},
	{Name: optionPermissionMode, Type: "string", Enum: []string{planMode, "dontAsk"}, Description: "a permission mode of Claude Code's own instead of the one of approval_mode: plan begins in plan mode, dontAsk denies what would be asked"},
	{Name: optionSettings, Type: "object", Description: "Claude Code settings for this session, as `claude --settings` takes them"},
	{Name: optionSettingSources, Type: "string", Description: "which settings files are read: a comma-separated list of user, project and local; empty for none"},
	{Name: optionStrictMCP, Type: "boolean", Description: "true (default) gives the session the MCP servers of mcp_servers and no others"},
	{Name: optionMaxTurns, Type: "integer", Description: "how many model rounds one turn may take"},
	{Name: optionStall, Type: "integer", Description: "how long the model may say nothing in the middle of a turn, in milliseconds; 600000 by default, 0 for ever"},
}

// options are the provider options of a session.
type options struct {
	Auth           string
	PermissionMode string
	Settings       json.RawMessage
	SettingSources *string
	StrictMCP      bool
	MaxTurns       int
	Stall          time.Duration
}

// readOptions checks the options of a session.
//
// Errors: CodeOption for an unknown one, CodeInvalidArgument for a wrong value.
func readOptions(given map[string]json.RawMessage) (options, *core.Error) {
	o := options{Auth: authInherit, StrictMCP: true, Stall: stallTimeout}
	stall := int64(-1)
	into := map[string]any{
		optionAuth: &o.Auth, optionPermissionMode: &o.PermissionMode, optionSettings: &o.Settings, optionSettingSources: &o.SettingSources,
		optionStrictMCP: &o.StrictMCP, optionMaxTurns: &o.MaxTurns, optionStall: &stall,
	}
	for name, raw := range given {
		target, ok := into[name]
		if !ok {
			return o, core.Errorf(core.CodeOption, "claude has no provider option %q", name).WithHint("It has: %s.", optionNames())
		}
		if json.Unmarshal(raw, target) != nil {
			return o, core.Errorf(core.CodeInvalidArgument, "provider option %s has a value of the wrong type", name)
		}
	}
	if stall >= 0 {
		o.Stall = time.Duration(stall) * time.Millisecond
	}
	for _, spec := range optionSpecs {
		value, ok := into[spec.Name].(*string)
		if ok && len(spec.Enum) > 0 && *value != "" && !slices.Contains(spec.Enum, *value) {
			return o, core.Errorf(core.CodeInvalidArgument, "provider option %s is %q", spec.Name, *value).
				WithHint("It takes: %s.", strings.Join(spec.Enum, ", "))
		}
	}
	if len(o.Settings) > 0 && !strings.HasPrefix(strings.TrimSpace(string(o.Settings)), "{") {
		return o, core.Errorf(core.CodeInvalidArgument, "provider option %s is not an object", optionSettings)
	}
	if o.MaxTurns < 0 {
		return o, core.Errorf(core.CodeInvalidArgument, "provider option %s is below zero", optionMaxTurns)
	}
	return o, nil
}

func optionNames() string {
	names := make([]string, len(optionSpecs))
	for i, s := range optionSpecs {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}
