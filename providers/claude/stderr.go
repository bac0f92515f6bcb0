package claude

import (
	"strings"
	"sync"
)

// refusals are what the CLI says on stderr about why it does not start. Only
// these are repeated to callers: other text may quote the environment.
var refusals = []string{
	"already in use", "root/sudo privileges", "No conversation found", "requires --verbose", "unknown option", "Invalid MCP configuration",
	"andbox", "Invalid model", "argument missing", "Invalid session ID", "It must be one of", "Allowed choices are",
}

// lastWords gives the line of stderr that says why the CLI ended.
func (c *conn) lastWords() string {
	for l := range strings.Lines(c.stderr.String()) {
		for _, r := range refusals {
			if strings.Contains(l, r) {
				return ": " + strings.TrimSpace(l)
			}
		}
	}
	return ""
}

// tail keeps the end of what was written.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - maxStderr; over > 0 {
		t.data = append([]byte(nil), t.data[over:]...)
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}

// readStderr keeps the end of stderr for the log.
func (c *conn) readStderr() {
	defer c.readers.Done()
	buf := make([]byte, 4<<10)
	for {
		n, err := c.child.Stderr().Read(buf)
		c.stderr.add(buf[:n])
		if err != nil {
			c.log.Debug("claude ended", "stderr", c.stderr.String())
			return
		}
	}
}
