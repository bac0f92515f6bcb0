package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/harness-mcp/harness-mcp/core"
)

func rest(offset int) string { return fmt.Sprintf("inspect {id, offset: %d}", offset) }

func TestALongTextIsCutInTheMiddle(t *testing.T) {
	text := strings.Repeat("a", 60) + strings.Repeat("z", 40)
	got, offset := longText{text, rest}.truncate(40)
	want := strings.Repeat("a", 30) + "\n[... 60 bytes: inspect {id, offset: 30} ...]\n" + strings.Repeat("z", 10)
	if got != want || offset != 30 {
		t.Errorf("got %q at %d", got, offset)
	}
	if got, offset := (longText{text, rest}).truncate(100); got != text || offset != 0 {
		t.Errorf("a text that fits is cut: %q at %d", got, offset)
	}
}

func TestACutNamesWhatIsMissingAndBreaksNoCharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("a\u00fc\u6f22\U0001F600\n"))).Draw(t, "text")
		max := rapid.IntRange(0, len(text)+10).Draw(t, "max")
		got, offset := longText{text, rest}.truncate(max)
		if !utf8.ValidString(got) {
			t.Fatalf("half a character in %q", got)
		}
		if len(text) <= max {
			if got != text {
				t.Fatalf("cut although it fits: %q", got)
			}
			return
		}
		head, tail, ok := strings.Cut(got, "\n[... ")
		var missing, said int
		if _, err := fmt.Sscanf(tail, "%d bytes: inspect {id, offset: %d} ...]", &missing, &said); !ok || err != nil {
			t.Fatalf("no mark in %q", got)
		}
		_, tail, _ = strings.Cut(tail, " ...]\n")
		if said != offset || head != text[:offset] || !strings.HasSuffix(text, tail) || len(head)+missing+len(tail) != len(text) {
			t.Fatalf("%d bytes at %d of %d are missing from %q", missing, said, len(text), got)
		}
		if len(head)+len(tail) > max {
			t.Fatalf("%d bytes remain of %d allowed", len(head)+len(tail), max)
		}
	})
}

func TestClipKeepsCharactersWhole(t *testing.T) {
	for _, tc := range []struct {
		in   string
		max  int
		want string
	}{
		{"short", 5, "short"}, {"longer text", 8, "longe..."}, {"\u00fc\u00fc\u00fc\u00fc", 6, "\u00fc..."}, {"abc", 2, "ab"}, {"\u00fc", 1, ""}, {"abc", -1, ""},
	} {
		if got := clip(tc.in, tc.max); got != tc.want {
			t.Errorf("clip(%q, %d) is %q, want %q", tc.in, tc.max, got, tc.want)
		}
	}
}

func TestFitSharesTheRoom(t *testing.T) {
	var o struct{ A, B, C string }
	slots := []slot{
		textSlot{dst: &o.A, src: longText{strings.Repeat("a", 5000), rest}},
		textSlot{dst: &o.B, src: longText{"short", rest}},
		textSlot{dst: &o.C, src: longText{strings.Repeat("\"\n", 5000), rest}},
	}
	out := fit(slots, 2000, func() []byte { return encode(o) })
	if len(out) > 2000 || len(out) < 1900 {
		t.Errorf("%d bytes of 2000", len(out))
	}
	if o.B != "short" {
		t.Errorf("a short text was cut: %q", o.B)
	}
	if len(o.A) < 500 || len(o.C) < 500 {
		t.Errorf("shares of %d and %d bytes", len(o.A), len(o.C))
	}
}

func TestBigJSONIsReplacedByANote(t *testing.T) {
	var dst json.RawMessage
	s := rawSlot{dst: &dst, src: json.RawMessage(`{"a":"` + strings.Repeat("x", 100) + `"}`), more: `inspect {id: "x"}`}
	if s.apply(50); string(dst) != `"[108 bytes: inspect {id: \"x\"}]"` {
		t.Errorf("got %s", dst)
	}
	if s.apply(108); string(dst) != string(s.src) {
		t.Errorf("got %s", dst)
	}
}

func TestAnEventLargerThanThePageIsCut(t *testing.T) {
	for _, tc := range []struct{ name, data string }{
		{"one long text", `{"item":"m","text":"` + strings.Repeat("x", 20000) + `"}`},
		{"many small values", `{"list":[` + strings.TrimSuffix(strings.Repeat(`"abc",`, 5000), ",") + `]}`},
		{"no string at all", `{"list":[` + strings.TrimSuffix(strings.Repeat(`123456,`, 5000), ",") + `]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := event(9, core.TypeMessage, tc.data)
			o := new(call).event(e)
			o.Raw = json.RawMessage(tc.data)
			o.truncate(2000)
			if b := encode(o); len(b) > 2000 || !json.Valid(b) {
				t.Fatalf("%d bytes, valid: %t", len(b), json.Valid(b))
			}
			if !o.Truncated || o.Bytes != 2*len(tc.data) {
				t.Errorf("truncated %t, bytes %d", o.Truncated, o.Bytes)
			}
			if !strings.Contains(string(o.Data), "replay {id, after: 8, limit: 1, max_bytes: 1048576}") {
				t.Errorf("the data does not say where the whole is: %.200s", o.Data)
			}
		})
	}
}

func TestACutEventOfBytesIsStillBase64(t *testing.T) {
	raw := make([]byte, 50_000)
	for i := range raw {
		raw[i] = byte(i)
	}
	journal := []core.Event{event(1, core.TypeStdout, `{"base64":"`+base64.StdEncoding.EncodeToString(raw)+`"}`)}
	events, _ := shown(t, journal, `{"id":"x"}`)
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	var d struct{ Base64 string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(events[0], "1 stdout ")), &d); err != nil {
		t.Fatal(err)
	}
	got, err := base64.StdEncoding.DecodeString(d.Base64)
	if err != nil || len(got) < 1000 || !bytes.HasPrefix(raw, got) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
