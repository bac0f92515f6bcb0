package sqlitestore

import (
	"time"

	"github.com/klauspost/compress/zstd"
)

// Bounds of a store. Each is per open Store unless it says otherwise.
const (
	// queueLen is how many writes wait for the writer before callers block.
	queueLen = 4096
	// groupEvents and groupBytes end the collecting of one transaction.
	groupEvents = 4096
	groupBytes  = 4 << 20
	// gatherPause is how long the writer waits for one more of the callers that
	// it has just answered.
	gatherPause = 20 * time.Microsecond
	// gatherMost is how many writes it waits for at most.
	gatherMost = 256
	// keepBlock is how much memory of a commit is kept for the next one, in
	// bytes; keepAdds and keepRows of a transaction, in commits and rows.
	keepBlock = 512 << 10
	keepAdds  = 1024
	keepRows  = 128
	// walLooks is how often the length of the write-ahead log is looked at while
	// it grows to its bound.
	walLooks = 16
	// rowBytes is how much of the log goes into one row, but for a batch that
	// is longer: what fits on a page of the table. The rest of the page is for
	// SQLite's headers. overflowPage is what fits on each further page.
	rowBytes     = pageSize - 76
	overflowPage = pageSize - 4
	// entryBytes is room for a slice's entry in a row's directory.
	entryBytes = 3 * digestBytes
	// roomForEvents is how many events a page has room for at once.
	roomForEvents = 1024
	// cacheResources is how many resources' rows the writer remembers.
	cacheResources = 8192

	// A resource's slices of the log are packed when they are this many
	// events, this many bytes, or this old.
	packEvents = 1024
	packBytes  = 1 << 20
	packAfter  = 5 * time.Second
	// packFor is how long packing may take of the time between checkpoints.
	packFor = checkpointEvery / 2
	// packWrites is how many of them one transaction takes, and packAtOnce how
	// many bytes of their slices.
	packWrites = 32
	packAtOnce = 2 << 20
	// chunkEvents and chunkBytes end a chunk. A last chunk of at most half of
	// that is written again with what comes.
	chunkEvents = 256
	chunkBytes  = 128 << 10
	// frameHead is what tells how long a compressed block is when unpacked.
	frameHead = zstd.HeaderMaxSize
	// zstdWindow is how far back the compression of a chunk looks. The encoder
	// keeps twice that in memory.
	zstdWindow = 2 * chunkBytes
	// maxChunk is the largest block that a chunk may unpack to.
	maxChunk = 256 << 20
	// chunksAtOnce is how many chunks a page looks up at a time.
	chunksAtOnce = 16
	// keepSlots is how many slots of dead rows are kept to be written again
	// while there is work, and keepIdleSlots when there is none. deadRows is how
	// many rows one transaction deletes, which costs more than writing them, and
	// deadAtOnce how many transactions follow each other.
	keepSlots     = 1 << 16
	keepIdleSlots = 256
	deadRows      = 64
	deadAtOnce    = 16
	// growSlots is how many slots are made at once when there is none for a
	// transaction of up to growFor rows. A larger one adds what it needs.
	growSlots = 32
	growFor   = 4
	// reviewEvery is how often the tail is compared with what other servers
	// have packed and deleted.
	reviewEvery = 10 * time.Second
	// vacuumPages is how many free pages one transaction gives back,
	// vacuumAtOnce how many transactions follow each other, and vacuumFrom how
	// many free pages there must be, and as what part of the file.
	vacuumPages  = 64
	vacuumAtOnce = 8
	vacuumFrom   = 1024
	vacuumPart   = 4

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
	writerCache = 2 << 10
	// readerCache is a reader's page cache in KiB. Readers do not map the file
	// into memory: through this driver it saves nothing that can be measured,
	// and a disk error would kill the server instead of failing the read.
	readerCache = 1 << 10
	// busyTimeout is how long SQLite waits for another process's lock.
	busyTimeout = 5 * time.Second

	// checkpointEvery is the pause between checkpoints while there is work.
	checkpointEvery = time.Second
	// walCheckpoint is the size of the write-ahead log at which it restarts
	// once it has been moved; above walFirm times that the writer stands still for
	// it; walFull is where commits are refused, which only a reader that never
	// ends or a disk that fails can bring about. When work ends, the file keeps up to walKept.
	walFirm       = 4
	walKept       = 4 << 20
	walCheckpoint = 16 << 20
	walFull       = 1 << 30

	// eraseAtOnce is how many transactions give space back at one tick after a
	// deletion, eraseFor how long a closing store erases, and erasePause the pause
	// between its attempts.
	eraseAtOnce = 64
	eraseFor    = 2 * time.Second
	erasePause  = 50 * time.Millisecond

	// sweepRows is how many chunks one transaction deletes, so that no commit
	// waits long behind the deletion of a large journal.
	sweepRows = 64

	// truncateWait is how long emptying the log waits for readers.
	truncateWait = 100 * time.Millisecond

	// lockRetry is the pause between attempts to lock the directory.
	lockRetry = 5 * time.Millisecond
	// secretBytes is the length of Secret.
	secretBytes = 32
)
