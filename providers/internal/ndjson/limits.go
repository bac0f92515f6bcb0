package ndjson

import "time"

// MaxLine is the longest line that is accepted, in bytes.
const MaxLine = 64 << 20

const (
	// bufferSize is what one read asks for, in bytes. Longer lines take more.
	bufferSize = 64 << 10

	// maxQuote is how much of a line that is no message is kept, in bytes.
	maxQuote = 4 << 10

	// longLine is from how many bytes on the memory of a line is returned to the
	// system.
	longLine = 4 << 20

	// freeEvery is the pause before memory is returned and between two times.
	// freeUntil is how long after the last long line that ends: by then the line
	// has been stored, compressed and read.
	freeEvery = 3 * time.Second
	freeUntil = 12 * time.Second
)

// Limits bound an outbox. A single line beyond Bytes is taken when nothing else
// waits.
type Limits struct {
	Lines int
	Bytes int // the line being written included
}

// DefaultLimits are those of an outbox to an agent.
var DefaultLimits = Limits{Lines: 1024, Bytes: 64 << 20}
