package claude

import (
	"fmt"
	"os"
	"path/filepath"
)

// Loopback makes an environment below root in which Claude Code knows no other
// model than the one at url, which is a model server on this machine. Calls
// that fail are not repeated.
func Loopback(root, url string) (map[string]string, error) {
	home, config := filepath.Join(root, "home"), filepath.Join(root, "home", ".claude")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return nil, fmt.Errorf("claude: make a home for the loopback model: %w", err)
	}
	return map[string]string{
		"HOME": home, "CLAUDE_CONFIG_DIR": config,
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "loopback",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "0",
	}, nil
}
