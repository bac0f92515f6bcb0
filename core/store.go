package core

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// AllOwners in a query asks for every owner's rows. Recovery and the command
// line, which reads as the file's owner, use it; nothing that serves a caller
// does.
const AllOwners = "*"

// Store keeps aggregates: a session with its turns, requests and events, or a
// process with its events. It is safe for concurrent use, and any number of
// servers, each with a Store of its own, may share the data.
//
// Reads answer with *Error: CodeNotFound for a row that is not there or
// belongs to another owner, CodeStoreFailed when the store cannot answer, is
// closed, or was given a context that has ended, which it wraps. Slices and
// structs that a Store returns belong to the caller; those that it is given it
// does not keep. Writes name one owner: AllOwners is for reads.
//
// Sessions and processes share one space of ids, turns and requests have one
// each. Ids of different owners never meet. Events and LastSeq of a resource
// that is not there are empty and 0.
type Store interface {
	// Commit writes one aggregate's batch: all of it or nothing, durable when
	// it returns. Batches of different resources may be grouped, and each
	// succeeds or fails by itself.
	//
	// The exact same batch as the resource's last one is accepted and changes
	// nothing. Any other mismatch of ExpectSeq, an id that another aggregate of
	// the owner has, or a stored key is a *ConflictError and changes nothing.
	// A key in a batch completes the claim that PutKey made of it, if that has
	// the same ArgsHash and no Resource yet. A batch with Replace begins a new
	// aggregate, so its ExpectSeq is 0; one without a snapshot needs a stored
	// aggregate, else CodeNotFound; one whose parts contradict each other is
	// CodeInternal; one that brings a snapshot or key twice means the last.
	//
	// When ctx ends first the batch may be written all the same, also later:
	// the next batch is a conflict then.
	Commit(ctx context.Context, b Batch) error

	// Events returns events of one resource in order of Seq.
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	// LastSeq is the highest Seq that a resource ever stored, 0 for none. It
	// stays when events are trimmed: a seq is never used again.
	LastSeq(ctx context.Context, owner, resource string) (uint64, error)

	Session(ctx context.Context, owner, id string) (SessionRecord, error)
	Turn(ctx context.Context, owner, id string) (TurnRecord, error)
	Request(ctx context.Context, owner, id string) (Request, error)
	Process(ctx context.Context, owner, id string) (ProcessRecord, error)

	// The lists return the newest first, a page at a time. For the filters Live and
	// EndedBefore not live means ended, so an unavailable session counts; a
	// session ended at its UpdatedAt.
	Sessions(ctx context.Context, q ListQuery) ([]SessionRecord, error)
	Turns(ctx context.Context, q ListQuery) ([]TurnRecord, error)
	Requests(ctx context.Context, q ListQuery) ([]Request, error)
	Processes(ctx context.Context, q ListQuery) ([]ProcessRecord, error)

	// Delete drops an aggregate with its turns, requests, events and answers. Its
	// keys stay. Deleting what is not there is no error.
	Delete(ctx context.Context, owner, id string) error
	// DeleteEnded is Delete for an aggregate that has ended, held by instance
	// and without events after seq last. It reports whether it did.
	DeleteEnded(ctx context.Context, owner, id, instance string, last uint64) (bool, error)
	// Ended lists what has ended of every owner, longest ago first.
	Ended(ctx context.Context, limit int) ([]EndedResource, error)
	// Size is about how many bytes the data takes.
	Size(ctx context.Context) (int64, error)
	// Trim drops events of a resource before seq.
	Trim(ctx context.Context, owner, resource string, before uint64) error

	// Key looks an idempotency key up: CodeNotFound when it is free.
	Key(ctx context.Context, owner, tool, key string) (KeyRecord, error)
	// PutKey claims a key before its effect; a key that exists is a
	// *ConflictError.
	PutKey(ctx context.Context, k KeyRecord) error
	// DeleteKey frees a key whose call started nothing.
	DeleteKey(ctx context.Context, owner, tool, key string) error
	// SweepKeys drops keys and answers older than before.
	SweepKeys(ctx context.Context, before time.Time) error

	// Claim changes the owning instance of an aggregate, if it is still from. It
	// reports whether it did.
	Claim(ctx context.Context, owner, id, from, to string) (bool, error)

	ChildLog
	Instances
	AnswerStore

	// Secret returns 32 random bytes that are private to this store and never
	// change: the key of its keyed hashes.
	Secret() []byte

	// Close ends the store after the commits that were accepted.
	Close() error
}

// ConflictError is the error of a Commit that found other data than it expected.
type ConflictError struct {
	// Kind is what clashed: seq, session_id, turn_id, request_id, process_id
	// or key.
	Kind string
	// ID is the clashing id; Stored the last seq on disk, for Kind seq.
	ID     string
	Stored uint64
}

// Error describes the clash, for logs.
func (e *ConflictError) Error() string { return "store conflict: " + e.Kind + " " + e.ID }

// Batch is one aggregate's changes. Exactly one of Session and Process may be
// set; Turns and Requests belong to a session.
type Batch struct {
	Owner    string
	Resource string // the session's or process's id
	Instance string // who writes; stored with the aggregate
	// ExpectSeq is the last seq that the writer knows to be stored.
	ExpectSeq uint64
	Events    []Event
	Session   *SessionRecord
	Process   *ProcessRecord
	Turns     []TurnRecord
	Requests  []Request
	// Create means that the aggregate must be new: an id in use is a conflict.
	Create bool
	// Replace drops the aggregate that has this id before the rest is
	// written, in the same transaction.
	Replace bool
	// Keys are idempotency keys that this effect answers for.
	Keys []KeyRecord
}

// SessionRecord is a stored session. Launch is what a resume needs.
type SessionRecord struct {
	Session  Session       `json:"session"`
	Launch   SessionConfig `json:"launch"`
	Instance string        `json:"-"` // the owning instance, from the row
}

// TurnRecord is a stored turn. Its prompt is not part of it: a queued turn does
// not survive its server.
type TurnRecord struct {
	Turn Turn `json:"turn"`
}

// EventQuery asks for events of one resource.
type EventQuery struct {
	Owner    string
	Resource string
	After    uint64      // events with a higher seq
	Until    uint64      // and at most this seq; 0: no bound
	Limit    int         // at most this many; 0: DefaultPage
	Tail     bool        // the last Limit events, still in order
	MaxBytes int         // stop before the data passes this, but return one; 0: no bound
	TurnID   string      // only this turn's
	Types    []EventType // only these
	Raw      bool        // with raw frames
}

// ListQuery asks for a page of rows, newest first.
type ListQuery struct {
	Owner     string
	SessionID string // turns and requests of one session
	TurnID    string // requests of one turn
	Provider  string
	Status    []string
	Live      *bool  // live rows only, or ended ones only
	Instance  string // rows of this instance
	Before    string // the cursor of the last row of the page before, from Cursor
	Limit     int    // 0: DefaultPage
	// EndedBefore asks for rows that ended before this time.
	EndedBefore time.Time
}

// DefaultPage is how many rows a query without a limit returns.
const DefaultPage = 100

// KeyRecord is an idempotency key and what its call made.
type KeyRecord struct {
	Owner    string    `json:"owner"`
	Tool     string    `json:"tool"`
	Key      string    `json:"key"`
	ArgsHash string    `json:"args_hash"`
	Resource string    `json:"resource,omitempty"` // the session or process it made or changed
	TurnID   string    `json:"turn_id,omitempty"`
	Request  string    `json:"request_id,omitempty"`
	At       time.Time `json:"at"`
}

// Child is a spawned process tree, known to the store from its spawn to its
// reaping, so that the next server can end what this one leaves behind.
type Child struct {
	PID       int       `json:"pid"`
	StartTime uint64    `json:"start_time"` // clock ticks since boot, from /proc/PID/stat
	BootID    string    `json:"boot_id"`
	Instance  string    `json:"instance"`
	Resource  string    `json:"resource"`
	Path      string    `json:"path"`
	At        time.Time `json:"at"`
}

// ChildLog remembers spawned children.
type ChildLog interface {
	// PutChild records a child before anyone relies on it.
	PutChild(ctx context.Context, c Child) error
	// DeleteChild forgets a reaped child.
	DeleteChild(ctx context.Context, instance string, pid int) error
	// Children lists the children of one instance, or all for "".
	Children(ctx context.Context, instance string) ([]Child, error)
}

// Instances knows the running servers that share a store.
type Instances interface {
	// Instance is the id of this server's instance.
	Instance() string
	// Alive reports whether the instance still holds its lock.
	Alive(instance string) bool
	// Elected reports whether this server is the one among the running ones that
	// deletes what is too old. It stays elected until it ends.
	Elected() bool
}

// AnswerStore has answers to requests of other servers' sessions: a caller that
// cannot reach a server stores the answer, and the server that runs the session
// takes it.
type AnswerStore interface {
	// PutAnswer stores an answer. An unknown session is CodeNotFound, an id that
	// is in use a *ConflictError.
	PutAnswer(ctx context.Context, a Answer) error
	// Answers lists the answers without an outcome for sessions of an instance,
	// the oldest first.
	Answers(ctx context.Context, instance string) ([]Answer, error)
	// Answer reads one: CodeNotFound when there is none.
	Answer(ctx context.Context, id string) (Answer, error)
	// PutOutcome stores the outcome of an answer and deletes its Response. The
	// first outcome stays; PutOutcome reports whether this was the first.
	PutOutcome(ctx context.Context, id string, o AnswerOutcome) (bool, error)
}

// Answer is a response to a request that waits for the server that runs the session.
type Answer struct {
	ID        string         `json:"id"` // ans_...
	Owner     string         `json:"owner"`
	SessionID string         `json:"session_id"`
	RequestID string         `json:"request_id"`
	Response  *Response      `json:"response,omitempty"` // nil once it has an outcome
	At        time.Time      `json:"at"`
	Outcome   *AnswerOutcome `json:"outcome,omitempty"`
}

// AnswerOutcome is the outcome of an answer: the request as it is then, or why
// the answer was refused.
type AnswerOutcome struct {
	Request *Request  `json:"request,omitempty"`
	Code    Code      `json:"code,omitempty"`
	Message string    `json:"message,omitempty"`
	Hint    string    `json:"hint,omitempty"`
	At      time.Time `json:"at"`
}

// EndedResource is a session or process that may be swept.
type EndedResource struct {
	Owner, ID string
	Kind      ResourceKind
	Instance  string
	LastSeq   uint64
	At        time.Time // when it ended
}

// ProcessRecord is a stored process.
type ProcessRecord struct {
	Process  ProcessSnapshot `json:"process"`
	Launch   json.RawMessage `json:"launch,omitempty"`
	Instance string          `json:"-"`
}

// Cursor returns the ListQuery.Before that continues after a row created at t
// with this id.
func Cursor(t time.Time, id string) string {
	return t.UTC().Format("20060102T150405.000000000Z") + "/" + id
}

// DurabilityOf returns how durable a commit to a store is.
func DurabilityOf(s Store) Durability {
	if d, ok := s.(interface{ Durability() Durability }); ok {
		return d.Durability()
	}
	return Durable
}

// InstanceOf returns the instance in a row, whether it has reserved the session or
// owns it.
func InstanceOf(instance string) string {
	id, _ := strings.CutSuffix(instance, OpeningMark)
	return id
}

// OpeningMark follows an instance's id in the row of a session that it opens.
const OpeningMark = ":opening"

// LossNotes is optional for a Store: a server notes beside the data which
// journals it cannot write, in case it dies before they are written again. Notes
// are for the next server only. They are a best effort: a note that cannot be
// made is no error.
type LossNotes interface {
	// NoteLoss notes that this server has events of a resource that are not
	// stored.
	NoteLoss(owner, id string) error
	// ForgetLoss drops the note of an instance. A note that does not exist is no
	// error.
	ForgetLoss(instance, owner, id string) error
	// LossNoted reports whether an instance has noted a resource.
	LossNoted(instance, owner, id string) bool
	// SweepLosses drops notes of dead instances that are older than before.
	SweepLosses(before time.Time) error
}
