package claude

import "github.com/harness-mcp/harness-mcp/providers/internal/loopback"

// Loopback makes an environment below root in which Claude Code knows no other
// model than the one at url, which is a model server on this machine. Calls
// that fail are not repeated.
func Loopback(root, url string) (map[string]string, error) {
	h := loopback.New("claude", root, map[string]string{"HOME": "home", "CLAUDE_CONFIG_DIR": "home/.claude"})
	h.Set(map[string]string{
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "loopback",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "0",
	})
	return h.Env()
}
