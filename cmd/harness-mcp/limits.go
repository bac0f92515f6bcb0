package main

import "time"

// Bounds and defaults of the commands. Those of the harness are in core.
const (
	// shutdownTime bounds the end of a server: sessions, telemetry and store.
	shutdownTime = 5 * time.Second
	// telemetryTime bounds the export of the last spans.
	telemetryTime = 2 * time.Second
	// gcPercent is the garbage collector's target, in percent of the live heap.
	// A server mostly waits, beside an editor and agents that need the memory,
	// so it collects a little earlier than Go's default of 100.
	gcPercent = 90

	// startTime bounds the wait for a server started in the background to be
	// ready; startPoll is the pause between two attempts to reach it, and
	// lookTime bounds one attempt.
	startTime = 20 * time.Second
	startPoll = 50 * time.Millisecond
	lookTime  = 500 * time.Millisecond
	// maxLog is the size in bytes at which the log of a background server is
	// restarted; logTail is how many of its last bytes are shown when the
	// server fails.
	maxLog  = 8 << 20
	logTail = 2 << 10
	// maxAbout bounds the description of a running server, in bytes.
	maxAbout = 64 << 10
	// maxSocketPath is the longest path, in bytes, that every system accepts
	// for a Unix socket.
	maxSocketPath = 103

	// probeTime bounds the probe of one provider.
	probeTime = time.Minute
	// maxReply bounds one message that the in-process client reads, in bytes.
	maxReply = 4 << 20
	// maxRowText bounds the description of a resource in a list, in characters.
	maxRowText = 60
	// followEvery is the pause between two reads of a journal that another
	// server writes.
	followEvery = 200 * time.Millisecond
)
