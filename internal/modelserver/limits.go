package modelserver

import "time"

// Bounds of a server. What exceeds them is refused; of recorded requests
// the oldest is dropped.
const (
	maxBody       = 64 << 20         // bytes of one request
	maxActive     = 64               // requests in work at a time
	maxRecorded   = 256              // requests kept
	maxRecordSize = 64 << 20         // bytes of bodies kept
	maxDirectives = 1000             // of one script
	maxDeltas     = 100_000          // of one stream directive
	maxFill       = 16 << 20         // bytes of one fill directive
	maxPause      = 10 * time.Minute // of one slow directive
	maxOnce       = 1024             // prompts remembered for once
	headerTimeout = 10 * time.Second // until the headers of a request are in
)
