package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

func optionsOf(text string) map[string]json.RawMessage {
	var o map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	return o
}

// oddSeconds returns a duration that no other sleep on the machine has.
func oddSeconds() string {
	return fmt.Sprintf("%d.%d", 500+os.Getpid()%100, time.Now().UnixNano()%1e9)
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// encoded is a value as the outbox writes it.
func encoded(v any) ([]byte, error) { return ndjson.Encode(v) }
