package process

import "time"

// Every wait, buffer and count of this package.
const (
	// EOFWait is how long a command may take to end at its end of input before
	// Stop sends INT.
	EOFWait = time.Second
	// StopWait is how long Stop waits after INT before TERM, and after TERM
	// before KILL.
	StopWait = 5 * time.Second
	// LeftoverWait is how long Stop gives, after TERM, to what a command that
	// has ended left behind.
	LeftoverWait = 500 * time.Millisecond
	// KillWait bounds the wait for a killed tree to be gone. Only a process
	// that the kernel cannot end, or may not let us end, outlasts it.
	KillWait = 5 * time.Second
	// GuardKillWait is how long a guard may take to end its tree before it is
	// killed itself and the tree is ended by its marker.
	GuardKillWait = 2 * time.Second
	// GuardWriteWait bounds one write to a guard.
	GuardWriteWait = time.Second
	// RowWait bounds the deletion of a child's row.
	RowWait = 2 * time.Second
	// DrainWait is how long, after the tree was killed, a reader may wait for
	// more output while someone outside the tree still holds the pipe.
	DrainWait = 250 * time.Millisecond
	// ReapWait bounds the wait of Reap for what it killed.
	ReapWait = 5 * time.Second

	// MaxDepth is how many harnesses may run inside each other.
	MaxDepth = 3
	// PipeSize is the wanted capacity of a command's stdout pipe in bytes.
	// More is faster, but the kernel gives one user 64 MiB in all and then
	// falls back to two pages for each new pipe, so a full house (64 sessions
	// and 256 processes) must stay well below.
	PipeSize = 128 << 10
	// maxFrame bounds one message between server and guard; the kernel refuses
	// an argv and environment of this size anyway.
	maxFrame = 8 << 20

	// chaseRounds bounds one pursuit of processes that fork and end at once.
	chaseRounds = 200

	// maxShebang is as much of a script's first line as the kernel reads.
	maxShebang = 256

	// emptyNews is how long the news that a tree is gone may follow the news
	// that its command ended.
	emptyNews = 20 * time.Millisecond
	// pollMin and pollMax bound the pause between two looks at a tree that is
	// being killed.
	pollMin = 200 * time.Microsecond
	pollMax = 100 * time.Millisecond
)
