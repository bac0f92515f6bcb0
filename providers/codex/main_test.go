package codex

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
)

func TestMain(m *testing.M) {
	process.Init()
	if os.Getenv(mcpVar) != "" {
		serveMCP(os.Stdin, os.Stdout)
		return
	}
	if err := clitest.EnterLoopback(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
