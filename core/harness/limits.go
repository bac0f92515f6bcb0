package harness

import "time"

// The bounds of a harness and its sessions: everything that waits or is kept has one.
const (
	drainInputs  = 64      // inputs that one commit may cover
	drainBytes   = 1 << 20 // and their size
	inboxReports = 32      // a full inbox blocks the provider's reader
	inboxCalls   = 16
	// quietAfter is how long a session has nothing to do before it frees the
	// memory of recent events, or ends when it is not live.
	quietAfter      = time.Second
	keyLife         = 24 * time.Hour
	maxKey          = 128
	maxClaims       = 4096             // of keys that the store did not take, in memory
	claimYoung      = 10 * time.Second // whoever claimed a key may still be at it
	claimWait       = 3 * time.Second  // for a call of another server under the same key
	claimPoll       = 50 * time.Millisecond
	probeTimeout    = 5 * time.Second
	probeMemory     = 30 * time.Second
	lookEvery       = 5 * time.Second        // for resources of dead instances
	pollOthers      = 250 * time.Millisecond // changes made by other instances
	answerPoll      = 200 * time.Millisecond // for answers left by others, while an agent asks
	progressEvery   = time.Second
	sweepEvery      = time.Hour
	maxAwaitIDs     = 64
	recoverPage     = 500 // rows of dead servers that are recovered at the same time
	defaultListPage = 50
	maxListPage     = 200
	closeWait       = 30 * time.Second // for the end of a session that is closing
	lostLinkGrace   = time.Second      // for the tree of a conversation that broke
	abandonTimeout  = 30 * time.Second
)
