package machine

import "time"

// Limits of what the machine keeps of a session.
const (
	// previewChars is how much of a prompt a snapshot repeats, in characters.
	previewChars = 80
	// activityBytes is how long a turn's activity may be.
	activityBytes = 120
	// maxOpenRequests is how many requests one turn may have open.
	maxOpenRequests = 64
	maxNamedFiles   = 3   // files that a warning names
	maxTurnFiles    = 500 // changed files in a turn's snapshot
	maxTurnNotes    = 20  // warnings in a turn's snapshot
)

// ShutdownGrace is how long an agent may write its files when the server ends.
const ShutdownGrace = 2 * time.Second
