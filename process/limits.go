package process

import "time"

// Bounds and defaults of a Local, its guards and Reap.
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
	// that the kernel cannot end, or does not allow us to signal, outlasts it.
	KillWait = 5 * time.Second
	// GuardKillWait is how long a guard may take to end its tree before it is
	// killed itself and the tree is ended by its marker.
	GuardKillWait = 2 * time.Second
	// GuardWriteWait bounds one write to a guard.
	GuardWriteWait = time.Second
	// RowWait bounds the deletion of a row.
	RowWait = 2 * time.Second
	// DrainWait is how long, after the tree was killed, a reader may wait for
	// more output while someone outside the tree still holds the pipe.
	DrainWait = 250 * time.Millisecond
	// ReapWait bounds the wait of Reap for what it killed.
	ReapWait = 5 * time.Second

	// MaxDepth is how many harnesses may run inside each other.
	MaxDepth = 3
	// PipeSize is the wanted capacity of a command's stdout pipe in bytes.
	// More is faster, but the kernel allows one user 64 MiB in all and then
	// makes each new pipe two pages, so 64 sessions and 256 processes together
	// must stay well below that.
	PipeSize = 128 << 10
	// maxFrame bounds one message between server and guard; the kernel refuses
	// an argv and environment of this size anyway.
	maxFrame = 8 << 20

	// maxKillRounds bounds the rounds of one kill against processes that fork and end at once.
	maxKillRounds = 200

	// maxShebang is as much of a script's first line as the kernel reads.
	maxShebang = 256

	// emptyReportWait is how long after the command's end the report of an empty tree
	// is expected.
	emptyReportWait = 20 * time.Millisecond
	// pollMin and pollMax bound the pause between two rounds of a kill.
	pollMin = 200 * time.Microsecond
	pollMax = 100 * time.Millisecond
)

// The bounds of managed processes.
const (
	// SpawnWait bounds the start of one.
	SpawnWait = 15 * time.Second
	// OutputCap is how many bytes of a process's output, as stored, are kept;
	// beyond it the oldest are dropped.
	OutputCap = 256 << 20
	// capParts is in how many parts the kept output is divided: one part is
	// dropped at a time.
	capParts = 16

	// maxOutputEvent is the most output in one event, in bytes.
	maxOutputEvent = 64 << 10
	// eventQuiet is how long output waits for more of it to make one event, and
	// eventMaxDelay how long it waits in all.
	eventQuiet    = 5 * time.Millisecond
	eventMaxDelay = 100 * time.Millisecond
	// minRead is the first size of a read; it grows to maxOutputEvent.
	minRead = 4 << 10
	// eventBuffer is how many events, of each process, wait to be stored, and
	// readBuffer how many reads wait to become events. Beyond it the process
	// waits to write.
	eventBuffer = 2
	readBuffer  = 2
	// commitBytes bounds the output of one commit, and so the memory of one
	// process that writes faster than the store.
	commitBytes = 128 << 10

	// SettleQuiet and SettleMost bound the wait for the last output of a command
	// that has ended while others hold its pipes: without news, and in all.
	SettleQuiet = 50 * time.Millisecond
	SettleMost  = 4 * SettleQuiet

	// maxStopWait bounds the wait for a stop: the whole stop sequence, with time for the
	// store.
	maxStopWait = 2*StopWait + LeftoverWait + GuardKillWait + KillWait + 4*RowWait + 20*time.Second
	// ShutdownWait is how long processes may take to end at a shutdown before they
	// are killed.
	ShutdownWait = 2 * time.Second
	// writePart is how much input is written at a time.
	writePart = 16 << 10
)
