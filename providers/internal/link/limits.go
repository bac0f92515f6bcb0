package link

import "time"

// Limits bound an inbox. The zero value is no limit. A single notice beyond
// Bytes is taken when nothing else waits.
type Limits struct {
	Count int
	Bytes int
}

// DefaultLimits bound the notices of a Conn that wait for Recv. Beyond them the
// agent's output is not read, which is its back-pressure.
var DefaultLimits = Limits{Count: 1024, Bytes: 8 << 20}

const (
	// maxStderr is how much of the end of stderr is kept, in bytes.
	maxStderr = 8 << 10

	// stderrRead is what one read of stderr asks for, in bytes.
	stderrRead = 4 << 10

	// exitWait is how long a lost output waits for the exit status, so that the
	// error can name it.
	exitWait = 2 * time.Second

	// maxOutput is how much is kept of each stream of a probe, in bytes.
	maxOutput = 64 << 10
)
