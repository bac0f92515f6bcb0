package sqlitestore

import "time"

// Bounds of a store. Each is per open Store unless it says otherwise.
const (
	// queueLen is how many writes wait for the writer before callers block.
	queueLen = 1024
	// groupEvents and groupBytes end the collecting of one transaction.
	groupEvents = 512
	groupBytes  = 1 << 20

	// readerConns is how many reads run at once; more wait their turn.
	readerConns = 4
	// maxStatements is how many prepared statements a connection keeps.
	maxStatements = 128
	// maxRows is the largest page, whatever a query asks for.
	maxRows = 10_000

	// pageSize is the size of a database page: 8 KiB saves a third of the
	// work of appending compared with the default of 4 KiB.
	pageSize = 8192
	// writerCache is the writer's page cache in KiB.
	writerCache = 16 << 10
	// readerCache is a reader's page cache in KiB. Readers do not map the file
	// into memory: through this driver it saves nothing that can be measured,
	// and a disk error would kill the server instead of failing the read.
	readerCache = 4 << 10
	// busyTimeout is how long SQLite waits for another process's lock.
	busyTimeout = 5 * time.Second

	// checkpointEvery is the pause between checkpoints while there is work.
	checkpointEvery = time.Second
	// walCheckpoint is the size of the write-ahead log at which the writer
	// stands still for a checkpoint; walFull is where commits are refused,
	// which only a reader that never ends can bring about.
	walCheckpoint = 64 << 20
	walFull       = 1 << 30

	// sweepRows is how many events one transaction deletes, so that no
	// commit waits long behind the deletion of a large journal.
	sweepRows = 1000

	// truncateWait is how long emptying the log waits for readers.
	truncateWait = 100 * time.Millisecond

	// lockRetry is the pause between attempts to lock the directory.
	lockRetry = 5 * time.Millisecond
	// secretBytes is the length of Secret.
	secretBytes = 32
)
