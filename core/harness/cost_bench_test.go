package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// What an event costs on its way from the provider to the store, part by part.

var benchText = strings.Repeat("some words of an answer, and then some more of them.\n", 6)[:300]

// BenchmarkReadDelta is what a conversation's reader does with a delta.
func BenchmarkReadDelta(b *testing.B) {
	a := &actor{host: &Harness{}}
	f := redact.New([]string{"hunter2hunter2"}).Filter()
	var n core.Notice = core.Content{Turn: "trn_1", Payload: core.MessageDelta{Item: "i", Text: benchText}}
	var in machine.Input
	b.ReportAllocs()
	b.SetBytes(int64(len(benchText)))
	for b.Loop() {
		for _, n := range f.Filter(n) {
			in = a.stamp(1, n)
		}
	}
	_ = in
}

func BenchmarkEventID(b *testing.B) {
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if core.EventIDAt(now) == "" {
			b.Fatal("no id")
		}
	}
}

func BenchmarkMarshalDelta(b *testing.B) {
	var p core.Payload = core.MessageDelta{Item: "msg_1", Text: benchText}
	b.ReportAllocs()
	b.SetBytes(int64(len(benchText)))
	for b.Loop() {
		if len(core.EncodeData(p)) == 0 {
			b.Fatal("nothing")
		}
	}
}

func BenchmarkEncodeBatchOfDeltas(b *testing.B) {
	batch := core.Batch{Owner: "o", Resource: "ses_1", Instance: "ins_1"}
	for i := range 16 {
		batch.Events = append(batch.Events, core.Event{SchemaVersion: core.SchemaVersion, ID: core.NewEventID(), Resource: "ses_1", Seq: uint64(i + 1),
			TurnID: "trn_1", Provider: "p", Type: core.TypeMessageDelta, At: time.Unix(1, 0), Data: core.EncodeData(core.MessageDelta{Item: "msg_1", Text: benchText})})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := batch.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeTurnsEnd(b *testing.B) {
	now := time.Now()
	batch := core.Batch{Owner: "o", Resource: "ses_1", Instance: "ins_1",
		Session: &core.SessionRecord{Session: core.Session{ID: "ses_1", Owner: "o", Provider: "p", CWD: "/home/someone/project", Status: core.StatusIdle, CreatedAt: now, UpdatedAt: now},
			Launch: core.SessionConfig{SessionID: "ses_1", Owner: "o", Provider: "p", CWD: "/home/someone/project", Timeouts: core.DefaultTimeouts}},
		Turns: []core.TurnRecord{{Turn: core.Turn{ID: "trn_1", SessionID: "ses_1", Owner: "o", Status: core.TurnDoneCompleted, AcceptedAt: now, StartedAt: now, FinishedAt: now, Text: benchText}}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := batch.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
