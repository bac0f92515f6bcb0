package core

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// PrefixInstance begins the ids of instances.
const PrefixInstance = "ins_"

// Completes reports whether k may replace a stored key when a batch
// brings it: old was claimed with PutKey, before its effect, by the same call,
// and has no Resource yet.
func (k KeyRecord) Completes(old KeyRecord) bool {
	return old.Resource == "" && old.ArgsHash == k.ArgsHash
}

// Row is a snapshot as stores keep it: an opaque body beside the facts that
// lists sort and filter by. Every Store makes its rows with Batch.Encode, so
// that all agree on what is live and when something ended.
type Row struct {
	Kind    ResourceKind
	ID      string
	TurnID  string // of a request
	Status  string
	Live    bool
	Created time.Time
	Ended   time.Time // zero while live
	Body    []byte    // JSON of the record
}

// EncodedBatch is a checked batch in the form that stores keep.
type EncodedBatch struct {
	Batch
	// Kind is the kind of the resource in the batch's snapshot, "" for a
	// batch without one.
	Kind ResourceKind
	Rows []Row
	// Digest differs for any two different batches. It is only good for
	// comparing within this process.
	Digest BatchDigest
	// Bytes is about how much the batch writes.
	Bytes int
}

// IDKind is the ConflictError.Kind of the batch's own id.
func (e EncodedBatch) IDKind() string { return string(cmp.Or(e.Kind, KindSession)) + "_id" }

// Encode checks that b is one a store can take and encodes its snapshots. A
// batch that contradicts itself is a bug of its maker: CodeInternal.
func (b Batch) Encode() (EncodedBatch, error) {
	e := EncodedBatch{Batch: b}
	if err := b.check(); err != nil {
		return e, err
	}
	rows, err := b.rows()
	if err != nil {
		return e, Errorf(CodeInternal, "encoding a batch of %s: %w", b.Resource, err)
	}
	e.Rows, e.Keys = rows, b.keys()
	switch {
	case b.Session != nil:
		e.Kind = KindSession
	case b.Process != nil:
		e.Kind = KindProcess
	}
	for _, ev := range b.Events {
		e.Bytes += EventBytes(ev)
	}
	for _, r := range rows {
		e.Bytes += len(r.Body)
	}
	e.Digest = e.digest()
	return e, nil
}

// check finds contradictions within a batch.
func (b Batch) check() error {
	bad := func(why string) error {
		return Errorf(CodeInternal, "a malformed batch of %q: %s", b.Resource, why)
	}
	switch {
	case b.Owner == "" || b.Owner == AllOwners || b.Resource == "":
		return bad("it needs one owner and a resource")
	case b.Session != nil && b.Process != nil:
		return bad("it has both a session and a process")
	case b.Process != nil && len(b.Turns)+len(b.Requests) > 0:
		return bad("a process has no turns or requests")
	case b.Session != nil && (b.Session.Session.ID != b.Resource || b.Session.Session.Owner != b.Owner),
		b.Process != nil && (b.Process.Process.ID != b.Resource || b.Process.Process.Owner != b.Owner):
		return bad("its snapshot is of another resource or owner")
	}
	last := b.ExpectSeq
	for _, ev := range b.Events {
		if ev.Resource != b.Resource || ev.Seq <= last {
			return bad("its events are of another resource or out of order")
		}
		last = ev.Seq
	}
	for _, r := range b.Turns {
		if r.Turn.SessionID != b.Resource {
			return bad("a turn is of another session")
		}
	}
	for _, q := range b.Requests {
		if q.SessionID != b.Resource {
			return bad("a request is of another session")
		}
	}
	for _, k := range b.Keys {
		if k.Owner != b.Owner {
			return bad("a key is of another owner")
		}
	}
	return nil
}

func (b Batch) rows() ([]Row, error) {
	var rows []Row
	var first error
	add := func(r Row, record any) {
		body, err := json.Marshal(record)
		first = cmp.Or(first, err)
		r.Body, r.Created = body, StoredTime(r.Created)
		if r.Ended = StoredTime(r.Ended); r.Live {
			r.Ended = time.Time{}
		} else if r.Ended.IsZero() {
			r.Ended = r.Created
		}
		// A batch of several steps may bring a snapshot twice: the last counts.
		i := slices.IndexFunc(rows, func(o Row) bool { return o.Kind == r.Kind && o.ID == r.ID })
		if i < 0 {
			rows = append(rows, r)
		} else {
			rows[i] = r
		}
	}
	if b.Session != nil {
		s := b.Session.Session
		add(Row{Kind: KindSession, ID: s.ID, Status: string(s.Status), Live: s.Status.Live(),
			Created: s.CreatedAt, Ended: s.UpdatedAt}, b.Session)
	}
	if b.Process != nil {
		p := b.Process.Process
		add(Row{Kind: KindProcess, ID: p.ID, Status: string(p.Status), Live: !p.Status.Ended(),
			Created: p.CreatedAt, Ended: p.FinishedAt}, b.Process)
	}
	for _, r := range b.Turns {
		t := r.Turn
		add(Row{Kind: KindTurn, ID: t.ID, TurnID: t.ID, Status: string(t.Status), Live: !t.Status.Ended(),
			Created: t.AcceptedAt, Ended: t.FinishedAt}, r)
	}
	for _, q := range b.Requests {
		r := Row{Kind: KindRequest, ID: q.ID, TurnID: q.TurnID, Status: string(q.Status), Live: !q.Status.Ended(),
			Created: q.CreatedAt}
		if q.Resolution != nil {
			r.Ended = q.Resolution.At
		}
		add(r, q)
	}
	return rows, first
}

// keys returns each of the batch's keys once, in its last form.
func (b Batch) keys() []KeyRecord {
	var keys []KeyRecord
	for _, k := range b.Keys {
		i := slices.IndexFunc(keys, func(o KeyRecord) bool { return o.Tool == k.Tool && o.Key == k.Key })
		if i < 0 {
			keys = append(keys, k)
		} else {
			keys[i] = k
		}
	}
	return keys
}

// Position is where a page of a list ended: after the row of that time and
// id.
type Position struct {
	At time.Time
	ID string
}

// ParseCursor reads what Cursor made. Another text is CodeInvalidArgument; the
// empty text is the zero Position.
func ParseCursor(cursor string) (Position, error) {
	if cursor == "" {
		return Position{}, nil
	}
	at, id, _ := strings.Cut(cursor, "/")
	t, err := time.Parse("20060102T150405.000000000Z", at)
	if err != nil || id == "" {
		return Position{}, Errorf(CodeInvalidArgument, "the page cursor is not one of ours").
			WithHint("Pass next_page as the page before gave it, or leave it out.")
	}
	return Position{At: t, ID: id}, nil
}

// EventBytes is what an event counts: its data and a share for its fields.
func EventBytes(ev Event) int { return len(ev.Data) + len(ev.Raw) + 256 }

// StoredTime returns t as a store returns it: UTC, to the nanosecond.
func StoredTime(t time.Time) time.Time { return t.Round(0).UTC() }
