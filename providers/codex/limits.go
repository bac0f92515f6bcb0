package codex

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Bounds of one conversation.
const (
	// maxOpenText bounds what is kept of messages that are being streamed. What
	// exceeds it is delivered, but is missing from a partial message.
	maxOpenText = core.MaxText

	// maxPast is how many ended turns are known by their Codex id, for what
	// arrives late.
	maxPast = 16

	// maxClosed is how many ended items of a turn are remembered, should Codex
	// report one again.
	maxClosed = 1024

	// drainTimeout is how long the end of an interrupted turn waits for its
	// commands to end.
	drainTimeout = 3 * time.Second

	// maxLists is how often Codex is asked for the commands of an interrupted
	// turn, at most, when one of them is not in its list.
	maxLists = 20

	// maxAuthFile bounds the file of a sign-in.
	maxAuthFile = 1 << 20
)
