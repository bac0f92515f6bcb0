package acp

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/internal/acpscript"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
)

// scriptVar makes the test binary the scripted agent that the variable
// describes.
const scriptVar = "ACP_TEST_SCRIPT"

func TestMain(m *testing.M) {
	process.Init()
	if how := os.Getenv(scriptVar); how != "" {
		var o acpscript.Options
		if err := json.Unmarshal([]byte(how), &o); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "the scripted agent talks on stderr")
		if err := acpscript.Run(os.Stdin, os.Stdout, o); err != nil {
			panic(err)
		}
		return
	}
	if err := clitest.EnterLoopback(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
