package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Owners and ids of the checks. A caller may choose ids, so they need not look
// like ours.
const (
	ann, bob = "ann", "bob"
	s1, s2   = "session-1", "session-2"
)

// day is when everything in the checks happens.
var day = time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC)

// at is a time n seconds after day.
func at(n int) time.Time { return day.Add(time.Duration(n) * time.Second) }

// session makes a live session, created at n.
func session(owner, id string, n int) *core.SessionRecord {
	return &core.SessionRecord{
		Session: core.Session{
			ID: id, Owner: owner, Provider: "demo", Status: core.StatusIdle, CWD: "/work",
			CreatedAt: at(n), UpdatedAt: at(n), Metadata: map[string]string{"n": fmt.Sprint(n)},
		},
		Launch: core.SessionConfig{SessionID: id, Owner: owner, Provider: "demo", Model: "m"},
	}
}

// process makes a running process, created at n.
func process(owner, id string, n int) *core.ProcessRecord {
	return &core.ProcessRecord{
		Process: core.ProcessSnapshot{
			ID: id, Owner: owner, Status: core.ProcessIsRunning, Executable: "/bin/true",
			Argv: []string{"true"}, CreatedAt: at(n), StartedAt: at(n),
		},
		Launch: json.RawMessage(`{"pty":true}`),
	}
}

// turn makes a running turn, accepted at n.
func turn(owner, session, id string, n int) core.TurnRecord {
	return core.TurnRecord{
		Turn: core.Turn{
			ID: id, SessionID: session, Owner: owner, Status: core.TurnIsRunning,
			Origin: core.OriginCaller, AcceptedAt: at(n), Metadata: map[string]string{"n": id},
		},
	}
}

// request makes a pending request, created at n.
func request(owner, session, turn, id string, n int) core.Request {
	return core.Request{
		ID: id, SessionID: session, TurnID: turn, Owner: owner, Ref: "r", Status: core.RequestPending,
		RequestSpec: core.RequestSpec{Kind: core.KindQuestion, Prompt: "which?", Actions: []core.Action{core.ActionAnswer}},
		CreatedAt:   at(n),
	}
}

// event makes an event of a resource.
func event(resource string, seq uint64) core.Event {
	return core.Event{
		SchemaVersion: core.SchemaVersion,
		ID:            fmt.Sprintf("evt_%s_%d", resource, seq),
		Resource:      resource,
		Seq:           seq,
		Provider:      "demo",
		Type:          core.TypeMessage,
		At:            at(int(seq)),
		Data:          json.RawMessage(fmt.Sprintf(`{"item":"i","text":"%d"}`, seq)),
	}
}

// events makes events with the given numbers.
func events(resource string, seqs ...uint64) []core.Event {
	var out []core.Event
	for _, n := range seqs {
		out = append(out, event(resource, n))
	}
	return out
}

// opened is the batch that creates a session with some events.
func opened(owner, id string, n int, seqs ...uint64) core.Batch {
	return core.Batch{
		Owner: owner, Resource: id, Instance: "ins_a", Create: true,
		Session: session(owner, id, n), Events: events(id, seqs...),
	}
}

// more is a batch of further events.
func more(owner, id string, expect uint64, seqs ...uint64) core.Batch {
	return core.Batch{Owner: owner, Resource: id, Instance: "ins_a", ExpectSeq: expect, Events: events(id, seqs...)}
}

// same compares by JSON, which is what callers will see.
func same(what string, got, want any) error {
	g, err := json.Marshal(got)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if !bytes.Equal(g, w) {
		return fmt.Errorf("%s:\n got %.2000s\nwant %.2000s", what, g, w)
	}
	return nil
}

// seqsOf returns the numbers of events.
func seqsOf(events []core.Event) []uint64 {
	out := []uint64{}
	for _, ev := range events {
		out = append(out, ev.Seq)
	}
	return out
}

// wantCode returns an error unless err has the code.
func wantCode(what string, err error, code core.Code) error {
	var coded *core.Error
	if !errors.As(err, &coded) || coded.Code != code {
		return fmt.Errorf("%s: got error %v, want code %s", what, err, code)
	}
	return nil
}

// wantConflict returns an error unless err is a conflict of the kind.
func wantConflict(what string, err error, kind, id string) error {
	var c *core.ConflictError
	if !errors.As(err, &c) || c.Kind != kind || c.ID != id {
		return fmt.Errorf("%s: got error %v, want a conflict of %s %s", what, err, kind, id)
	}
	return nil
}

// steps runs functions until one fails.
func steps(all ...func() error) error {
	for _, f := range all {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
