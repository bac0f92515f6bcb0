package pi

import (
	_ "embed"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// gateSource is the approval gate, with a place for the name by which its
// dialogs are known.
//
//go:embed gate.js
var gateSource string

// files writes the session's files and returns the arguments that name them.
func files(dir link.Workdir, cfg core.SessionConfig, channel string) ([]string, *core.Error) {
	gate, err := dir.File("gate.js", []byte(strings.ReplaceAll(gateSource, "__CHANNEL__", channel)))
	if err != nil {
		return nil, err
	}
	args := []string{"--extension", gate}
	if cfg.SystemPrompt != "" {
		path, err := dir.File("system.md", []byte(cfg.SystemPrompt))
		if err != nil {
			return nil, err
		}
		args = append(args, "--append-system-prompt", path)
	}
	return args, nil
}
