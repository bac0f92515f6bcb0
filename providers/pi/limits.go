package pi

import "github.com/harness-mcp/harness-mcp/core"

// Bounds of one conversation.
const (
	// maxCalls bounds the commands without a response.
	maxCalls = 1024

	// maxDialogs bounds the dialogs that wait for an answer; one beyond it is
	// dismissed.
	maxDialogs = 256

	// maxOpenText bounds what is kept of a message, or of a tool's output, that
	// is being streamed. What exceeds it is delivered, but is missing from a
	// partial message.
	maxOpenText = core.MaxText

	// maxOverlap is how much of a tool's last output is looked for in its next,
	// where Pi shows only the end of a long one.
	maxOverlap = 256

	// maxRawDelta is how large the record of a delta may be to be kept raw: old
	// releases repeat the whole message in each.
	maxRawDelta = 4 << 10

	// maxIDs is how many ids of ended tools are known, should one come again.
	maxIDs = 4096

	// maxAllowed is how many approvals for the session are remembered.
	maxAllowed = 1024

	// maxTries is how often a prompt is given again because Pi was busy with a
	// run of its own, and an abort because it had no effect.
	maxTries = 20

	// settleReads is how often in a row get_state must show an idle Pi before a
	// turn counts as settled, on releases that do not report it: a retry
	// or a compaction may follow the end of a run.
	settleReads = 2

	// maxErrorLine is how much of a failed tool's output its error shows.
	maxErrorLine = 200
)
