package transport

import (
	"time"
)

// Bounds of a connection. Those that a caller may change are in Options.
const (
	// MaxMessage is the size of the largest message read, in bytes. A longer
	// one is refused and skipped.
	MaxMessage = 32 << 20

	// DefaultMaxCalls is how many tool calls run at once.
	DefaultMaxCalls = 128

	// DefaultGrace is how long calls in flight may go on after end of input.
	DefaultGrace = 2 * time.Second

	maxQueuedCalls    = 1024      // tool calls that wait their turn
	maxQuickCalls     = 256       // control tools, lists, reads: calls that never wait
	maxStreams        = 32        // open subscriptions/listen
	maxHeldBytes      = 128 << 20 // requests of all calls in flight, in bytes
	maxURIs           = 1024      // resources/subscribe of one client
	maxURI            = 4096      // bytes of one of them
	maxClientRequests = 128       // requests to the client that await their answer

	abandonAfter = 500 * time.Millisecond // for cancelled calls, and for writes at the end

	notificationBuffer   = 64   // notifications of one call that wait to be written
	notificationHeadroom = 32   // of those, kept free for concurrent producers
	broadcastBuffer      = 64   // notifications of no call, before they are coalesced
	maxBroadcasts        = 1024 // coalesced notifications that wait to be written
	maxUnwritten         = 1 << 20
	maxSpareBytes        = 1 << 20 // largest buffer kept for reuse
	readBuffer           = 64 << 10
	idleWorkers          = 64 // goroutines that wait for the next call
)

// Bounds of HTTP. Those per principal are shared by all its connections.
const (
	// DefaultSessionTTL is how long a legacy session without a request and
	// without a stream is kept.
	DefaultSessionTTL = 30 * time.Minute

	// DefaultKeepAlive is how often a comment is sent on a response that
	// waits, so that no proxy closes the connection as idle.
	DefaultKeepAlive = 15 * time.Second

	maxHeader         = 64 << 10         // bytes of a request's headers
	headerTimeout     = 10 * time.Second // from the connection or first byte to the last header
	bodyTimeout       = 60 * time.Second // for all of a body
	unreadBodyTimeout = time.Second      // for a body that nobody reads
	idleTimeout       = 2 * time.Minute  // of a connection between requests
	writeTimeout      = 30 * time.Second // for one write to a client that does not read
	lostGrace         = 10 * time.Second // of a legacy call after its connection is lost
	maxIdleConns      = 1500             // connections without a request; the oldest is closed
	maxConns          = 8192             // connections in all
	maxSessions       = 1024             // legacy sessions per principal; the longest idle is ended
	maxBodies         = 2048             // requests per principal whose body is being read
	maxHTTPStreams    = 256              // GET and subscriptions/listen streams per principal
	maxEarly          = 64               // cancellations per session that arrived before their request
	maxEarlyID        = 256              // bytes of the id of such a request
	earlyFor          = 10 * time.Second // that a cancellation waits for its request
	bodyStep          = 64 << 10         // bytes, the first reservation for a body of unknown size
	shutdownTimeout   = time.Second      // for connections to close after the calls are done
)

// Bounds of Connect.
const (
	// DefaultPatience is how long a request waits for a server that cannot be
	// reached.
	DefaultPatience = 30 * time.Second

	// DefaultFirstPatience is how long the first request waits where there has
	// never been a server: many clients time out a start after 30 s.
	DefaultFirstPatience = 6 * time.Second

	dialTime       = 3 * time.Second        // for a TCP connection to be made
	maxSilence     = 4 * DefaultKeepAlive   // of a response, after which its connection is considered lost
	retryFirst     = 50 * time.Millisecond  // before the server is tried again; doubles
	retryLast      = 2 * time.Second        // the longest such wait
	maxResponse    = 2 * MaxMessage         // one message of the server, in bytes
	maxAttempts    = 5                      // of one request whose connection is lost each time
	maxIdle        = 64                     // connections kept for the next requests
	withdrawTime   = 2 * time.Second        // for the server to end the response of a cancelled request
	endSessionTime = 500 * time.Millisecond // to end the session at the server
	maxRefusal     = 4 << 10                // of the body of a refusal, in bytes
)

// Bounds of bearer tokens.
const (
	tokenBytes   = 32      // random bytes in a generated token
	safeToken    = 16      // characters, fewer of which may be guessed
	maxTokenFile = 1 << 20 // bytes
)

// parentPoll is how often WatchParent looks for the parent process.
const parentPoll = time.Second
