package core

import (
	"strings"

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

// NewID makes an id: a prefix and ten Crockford base32 characters of a random
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

// NewEventID makes an event id: "evt_" and a UUIDv7, so ids sort by time.
func NewEventID() string {
	u, err := uuid.NewV7()
	if err != nil { // only when the system has no randomness at all
		panic("core: no randomness for ids: " + err.Error())
	}
	return PrefixEvent + u.String()
}

// CheckChosenID says whether a caller may choose id: 1 to MaxChosenID of
// [A-Za-z0-9._-], not beginning with a prefix of ours.
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
