package sqlitestore

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/harness-mcp/harness-mcp/core"
)

// Events are kept in blocks: a row of the log or a chunk holds a block of
// events of one resource in order of seq, and apart from it a block of their
// raw frames. A block is a sequence of frames, each written as differences to
// the one before, so that what repeats from event to event costs a byte. Stored
// JSON stays as it is: reading an event copies no more than its fields.
//
//	frame: flags, seq, time, type, [turn], [request], [provider], id, version, data
//
// Numbers are varints, texts have their length before them.

// Flags of a frame: what is not as in the frame before, or not as usual.
const (
	newTurn = 1 << iota
	newRequest
	newProvider
	oddType    // the type is a text
	oddID      // the id is a text and not a UUID behind its prefix
	oddVersion // the version of the envelope is not core.SchemaVersion
	noData     // there is no data, which is not the same as empty data
)

// eventTypes numbers the types for frames and for the masks of chunks. Numbers
// are for ever: add at the end. A type that is not here is written out.
var eventTypes = []core.EventType{
	core.SessionStarted, core.SessionReady, core.SessionUpdate, core.SessionIdle, core.SessionClosed, core.SessionFailed, core.SessionKilled,
	core.TransportError, core.StoreFailure, core.StoreRecovered,
	core.TurnQueued, core.QueueChanged, core.TurnAccepted, core.TurnStarted, core.TurnCompleted, core.TurnFailed, core.TurnCancelled,
	core.TurnInterrupted, core.CancelRequested, core.Steered, core.RequestCreated, core.RequestResolved, core.RequestExpired,
	core.TypeMessageDelta, core.TypeMessage, core.TypeReasoningDelta, core.TypeReasoning, core.TypeToolStarted, core.TypeToolDelta,
	core.TypeToolCompleted, core.TypeCommandOutputDelta, core.TypeFileChange, core.TypePlanUpdated, core.TypeUsageUpdated,
	core.TypeRateLimit, core.TypeWarning, core.TypeProviderError, core.TypeProviderEvent,
	core.ProcessStarted, core.TypeStdout, core.TypeStderr, core.ProcessStopping, core.ProcessExited, core.ProcessFailed,
	core.ProcessCancelled, core.ProcessTimedOut,
}

var typeNumber = func() map[core.EventType]uint64 {
	m := map[core.EventType]uint64{}
	for i, t := range eventTypes {
		m[t] = uint64(i)
	}
	return m
}()

// otherTypes is the bit of a mask for all types without a number.
const otherTypes = 62

// typeMask is the set of types as a number that SQLite can and.
func typeMask(types ...core.EventType) int64 {
	var mask int64
	for _, t := range types {
		if n, ok := typeNumber[t]; ok && n < otherTypes {
			mask |= 1 << n
		} else {
			mask |= 1 << otherTypes
		}
	}
	return mask
}

// frame is an event as a block has it: what costs to make of it is left for
// when it is wanted.
type frame struct {
	seq                     uint64
	at                      int64
	number                  uint64 // of the type; noNumber for one that is written out
	oddType                 core.EventType
	turn, request, provider string
	id                      uuid.UUID
	oddID                   string // in place of id, if isOddID
	isOddID                 bool
	version                 int
	data                    []byte // nil for none
}

// noNumber stands for a type that is not in eventTypes.
const noNumber = math.MaxUint64

// frameOf takes an event apart.
func frameOf(ev *core.Event) frame {
	f := frame{seq: ev.Seq, at: nanos(ev.At), turn: ev.TurnID, request: ev.RequestID, provider: ev.Provider, version: ev.SchemaVersion, data: ev.Data}
	var ok bool
	if f.number, ok = typeNumber[ev.Type]; !ok {
		f.number, f.oddType = noNumber, ev.Type
	}
	if f.id, ok = eventUUID(ev.ID); !ok {
		f.oddID, f.isOddID = ev.ID, true
	}
	return f
}

// event undoes frameOf.
func (f *frame) event(resource string) core.Event {
	ev := core.Event{Resource: resource, SchemaVersion: f.version, Seq: f.seq, At: fromNanos(f.at), Type: f.kind(),
		TurnID: f.turn, RequestID: f.request, Provider: f.provider, ID: f.oddID, Data: f.data}
	if !f.isOddID {
		ev.ID = uuidText(f.id)
	}
	return ev
}

func (f *frame) kind() core.EventType {
	if f.number == noNumber {
		return f.oddType
	}
	return eventTypes[f.number]
}

// mask is the frame's type as typeMask has it.
func (f *frame) mask() int64 {
	if f.number < otherTypes {
		return 1 << f.number
	}
	return 1 << otherTypes
}

// block builds the two blocks of a run of events.
type block struct {
	events, raw []byte
	n           int
	prev        frame // what the next is written against
}

// grow makes room for a run of events.
func (b *block) grow(events []core.Event) {
	size, raw := 0, 0
	for i := range events {
		size += len(events[i].Data) + frameRoom
		if n := len(events[i].Raw); n > 0 {
			raw += n + frameRoom
		}
	}
	b.events, b.raw = slices.Grow(b.events, size), slices.Grow(b.raw, raw)
}

// frameRoom is about what a frame takes beside its data.
const frameRoom = 96

func (b *block) add(ev *core.Event) {
	f := frameOf(ev)
	b.addFrame(&f, ev.Raw)
}

func (b *block) addFrame(f *frame, raw []byte) {
	p, out := &b.prev, b.events
	var flags byte
	set := func(bit byte, on bool) {
		if on {
			flags |= bit
		}
	}
	set(newTurn, f.turn != p.turn)
	set(newRequest, f.request != p.request)
	set(newProvider, f.provider != p.provider)
	set(oddType, f.number == noNumber)
	set(oddID, f.isOddID)
	set(oddVersion, f.version != core.SchemaVersion)
	set(noData, f.data == nil)
	out = append(out, flags)
	out = binary.AppendUvarint(out, f.seq-p.seq)
	out = binary.AppendVarint(out, f.at-p.at)
	if f.number == noNumber {
		out = appendText(out, string(f.oddType))
	} else {
		out = binary.AppendUvarint(out, f.number)
	}
	if flags&newTurn != 0 {
		out = appendText(out, f.turn)
	}
	if flags&newRequest != 0 {
		out = appendText(out, f.request)
	}
	if flags&newProvider != 0 {
		out = appendText(out, f.provider)
	}
	if f.isOddID {
		out = appendText(out, f.oddID)
	} else {
		out = append(out, f.id[:]...)
	}
	if flags&oddVersion != 0 {
		out = binary.AppendVarint(out, int64(f.version))
	}
	if f.data != nil {
		out = binary.AppendUvarint(out, uint64(len(f.data)))
		out = append(out, f.data...)
	}
	b.events = out
	if len(raw) > 0 {
		b.raw = binary.AppendUvarint(b.raw, f.seq)
		b.raw = binary.AppendUvarint(b.raw, uint64(len(raw)))
		b.raw = append(b.raw, raw...)
	}
	b.n++
	b.prev = *f
	b.prev.data = nil
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// eventUUID returns the UUID of an id that is nothing but a prefix before it, in
// the usual writing.
func eventUUID(id string) (u uuid.UUID, ok bool) {
	text, ok := strings.CutPrefix(id, core.PrefixEvent)
	if !ok || len(text) != uuidLen {
		return u, false
	}
	for i := range len(text) {
		if c := text[i]; c >= 'A' && c <= 'F' { // reads the same and is another text
			return u, false
		}
	}
	u, err := uuid.Parse(text)
	return u, err == nil
}

// uuidLen is the length of a UUID with its four hyphens.
const uuidLen = 36

// errBlock means that a stored block cannot be read.
var errBlock = errors.New("a block of events is damaged")

// frames reads a block, frame by frame.
type frames struct {
	reader
	frame
}

func framesOf(block []byte) frames { return frames{reader: reader{data: block}} }

// next reads the next frame. It is false at the end, and when the block is bad.
// The frame's data shares the block's memory.
func (f *frames) next() bool {
	if len(f.reader.data) == 0 {
		return false
	}
	flags := f.byte()
	f.seq += f.uvarint()
	f.at += f.varint()
	f.number, f.frame.oddType = noNumber, ""
	if flags&oddType != 0 {
		f.frame.oddType = core.EventType(f.text())
	} else if f.number = f.uvarint(); f.number >= uint64(len(eventTypes)) {
		f.bad = true
	}
	if flags&newTurn != 0 {
		f.turn = f.text()
	}
	if flags&newRequest != 0 {
		f.request = f.text()
	}
	if flags&newProvider != 0 {
		f.provider = f.text()
	}
	f.isOddID, f.frame.oddID = flags&oddID != 0, ""
	if f.isOddID {
		f.frame.oddID = f.text()
	} else {
		copy(f.id[:], f.take(uint64(len(f.id))))
	}
	f.version = core.SchemaVersion
	if flags&oddVersion != 0 {
		f.version = int(f.varint())
	}
	f.frame.data = nil
	if flags&noData == 0 {
		f.frame.data = f.take(f.uvarint())
	}
	return !f.bad
}

// err says, after the last frame, whether the block could be read.
func (f *frames) err() error {
	if f.bad {
		return errBlock
	}
	return nil
}

func uuidText(u uuid.UUID) string {
	var text [len(core.PrefixEvent) + uuidLen]byte
	n := copy(text[:], core.PrefixEvent)
	for i, b := range u {
		switch i {
		case 4, 6, 8, 10:
			text[n] = '-'
			n++
		}
		n += hex.Encode(text[n:], []byte{b})
	}
	return string(text[:])
}

// rawFrames reads a block of raw frames beside the events that they belong to.
type rawFrames struct {
	reader
	seq  uint64
	text []byte
}

// of returns the raw frame of an event, nil if it has none. Ask in order of seq.
func (r *rawFrames) of(seq uint64) []byte {
	for r.seq < seq && len(r.data) > 0 {
		r.seq = r.uvarint()
		r.text = r.take(r.uvarint())
	}
	if r.seq != seq {
		return nil
	}
	return r.text
}

// reader takes a block apart. After the first thing that is not there it is bad
// and returns zeros.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.bad, r.data = true, nil
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) text() string { return string(r.take(r.uvarint())) }

// nanos is t as rows keep it: Unix nanoseconds, 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// fromNanos undoes nanos.
func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
