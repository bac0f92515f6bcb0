package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/harness-mcp/harness-mcp/core"
)

// shown replays a journal and returns its events as "seq_first-seq type data".
func shown(t *testing.T, journal []core.Event, arguments string) (events []string, r reply) {
	t.Helper()
	r = callTool(t, &fake{journal: journal}, Options{}, "replay", arguments)
	if r.IsError {
		t.Fatal(r.Text)
	}
	var o struct {
		Events []struct {
			Seq      uint64          `json:"seq"`
			SeqFirst uint64          `json:"seq_first"`
			Type     string          `json:"type"`
			Data     json.RawMessage `json:"data"`
		}
	}
	if err := json.Unmarshal(r.Structured, &o); err != nil {
		t.Fatal(err)
	}
	for _, e := range o.Events {
		place := fmt.Sprint(e.Seq)
		if e.SeqFirst > 0 {
			place = fmt.Sprintf("%d-%d", e.SeqFirst, e.Seq)
		}
		events = append(events, fmt.Sprintf("%s %s %s", place, e.Type, e.Data))
	}
	return events, r
}

func TestJoinedView(t *testing.T) {
	other := event(3, core.TypeMessageDelta, `{"item":"a","text":"3"}`)
	other.TurnID = "trn_other"
	for _, tc := range []struct {
		name    string
		journal []core.Event
		want    []string
	}{
		{"deltas of one item merge, whatever lies between", []core.Event{
			event(1, core.TypeMessageDelta, `{"item":"a","text":"1"}`), event(2, core.TypeReasoningDelta, `{"item":"r","text":"x"}`),
			event(3, core.TypeMessageDelta, `{"item":"b","text":"2"}`), event(4, core.TypeMessageDelta, `{"item":"a","text":"3"}`),
		}, []string{`1-4 message_delta {"item":"a","text":"13"}`, `2 reasoning_delta {"item":"r","text":"x"}`, `3 message_delta {"item":"b","text":"2"}`}},
		{"the whole message stands for its deltas", []core.Event{
			event(1, core.TypeMessageDelta, `{"item":"a","text":"1"}`), event(2, core.TypeMessageDelta, `{"item":"b","text":"2"}`),
			event(3, core.TypeMessage, `{"item":"a","text":"1!"}`),
		}, []string{`2 message_delta {"item":"b","text":"2"}`, `3 message {"item":"a","text":"1!"}`}},
		{"a whole message replaces no reasoning", []core.Event{
			event(1, core.TypeReasoningDelta, `{"item":"a","text":"1"}`), event(2, core.TypeMessage, `{"item":"a","text":"2"}`),
		}, []string{`1 reasoning_delta {"item":"a","text":"1"}`, `2 message {"item":"a","text":"2"}`}},
		{"output stands for its deltas, no output does not", []core.Event{
			event(1, core.TypeCommandOutputDelta, `{"item":"a","text":"x"}`), event(2, core.TypeCommandOutputDelta, `{"item":"b","text":"y"}`),
			event(3, core.TypeToolCompleted, `{"item":"a","status":"ok","output":"x"}`), event(4, core.TypeToolCompleted, `{"item":"b","status":"ok"}`),
		}, []string{`2 command_output_delta {"item":"b","text":"y"}`, `3 tool_completed {"item":"a","status":"ok","output":"x"}`, `4 tool_completed {"item":"b","status":"ok"}`}},
		{"deltas of different turns stay apart", []core.Event{event(1, core.TypeMessageDelta, `{"item":"a","text":"1"}`), other},
			[]string{`1 message_delta {"item":"a","text":"1"}`, `3 message_delta {"item":"a","text":"3"}`}},
		{"neighbouring output of one stream merges", []core.Event{
			event(1, core.TypeStdout, `{"text":"a\n"}`), event(2, core.TypeStdout, `{"text":"b\n"}`),
			event(3, core.TypeStderr, `{"text":"e"}`), event(4, core.TypeStdout, `{"text":"c"}`),
		}, []string{`1-2 stdout {"text":"a\nb\n"}`, `3 stderr {"text":"e"}`, `4 stdout {"text":"c"}`}},
		{"halves of a character become text", []core.Event{
			event(1, core.TypeStdout, `{"base64":"`+base64.StdEncoding.EncodeToString([]byte("gr\xc3"))+`"}`),
			event(2, core.TypeStdout, `{"base64":"`+base64.StdEncoding.EncodeToString([]byte("\xbcn"))+`"}`),
		}, []string{`1-2 stdout {"text":"gr` + "\u00fc" + `n"}`}},
		{"bytes that are no text stay base64", []core.Event{
			event(1, core.TypeStdout, `{"text":"a"}`), event(2, core.TypeStdout, `{"base64":"/w=="}`),
		}, []string{`1-2 stdout {"base64":"Yf8="}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _ := shown(t, tc.journal, `{"id":"x"}`)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSummaryIsOneShortLineAStep(t *testing.T) {
	long := strings.Repeat("w\u00f6rd ", 100)
	journal := []core.Event{
		event(1, core.TurnAccepted, `{"prompt":"`+long+`"}`),
		event(2, core.TypeMessageDelta, `{"item":"m","text":"no step"}`),
		event(3, core.TypeMessage, `{"item":"m","text":"two\nlines"}`),
		event(4, core.TypeToolStarted, `{"item":"t","name":"shell","kind":"command","title":"go test"}`),
		event(5, core.TypeToolCompleted, `{"item":"t","status":"failed","output":"ok\nFAIL x\n\n","exit_code":1}`),
		event(6, core.TypeToolStarted, `{"item":"u","name":"shell","kind":"command","title":"sleep 9"}`),
		event(7, core.TypePlanUpdated, `{"steps":[{"text":"a","status":"completed"},{"text":"b","status":"in_progress"}]}`),
		event(8, core.RequestExpired, `{"reason":"no_answer"}`),
		event(9, core.TurnFailed, `{"status":"failed","result":{"error":{"code":"rate_limited","message":"later"}}}`),
		event(10, core.SessionClosed, `{"reason":"idle_timeout"}`),
	}
	_, r := shown(t, journal, `{"id":"x","view":"summary"}`)
	_, content, _ := strings.Cut(r.Text, "\n\n")
	lines := strings.Split(content, "\n")
	for _, l := range lines {
		if _, step, _ := strings.Cut(l, " "); len(step) > 120 {
			t.Errorf("a step of %d bytes: %s", len(step), l)
		}
	}
	want := []string{"3 message: two lines", "5 go test -> failed, code 1: FAIL x", "6 running command: sleep 9", "7 plan: 1 of 2 done; b",
		"8 request: expired, no_answer", "9 turn failed: rate_limited: later", "10 session closed: idle_timeout"}
	if d := cmp.Diff(want, lines[1:]); d != "" {
		t.Error(d)
	}
}

func TestTailTakesTheNewestThatFit(t *testing.T) {
	var journal []core.Event
	for i := range 40 {
		journal = append(journal, event(uint64(i+1), core.TypeWarning, `{"message":"`+strings.Repeat("x", 100)+`"}`))
	}
	got, _ := shown(t, journal, `{"id":"x","tail":3}`)
	if len(got) != 3 || !strings.HasPrefix(got[2], "40 ") {
		t.Errorf("got %v", got)
	}
	got, r := shown(t, journal, `{"id":"x","tail":40,"max_bytes":2000}`)
	if len(got) < 3 || len(got) > 12 || !strings.HasPrefix(got[len(got)-1], "40 ") {
		t.Errorf("got %d events, the last %s", len(got), got[len(got)-1])
	}
	if len(r.Structured) > 2000 {
		t.Errorf("%d bytes", len(r.Structured))
	}
	big := append(journal, event(41, core.TypeMessage, `{"item":"m","text":"`+strings.Repeat("y", 9000)+`"}`))
	if got, r = shown(t, big, `{"id":"x","tail":5}`); len(got) != 1 || !strings.Contains(string(r.Structured), `"truncated":true`) {
		t.Errorf("got %d events: %.300s", len(got), r.Structured)
	}
}

func TestTailShowsTheLastOutputHoweverLongItIs(t *testing.T) {
	line := strings.Repeat("o", 99)
	for name, c := range map[string]struct {
		events, bytes int    // of output
		arguments     string // beside the id
	}{
		"one event":       {1, 60_000, `"tail":5`},
		"joined":          {30, 3_000, `"tail":2`},
		"a window full":   {990, 1_000, `"tail":10`},
		"as events":       {1, 60_000, `"tail":2,"view":"events"`},
		"on a small page": {3, 9_000, `"tail":4,"max_bytes":2000`},
	} {
		var journal []core.Event
		for i := range c.events {
			text := fmt.Sprintf("from %d %s\n", i, strings.Repeat(line+"\n", c.bytes/100))
			journal = append(journal, event(uint64(i+1), core.TypeStdout, string(encode(map[string]string{"text": text}))))
		}
		last := string(journal[c.events-1].Data)
		journal = append(journal, event(uint64(c.events+1), core.ProcessExited, `{"status":"exited","exit_code":3}`))
		got, r := shown(t, journal, `{"id":"x",`+c.arguments+`}`)
		if n := len(got); n < 2 || !strings.Contains(got[n-1], "process_exited") || !strings.Contains(got[n-2], "stdout") {
			t.Errorf("%s: %d events: %.300s", name, n, r.Structured)
			continue
		}
		output := got[len(got)-2]
		if !strings.Contains(output, "[... ") || !strings.HasSuffix(output, last[len(last)-50:]) {
			t.Errorf("%s: %.100s ... %s", name, output, output[max(0, len(output)-60):])
		}
		for _, half := range []string{string(r.Structured), r.Text} {
			if len(half) > 8192 || !strings.Contains(half, "ooo") || !strings.Contains(half, "exit") {
				t.Errorf("%s: %d bytes: %.200s", name, len(half), half)
			}
		}
	}
}

func TestAPageAsSmallAsAskedFor(t *testing.T) {
	journal := []core.Event{
		event(1, core.TypeMessage, `{"item":"m","text":"`+strings.Repeat("x", 5000)+`"}`),
		event(2, core.TypeMessage, `{"item":"n","text":"y"}`),
	}
	for _, max := range []int{1, 300, 1000} {
		got, r := shown(t, journal, fmt.Sprintf(`{"id":"x","max_bytes":%d}`, max))
		if len(got) != 1 || len(got[0]) > max+200 || !strings.Contains(string(r.Structured), `"truncated":true,"bytes":5022`) {
			t.Errorf("%d: %d events, the first of %d bytes: %.300s", max, len(got), len(got[0]), r.Structured)
		}
		if o := r.object(t); o["more"] != true || o["cursor"] != 1.0 {
			t.Errorf("%d: more %v, cursor %v", max, o["more"], o["cursor"])
		}
	}
	got, _ := shown(t, journal, `{"id":"x","after":0,"limit":1,"max_bytes":1048576}`)
	if len(got) != 1 || len(got[0]) < 5000 {
		t.Errorf("the event is not whole: %d bytes", len(got[0]))
	}
}

// Whatever the journal and the size of pages, following the cursor shows every
// event once, in order, and every piece of text once.
func TestPagesLoseAndRepeatNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var journal []core.Event
		texts := map[string]string{}
		count := rapid.IntRange(1, 60).Draw(rt, "events")
		for seq := 1; seq <= count; seq++ {
			item := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "item")
			text := strings.Repeat(rapid.SampledFrom([]string{"x", "\u00fc", "\""}).Draw(rt, "letter"), rapid.IntRange(1, 400).Draw(rt, "length"))
			typ := rapid.SampledFrom([]core.EventType{core.TypeMessageDelta, core.TypeReasoningDelta, core.TypeStdout, core.TypeWarning}).Draw(rt, "type")
			if typ == core.TypeStdout {
				item = ""
			}
			texts[string(typ)+item] += text
			journal = append(journal, event(uint64(seq*2), typ, string(encode(deltaData{Item: item, Text: text}))))
		}
		size := rapid.IntRange(2500, 9000).Draw(rt, "max_bytes")
		got := map[string]string{}
		after, last := uint64(0), uint64(0)
		srv := newServer(&fake{journal: journal}, Options{})
		for pages := 0; ; pages++ {
			if pages > len(journal) {
				rt.Fatal("the pages never end")
			}
			r := callServer(t, context.Background(), srv, "replay", fmt.Sprintf(`{"id":"x","after":%d,"max_bytes":%d}`, after, size))
			if len(r.Structured) > size || len(r.Text) > size {
				rt.Fatalf("a page of %d and %d bytes, at most %d were asked for", len(r.Structured), len(r.Text), size)
			}
			var o struct {
				Cursor uint64
				More   bool
				Events []struct {
					Seq  uint64
					Type string
					Data deltaData
				}
			}
			if err := json.Unmarshal(r.Structured, &o); err != nil {
				rt.Fatal(err)
			}
			for _, e := range o.Events {
				got[e.Type+e.Data.Item] += e.Data.Text
				last = max(last, e.Seq)
			}
			if !o.More {
				break
			}
			after = o.Cursor
		}
		if last != journal[len(journal)-1].Seq {
			rt.Fatalf("the pages end at %d", last)
		}
		if d := cmp.Diff(texts, got); d != "" {
			rt.Fatal(d)
		}
	})
}
