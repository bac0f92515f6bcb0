package sqlitestore

import (
	"encoding/binary"
	"errors"
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

// before is what a frame is written against.
type before struct {
	seq                     uint64
	at                      int64
	turn, request, provider string
}

// block builds the two blocks of a run of events.
type block struct {
	events, raw []byte
	n           int
	prev        before
}

func (b *block) add(ev core.Event) {
	p, out := &b.prev, b.events
	var flags byte
	number, known := typeNumber[ev.Type]
	id, uuidOK := eventUUID(ev.ID)
	set := func(bit byte, on bool) {
		if on {
			flags |= bit
		}
	}
	set(newTurn, ev.TurnID != p.turn)
	set(newRequest, ev.RequestID != p.request)
	set(newProvider, ev.Provider != p.provider)
	set(oddType, !known)
	set(oddID, !uuidOK)
	set(oddVersion, ev.SchemaVersion != core.SchemaVersion)
	set(noData, ev.Data == nil)
	at := nanos(ev.At)
	out = append(out, flags)
	out = binary.AppendUvarint(out, ev.Seq-p.seq)
	out = binary.AppendVarint(out, at-p.at)
	if known {
		out = binary.AppendUvarint(out, number)
	} else {
		out = appendText(out, string(ev.Type))
	}
	for _, f := range []struct {
		bit byte
		s   string
	}{{newTurn, ev.TurnID}, {newRequest, ev.RequestID}, {newProvider, ev.Provider}} {
		if flags&f.bit != 0 {
			out = appendText(out, f.s)
		}
	}
	if uuidOK {
		out = append(out, id[:]...)
	} else {
		out = appendText(out, ev.ID)
	}
	if flags&oddVersion != 0 {
		out = binary.AppendVarint(out, int64(ev.SchemaVersion))
	}
	if ev.Data != nil {
		out = binary.AppendUvarint(out, uint64(len(ev.Data)))
		out = append(out, ev.Data...)
	}
	b.events = out
	if len(ev.Raw) > 0 {
		b.raw = binary.AppendUvarint(b.raw, ev.Seq)
		b.raw = binary.AppendUvarint(b.raw, uint64(len(ev.Raw)))
		b.raw = append(b.raw, ev.Raw...)
	}
	b.n++
	*p = before{ev.Seq, at, ev.TurnID, ev.RequestID, ev.Provider}
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// eventUUID gives the UUID of an id that is nothing but a prefix before it.
func eventUUID(id string) (u uuid.UUID, ok bool) {
	text, ok := strings.CutPrefix(id, core.PrefixEvent)
	if !ok {
		return u, false
	}
	u, err := uuid.Parse(text)
	return u, err == nil && u.String() == text
}

// errBlock says that a stored block cannot be read.
var errBlock = errors.New("a block of events is damaged")

// eachEvent reads a block and calls each with its events until each says stop.
// Their data shares the block's memory.
func eachEvent(data []byte, resource string, each func(ev core.Event) (more bool)) (err error) {
	r := reader{data: data}
	var p before
	for len(r.data) > 0 {
		ev := core.Event{Resource: resource, SchemaVersion: core.SchemaVersion}
		flags := r.byte()
		p.seq += r.uvarint()
		p.at += r.varint()
		if flags&oddType != 0 {
			ev.Type = core.EventType(r.text())
		} else if n := r.uvarint(); n < uint64(len(eventTypes)) {
			ev.Type = eventTypes[n]
		} else {
			return errBlock
		}
		if flags&newTurn != 0 {
			p.turn = r.text()
		}
		if flags&newRequest != 0 {
			p.request = r.text()
		}
		if flags&newProvider != 0 {
			p.provider = r.text()
		}
		if flags&oddID != 0 {
			ev.ID = r.text()
		} else {
			ev.ID = uuidText(r.take(uint64(len(uuid.UUID{}))))
		}
		if flags&oddVersion != 0 {
			ev.SchemaVersion = int(r.varint())
		}
		if flags&noData == 0 {
			ev.Data = r.take(r.uvarint())
		}
		if r.bad {
			return errBlock
		}
		ev.Seq, ev.At = p.seq, fromNanos(p.at)
		ev.TurnID, ev.RequestID, ev.Provider = p.turn, p.request, p.provider
		if !each(ev) {
			return nil
		}
	}
	return nil
}

func uuidText(b []byte) string {
	u, err := uuid.FromBytes(b)
	if err != nil {
		return "" // the reader has noticed
	}
	var text [len(core.PrefixEvent) + 36]byte
	n := copy(text[:], core.PrefixEvent)
	b, _ = u.MarshalText() // never fails
	copy(text[n:], b)
	return string(text[:])
}

// rawFrames reads a block of raw frames, by seq.
func rawFrames(data []byte) (map[uint64][]byte, error) {
	r := reader{data: data}
	frames := map[uint64][]byte{}
	for len(r.data) > 0 {
		seq := r.uvarint()
		frames[seq] = r.take(r.uvarint())
		if r.bad {
			return nil, errBlock
		}
	}
	return frames, nil
}

// reader takes a block apart. After the first thing that is not there it is bad
// and gives zeros.
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
