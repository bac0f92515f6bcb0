package pi

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/process"
)

func TestMain(m *testing.M) {
	process.Init()
	if err := enterLoopback(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// loopbackVar says how the tests run: in a network of their own, or plainly.
const loopbackVar = "PI_TEST_LOOPBACK"
