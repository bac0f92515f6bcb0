package journal

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// The bounds of a journal.
const (
	ringBytes = 256 << 10 // recent events kept per live resource
	// ringPartBytes is how much of them goes at once.
	ringPartBytes   = 32 << 10
	StoreRetryFirst = time.Second
	storeRetryMost  = 30 * time.Second
	// RecoverTimeout bounds each step of an attempt to become durable again.
	RecoverTimeout = 2 * time.Second
	// sinceBytes is how much a session does during such an attempt that is
	// written right behind it.
	sinceBytes = 1 << 20
	// RewriteRoom is how many numbers an attempt leaves free that may have to
	// end what a failed batch left open: its turns and requests.
	RewriteRoom = 2 * core.MaxPage
	// lostTurns bounds, per kind, what a degraded session remembers for the
	// store's return.
	lostTurns = 256
)
