package acp

import "time"

// Bounds of one conversation.
const (
	// maxHistory and maxHistoryBytes bound what is kept of a conversation that
	// is repeated at the opening, when nobody calls Recv yet.
	maxHistory      = 10_000
	maxHistoryBytes = 16 << 20

	// maxText is the longest message; a text that exceeds it becomes several.
	maxText = 16 << 20

	// maxStopWord is how many characters of a stop reason that nobody knows are
	// repeated.
	maxStopWord = 100

	// maxTools is how many tools of one turn are known by their id.
	maxTools = 4096

	// maxPast is how many ended tools are known by their id, for what comes
	// late, and to keep an id that is used again apart.
	maxPast = 4096

	// maxRequests is how many questions may be open; more are declined.
	maxRequests = 64

	// maxFile is the largest file that is read or written for an agent.
	maxFile = 16 << 20

	// maxTerminals is how many terminals an agent may have.
	maxTerminals = 32

	// maxTerminalCalls is how many calls may wait for terminals.
	maxTerminalCalls = 256

	// maxTerminalOutput is how much of the end of a terminal's output is kept
	// for the agent; it may ask for less.
	maxTerminalOutput = 1 << 20

	// maxDiffLines is the longest text, in lines, whose change is shown as a
	// diff.
	maxDiffLines = 20_000

	// diffContext is how many unchanged lines are shown around a change.
	diffContext = 3

	// maxSettleMS is the longest time that a prompt waits for the end of a turn
	// that failed, in milliseconds.
	maxSettleMS = 10_000

	// maxConfig is the largest configuration file.
	maxConfig = 1 << 20

	// cancelInterval is how long after session/cancel it is sent again, and
	// maxCancels how often it is sent.
	cancelInterval = 2 * time.Second
	maxCancels     = 4

	// terminalStart is how long the start of a terminal may take.
	terminalStart = 10 * time.Second

	// terminalStop is how long a terminal may take for a polite end.
	terminalStop = 2 * time.Second

	// terminalRead is what one read of a terminal's output asks for, in bytes.
	terminalRead = 32 << 10

	// maxManifestDepth is in how many directories, from a program upwards, a
	// package.json is looked for.
	maxManifestDepth = 6

	// maxScriptLine is how much of a file is read for its first line, in bytes.
	maxScriptLine = 256

	// maxManifest is the largest package.json that is looked at for a version.
	maxManifest = 1 << 20
)
