package e2e

import "time"

// Bounds of the driver of the TypeScript SDK.
const (
	startWait = 30 * time.Second // for the handshake, node's start included
	callWait  = 60 * time.Second // for calls whose context has no deadline
	exitWait  = 15 * time.Second // for the driver to close its server
	maxLine   = 64 << 20         // bytes of one message
)

// suiteTimeout bounds one run of a suite's program.
const suiteTimeout = 4 * time.Minute
