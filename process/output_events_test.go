package process

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
	"pgregory.net/rapid"
)

// said is an event of output as the tests read it.
type said struct {
	Stream core.EventType
	Text   string
}

// assemble plays reads, each with the pause before it, and returns the events.
// The streams end right behind the last one.
func assemble(t *testing.T, r *redact.Redactor, reads []streamRead, pauses ...time.Duration) ([]said, *outputAssembler) {
	t.Helper()
	out := make(chan outputEvent)
	in := make(chan streamRead)
	a := newOutputAssembler(r, out)
	go a.run(in)
	go func() {
		for i, p := range reads {
			if i < len(pauses) {
				time.Sleep(pauses[i])
			}
			p.at = time.Now()
			in <- p
		}
		for _, s := range []core.EventType{core.TypeStdout, core.TypeStderr} {
			in <- streamRead{stream: s, at: time.Now(), end: true}
		}
	}()
	var got []said
	for c := range out {
		var d core.OutputData
		if err := json.Unmarshal(c.data, &d); err != nil {
			t.Fatal(err)
		}
		if n := len(d.Bytes()); n == 0 || n > maxOutputEvent {
			t.Errorf("an event of %d bytes", n)
		}
		got = append(got, said{c.stream, string(d.Bytes())})
	}
	return got, a
}

func out(s string) streamRead { return streamRead{stream: core.TypeStdout, data: []byte(s)} }
func bad(s string) streamRead { return streamRead{stream: core.TypeStderr, data: []byte(s)} }

func TestReadsBecomeEvents(t *testing.T) {
	const (
		ms  = time.Millisecond
		now = 0 * ms
	)
	long := strings.Repeat("x", maxOutputEvent-10)
	for _, tt := range []struct {
		name   string
		reads  []streamRead
		pauses []time.Duration
		want   []said
	}{
		{"nothing", nil, nil, nil},
		{"a read is an event", []streamRead{out("one"), out("two")}, []time.Duration{now, 6 * ms}, []said{{"stdout", "one"}, {"stdout", "two"}}},
		{"what follows soon joins", []streamRead{out("one"), out("two")}, []time.Duration{now, 4 * ms}, []said{{"stdout", "onetwo"}}},
		{"the other stream ends an event", []streamRead{out("1"), bad("2"), out("3")}, nil, []said{{"stdout", "1"}, {"stderr", "2"}, {"stdout", "3"}}},
		{"a drip is not held for ever", drip(60), every(60, 4*ms), []said{
			{"stdout", strings.Repeat(".", 25)}, {"stdout", strings.Repeat(".", 25)}, {"stdout", strings.Repeat(".", 10)}}},
		{"a cut falls on a line end", []streamRead{out(long + "\nab"), out(strings.Repeat("y", 20))}, nil,
			[]said{{"stdout", long + "\n"}, {"stdout", "ab" + strings.Repeat("y", 20)}}},
		{"a long line is cut anyway", []streamRead{out(long), out(strings.Repeat("z", 30))}, nil,
			[]said{{"stdout", long + strings.Repeat("z", 10)}, {"stdout", strings.Repeat("z", 20)}}},
		{"no character is cut", []streamRead{out(long + strings.Repeat("z", 9)), out("\u20ac!")}, nil,
			[]said{{"stdout", long + strings.Repeat("z", 9)}, {"stdout", "\u20ac!"}}},
		{"half a character waits for its rest", []streamRead{out("1\xe2\x82"), bad("2"), out("\xac3")}, []time.Duration{now, 20 * ms, 20 * ms},
			[]said{{"stdout", "1"}, {"stderr", "2"}, {"stdout", "\u20ac3"}}},
		{"half a character at the end", []streamRead{out("a\xe2\x82")}, nil, []said{{"stdout", "a\xe2\x82"}}},
		{"bytes are bytes", []streamRead{out("\xff\x00\xfe")}, nil, []said{{"stdout", "\xff\x00\xfe"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, _ := assemble(t, redact.New(nil), tt.reads, tt.pauses...)
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

func drip(n int) []streamRead {
	var ps []streamRead
	for range n {
		ps = append(ps, out("."))
	}
	return ps
}

func every(n int, d time.Duration) []time.Duration {
	var ds []time.Duration
	for range n {
		ds = append(ds, d)
	}
	return ds
}

func TestSecretsAreTakenOutOfEachStreamAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := redact.New([]string{"correct-horse-battery"})
		got, a := assemble(t, r, []streamRead{out("x correct-ho"), bad("correct-hat "), out("rse-battery y")}, 0, 20*time.Millisecond, 20*time.Millisecond)
		joined := map[core.EventType]string{}
		for _, s := range got {
			joined[s.Stream] += s.Text
		}
		want := map[core.EventType]string{core.TypeStdout: "x " + redact.Redacted + " y", core.TypeStderr: "correct-hat "}
		if d := cmp.Diff(want, joined); d != "" {
			t.Error(d)
		}
		if a.total[core.TypeStdout] != int64(len("x correct-horse-battery y")) || a.total[core.TypeStderr] != int64(len("correct-hat ")) {
			t.Errorf("the bytes as written: %v", a.total)
		}
	})
}

func TestEveryByteIsInTheEventsInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		var reads []streamRead
		want := map[core.EventType][]byte{}
		for range rapid.IntRange(1, 20).Draw(rt, "reads") {
			stream := []core.EventType{core.TypeStdout, core.TypeStderr}[rng.IntN(2)]
			b := make([]byte, 1+rng.IntN([]int{8, 300, maxOutputEvent}[rng.IntN(3)]))
			switch rng.IntN(3) {
			case 0:
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
			case 1:
				b = []byte(strings.Repeat("line \u20ac\U0001F600\n", len(b)/12+1))
				b = b[:1+rng.IntN(len(b))]
				b = b[:min(len(b), maxOutputEvent)]
			default:
				for i := range b {
					b[i] = 'a' + byte(i%26)
				}
			}
			reads = append(reads, streamRead{stream: stream, data: b})
			want[stream] = append(want[stream], b...)
		}
		got, a := assemble(t, redact.New(nil), reads)
		for _, stream := range []core.EventType{core.TypeStdout, core.TypeStderr} {
			var joined []byte
			for _, s := range got {
				if s.Stream == stream {
					joined = append(joined, s.Text...)
				}
			}
			if !bytes.Equal(joined, want[stream]) || a.total[stream] != int64(len(joined)) {
				rt.Fatalf("%s: %d bytes (%d counted), want %d", stream, len(joined), a.total[stream], len(want[stream]))
			}
		}
	})
}

func TestUnfinishedIsThePartOfACharacter(t *testing.T) {
	for _, s := range []string{"", "a", "\u00e9", "\u20ac", "\U0001F600", "x\U0001F600"} {
		for n := range len(s) + 1 {
			want := 0
			for k := n; k > 0 && !utf8.ValidString(s[:k]); k-- {
				want++
			}
			if got := unfinished([]byte(s[:n])); got != want {
				t.Errorf("unfinished(%q) = %d, want %d", s[:n], got, want)
			}
		}
	}
	for _, s := range []string{"\xff", "\x80\x80\x80\x80", "\xc3\x28"} {
		if got := unfinished([]byte(s)); got != 0 {
			t.Errorf("unfinished(%q) = %d for what is no character", s, got)
		}
	}
}
