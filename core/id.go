package core

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Prefixes of the ids that the harness makes.
const (
	PrefixSession = "ses_"
	PrefixTurn    = "trn_"
	PrefixRequest = "req_"
	PrefixProcess = "prc_"
	PrefixEvent   = "evt_"
	PrefixAnswer  = "ans_"
)

// MaxChosenID is the longest id that a caller may choose, in bytes.
const MaxChosenID = 128

// crockford is the base32 alphabet without the letters that read as digits.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// idChars is the length of an id after its prefix: 50 random bits. Ids are
// short because callers pay for them; the store's unique index catches the
// collision that will hardly ever happen.
const idChars = 10

// NewID returns a new id: a prefix and ten Crockford base32 characters of a random
// UUID.
func NewID(prefix string) string {
	u := uuid.New()
	// Bytes 6 and 8 of a version 4 UUID hold fixed bits: leave both out.
	bits := uint64(u[0])<<48 | uint64(u[1])<<40 | uint64(u[2])<<32 |
		uint64(u[3])<<24 | uint64(u[4])<<16 | uint64(u[5])<<8 | uint64(u[7])
	var b [idChars]byte
	for i := range b {
		b[i] = crockford[bits&31]
		bits >>= 5
	}
	return prefix + string(b[:])
}

// NewEventID returns a new event id: "evt_" and a UUIDv7, so ids sort by time, and
// those of one process in the order in which they were made.
func NewEventID() string { return EventIDAt(time.Now()) }

// EventIDAt returns an id for an event of that time. It does not use uuid.NewV7,
// since every event needs one: this takes a third of the time and one
// allocation, not three. Nothing depends on event ids being hard to guess, so
// math/rand is enough.
func EventIDAt(now time.Time) string {
	const (
		version = 7 << 12
		variant = 2 << 62
	)
	t := eventTime(now)
	var u [16]byte
	binary.BigEndian.PutUint64(u[:8], t>>12<<16|version|t&(1<<12-1))
	binary.BigEndian.PutUint64(u[8:], variant|rand.Uint64()>>2)
	var d [2 * len(u)]byte
	hex.Encode(d[:], u[:])
	b := [len(PrefixEvent) + len(d) + 4]byte{}
	at := copy(b[:], PrefixEvent)
	for _, part := range [...][]byte{d[:8], d[8:12], d[12:16], d[16:20]} {
		at += copy(b[at:], part)
		b[at] = '-'
		at++
	}
	copy(b[at:], d[20:])
	return string(b[:])
}

// lastEvent is the time in the newest id.
var lastEvent atomic.Uint64

// eventTime returns the time of an id, later than that of any before: the
// milliseconds, and in the last twelve bits the fraction of one. It may be
// called concurrently.
func eventTime(now time.Time) uint64 {
	ns := uint64(now.UnixNano())
	t := ns/1e6<<12 + ns%1e6>>8
	for {
		last := lastEvent.Load()
		next := max(t, last+1)
		if lastEvent.CompareAndSwap(last, next) {
			return next
		}
	}
}

// CheckChosenID returns CodeInvalidArgument unless a caller may choose id: 1 to
// MaxChosenID of [A-Za-z0-9._-], not beginning with a prefix of ours.
func CheckChosenID(field, id string) error {
	bad := func(why string) error {
		return Errorf(CodeInvalidArgument, "%s %s", field, why).
			WithHint("Use 1 to %d of A-Z a-z 0-9 . _ - and no prefix like %q.", MaxChosenID, PrefixSession)
	}
	if id == "" || len(id) > MaxChosenID {
		return bad("has a wrong length")
	}
	for _, c := range []byte(id) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '.' || c == '_' || c == '-'
		if !ok {
			return bad("has a character that is not allowed")
		}
	}
	for _, p := range []string{PrefixSession, PrefixTurn, PrefixRequest, PrefixProcess, PrefixEvent} {
		if strings.HasPrefix(id, p) {
			return bad("begins with a prefix that only the server gives")
		}
	}
	return nil
}
