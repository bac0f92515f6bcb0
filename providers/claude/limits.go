package claude

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Bounds of one conversation.
const (
	// maxCalls bounds the control requests without a response.
	maxCalls = 1024

	// maxOpenText bounds what is kept of messages that are being streamed. What
	// exceeds it is delivered, but is missing from a partial message.
	maxOpenText = core.MaxText

	// maxSteers is how many folded messages of one turn are known.
	maxSteers = 1024

	// maxItems bounds the names of items that are remembered so that none is
	// used twice.
	maxItems = 1 << 16

	// maxLockTries bounds the tries to lock a file that is being taken away.
	maxLockTries = 8

	// maxSkillFiles and maxSkillBytes bound what is copied of a skill.
	maxSkillFiles = 1000
	maxSkillBytes = 32 << 20

	// endWait is how long the CLI may take to end after end_session.
	endWait = 1500 * time.Millisecond

	// stallTimeout is how long a model call may send nothing, unless the session
	// has its own limit; stallGrace is how long the interrupt of a stalled turn may
	// take before the link is given up.
	stallTimeout = 10 * time.Minute
	stallGrace   = 15 * time.Second
)
