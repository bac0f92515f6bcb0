package journal

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"pgregory.net/rapid"
)

// What is read from the ring is what a plain list of its last events gives,
// however they came.
func TestTheRingGivesWhatAListOfItsEventsGives(t *testing.T) {
	types := []core.EventType{core.TypeMessageDelta, core.TypeMessage, core.TurnStarted}
	rapid.Check(t, func(t *rapid.T) {
		var r Ring
		var all []core.Event
		seq := uint64(rapid.IntRange(0, 3).Draw(t, "first"))
		r.From = seq
		for range rapid.IntRange(0, 30).Draw(t, "batches") {
			var batch []core.Event
			for range rapid.IntRange(0, 12).Draw(t, "events") {
				seq += uint64(rapid.IntRange(1, 2).Draw(t, "gap"))
				size := rapid.SampledFrom([]int{10, 300, 20 << 10, 70 << 10, 300 << 10}).Draw(t, "size")
				batch = append(batch, core.Event{Seq: seq, TurnID: rapid.SampledFrom([]string{"", "trn_1"}).Draw(t, "turn"),
					Type: rapid.SampledFrom(types).Draw(t, "type"), Data: make(json.RawMessage, size), Raw: json.RawMessage("1")})
			}
			all = append(all, batch...)
			r.Add(batch)
		}
		kept := slices.DeleteFunc(slices.Clone(all), func(e core.Event) bool { return e.Seq <= r.From })
		bytes := 0
		for _, e := range kept {
			bytes += ringSize(e)
		}
		if bytes != r.bytes {
			t.Fatalf("%d bytes are kept and %d counted", bytes, r.bytes)
		}
		if bytes > ringBytes && len(r.parts) > 1 || len(kept) == 0 && len(all) > 0 {
			t.Fatalf("%d bytes in %d parts are kept, %d events", bytes, len(r.parts), len(kept))
		}
		if dropped := len(all) - len(kept); dropped > 0 && bytes+ringSize(all[dropped-1]) <= ringBytes-ringPartBytes {
			t.Fatalf("only %d bytes are kept", bytes)
		}
		q := core.EventQuery{After: uint64(rapid.IntRange(0, int(seq)+1).Draw(t, "after")), Limit: rapid.IntRange(0, 5).Draw(t, "limit"),
			MaxBytes: rapid.SampledFrom([]int{0, 1, 1000, 100 << 10}).Draw(t, "bytes"), Raw: rapid.Bool().Draw(t, "raw")}
		if rapid.Bool().Draw(t, "turns") {
			q.TurnID = "trn_1"
		}
		if rapid.Bool().Draw(t, "types") {
			q.Types = types[1:]
		}
		got, ok := r.read(q)
		if ok != (q.After >= r.From) {
			t.Fatalf("read says %t from %d on with all behind %d", ok, q.After, r.From)
		}
		if want := pick(kept, q); ok && !slices.EqualFunc(got, want, func(x, y core.Event) bool { return x.Seq == y.Seq && string(x.Raw) == string(y.Raw) }) {
			t.Fatalf("%d events, not %d", len(got), len(want))
		}
	})
}

func TestTheRingCopiesNoSmallBatchAndKeepsNoLargeOne(t *testing.T) {
	var r Ring
	small := []core.Event{{Seq: 1}, {Seq: 2}}
	r.Add(small)
	if &r.parts[0].events[0] != &small[0] {
		t.Error("a small batch is copied")
	}
	large := make([]core.Event, 64)
	for i := range large {
		large[i] = core.Event{Seq: uint64(3 + i), Data: make(json.RawMessage, 16<<10)}
	}
	r.Add(large)
	for _, p := range r.parts {
		if i := slices.IndexFunc(large, func(e core.Event) bool { return e.Seq == p.events[0].Seq }); i >= 0 && &p.events[0] == &large[i] {
			t.Fatal("a part of a large batch keeps all of it")
		}
	}
}
