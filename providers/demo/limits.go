package demo

import "time"

// Limits of one conversation.
const (
	// maxQueuedOps is how many ops may wait for the conversation's goroutine;
	// the last urgentOps places are kept free of steering, so that a flood of
	// it cannot keep an interrupt or an answer out.
	maxQueuedOps = 64
	urgentOps    = 16
	// maxQueuedBytes bounds the prompts of all ops that wait: two turns of the
	// largest prompt.
	maxQueuedBytes = 16 << 20
	// noticeBuffer is how many notices are played ahead of their reader.
	noticeBuffer = 16

	// maxSteers is how many steered texts wait to be reported, maxSteerBytes the
	// longest of them.
	maxSteers     = 16
	maxSteerBytes = 64 << 10

	// maxPieces is the N of "stream N", maxSlow the wait of "slow MS".
	maxPieces = 100_000
	maxSlow   = time.Hour
	// textPieces is about how many deltas a text is cut into.
	textPieces = 32

	// maxRemembered is how many prompts a conversation remembers, each cut to
	// maxRememberedBytes.
	maxRemembered      = 32
	maxRememberedBytes = 512
	// maxSmallFile is how much of a file of the folder is read back.
	maxSmallFile = 256 << 10
	// maxQuoted is how much of a prompt the show repeats, in bytes.
	maxQuoted = 80
	// maxGreeting is the longest line that the edited file takes.
	maxGreeting = 200
)

// DefaultPace is the pause between two steps of the whole show.
const DefaultPace = 20 * time.Millisecond

// Retention is how long the folder of an unused conversation is kept.
const Retention = 30 * 24 * time.Hour
