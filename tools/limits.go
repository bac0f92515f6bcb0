package tools

import "time"

// Replies. Sizes are in bytes.
const (
	// defaultBudget is the largest size of each half of a reply.
	defaultBudget = 8 << 10
	// minBudget is the least that each half of a reply may take, however small
	// a max_bytes the caller gives: ids and state need it.
	minBudget = 1 << 10
	// maxBudget is the largest max_bytes that a caller may give.
	maxBudget = 1 << 20
	// fitStep is the precision with which fit approaches a budget.
	fitStep = 32
	// linkRoom is kept free in the text half for links to what was truncated.
	linkRoom = 256
	// timeoutBytes is the size of a reply per id whose wait timed out.
	timeoutBytes = 400
	// maxNext is the number of calls that a reply suggests.
	maxNext = 3
	// maxErrorText bounds the message, the hint and the details of an error, each.
	maxErrorText = 2 << 10
	// maxShownValue bounds how much of a wrong value or name a message repeats.
	maxShownValue = 60
	// maxMilliseconds is the bound of an argument in milliseconds that has no
	// other: a hundred years. A deadline that far away has a time.Time, and a
	// number of nanoseconds that fits an int64.
	maxMilliseconds int64 = 100 * 365 * 24 * 3600 * 1000
	// maxShownWords is the number of values of an enum that a message repeats.
	maxShownWords = 16
	// shownDirs is the number of searched directories that an error names;
	// list_providers lists all.
	shownDirs = 2
	// shortPrompt is the longest prompt that a suggested call repeats.
	shortPrompt = 300
)

// Texts of the shared objects. Sizes are in bytes.
const (
	maxPreview    = 80 // of a prompt, in characters
	maxActivity   = 120
	minActivity   = 40 // the shortest beginning of an activity that is of use
	maxWarning    = 300
	maxWarnings   = 8
	shownFiles    = 5    // changed files that prose names
	shownUntold   = 3    // of those, files that the agent did not report
	minQuietShown = 5000 // milliseconds without an event, from which on prose mentions them
	// maxRepeated bounds an answer in a reply whose caller has most likely read
	// it.
	maxRepeated = 1 << 10
	maxSummary  = 120 // one step of a summary
)

// Pending requests in a reply. The text around a request cannot be truncated,
// so only a few are shown whole; the others are shown when those are answered.
const (
	maxRequestsShown       = 4
	maxRequestsShownOfMany = 2 // in a reply about more than fewResults resources
	fewResults             = 4
	maxNamed               = 16 // further requests of a resource that are named
	maxNamedInCompact      = 2  // the same in a reply in which other resources have requests too
	shownChoices           = 2  // choices of a question that are suggested as calls
)

// Results of await.
const (
	// DefaultWait is how long await and delegate wait when neither the call nor
	// the operator sets a time.
	DefaultWait = 45 * time.Second
	// manyResults is the number of ids from which on every result is minimal.
	manyResults = 17
	// maxMinimalRequests is the number of minimal results that name a request.
	maxMinimalRequests = 8
	// maxNextPattern is the longest pattern that a suggested call repeats, in
	// bytes: the reply to a wait that timed out is small.
	maxNextPattern = 80
)

// Lists.
const (
	defaultListLimit = 50
	listRoom         = 700 // of a reply, beside its rows, in bytes
	maxRow           = 200 // one row, in bytes
	maxCompletions   = 100 // values of a completion: the protocol's bound
)

// Pages of a journal, and the output of a process. Sizes are in bytes.
const (
	defaultReplayLimit = 100
	windowEvents       = 1000    // read from the journal at a time
	windowBytes        = 1 << 20 // of data, at a time
	maxWindows         = 8       // read at most, to fill a page of merged events
	pageRoomFor        = 512     // of a reply, beside its events
	tailRoom           = 4 << 20 // all events of a window, as objects
	minTruncated       = 400     // the least that a truncated event is shown in
	pageRoom           = 256     // of a reply, beside a page of a turn's text

	tailLines  = 20
	tailBytes  = 2 << 10
	tailEvents = 64       // read at most for a tail
	tailRead   = 32 << 10 // read at most for a tail
	outputTail = 64 << 10 // of the resource of a process's output
)

// Resources and their updates.
const (
	// toolListTTL is how long clients may cache the list of tools, in
	// milliseconds.
	toolListTTL = 60_000
	// listedResources is the number of live sessions, and of live processes,
	// in resources/list. All others are read through templates.
	listedResources = 50
	// updateInterval is the shortest time between two updates of a resource.
	updateInterval = 100 * time.Millisecond
	// pollInterval is how often resources are read whose changes send no wake:
	// those of other servers, and the list of processes.
	pollInterval = time.Second
	// finalPollFactor is the number of such polls between two reads of a
	// resource in a final state.
	finalPollFactor = 5
	// maxWatched is the number of resources to which all clients of one owner
	// together may subscribe: each is read whenever anything changes.
	maxWatched = 1024
)

// Progress notifications.
const (
	// progressTick is the shortest time between two notifications.
	progressTick = time.Second
	// progressSilence is the time after which an unchanged message is sent
	// again. With a tick it stays below the 10 s that clients are promised.
	progressSilence = 9 * time.Second
	// maxProgressMessage bounds a message, in bytes.
	maxProgressMessage = 200
)

// Elicitation: forms that a client shows to its user.
const (
	// maxFormTime is how long a form may stay open for a request that never
	// expires.
	maxFormTime = 24 * time.Hour
	// maxFormText bounds the message above the fields, in bytes.
	maxFormText = 4 << 10
	// maxFormDetail bounds one detail of it, a command or a diff, in bytes.
	maxFormDetail = 2 << 10
	// maxFormWord bounds the label of a field or a choice, in bytes.
	maxFormWord = 200
	// maxRounds is how often one call asks its client for input: clients stop
	// after ten.
	maxRounds = 8
	// maxState bounds the state that a client returns with a round, in bytes.
	maxState = 8 << 10
)

// Times of single tools.
const (
	// sendTime bounds the sending of delegate's prompt, which waits for the
	// journal only.
	sendTime = 30 * time.Second
	// abandonTime bounds the end of a session in which no turn was started.
	abandonTime = 30 * time.Second
	// codexSlice is how long a person has for an approval, and how long the
	// tools of Codex wait at a time: they return when the turn has ended.
	codexSlice = 10 * time.Minute
)
