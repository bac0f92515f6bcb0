package codex

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/process"
)

func TestMain(m *testing.M) {
	process.Init()
	if os.Getenv(mcpVar) != "" {
		serveMCP(os.Stdin, os.Stdout)
		return
	}
	if err := enterLoopback(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// loopbackVar says how the tests run: in a network of their own, or plainly.
const loopbackVar = "CODEX_TEST_LOOPBACK"
