package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"pgregory.net/rapid"
)

const horse = "correct-horse-battery"

func TestControlSequencesHideNoSecret(t *testing.T) {
	r := New([]string{horse, "with\x1b[1mcolour\x1b[0m"})
	for _, tt := range []struct{ name, in, want string }{
		{"colour around", "KEY=\x1b[1m" + horse + "\x1b[0m\n", "KEY=\x1b[1m[redacted]\x1b[0m\n"},
		{"colour inside", "KEY=correct-\x1b[01;31m\x1b[Khorse\x1b[m\x1b[K-battery!\n", "KEY=[redacted]\x1b[01;31m\x1b[K\x1b[m\x1b[K!\n"},
		{"a title inside", "correct-\x1b]0;a title\x07horse-battery.", "[redacted]\x1b]0;a title\x07."},
		{"in a title", "\x1b]0;" + horse + "\x07x", "\x1b]0;[redacted]\x07x"},
		{"a link", "\x1b]8;;http://x/" + horse + "\x1b\\text\x1b]8;;\x1b\\", "\x1b]8;;http://x/[redacted]\x1b\\text\x1b]8;;\x1b\\"},
		{"bells", "correct\x07-horse\x00-battery", "[redacted]\x07\x00"},
		{"a key of a known shape", "x ghp_0123456789\x1b[1mabcdefghijABCDEFGHIJ\x1b[0m012345 y", "x [redacted]\x1b[1m\x1b[0m y"},
		{"a coloured key", "\x1b[1mghp_0123456789abcdefghijABCDEFGHIJ012345\x1b[0m", "\x1b[1m[redacted]\x1b[0m"},
		{"a bearer", "Bearer abcdefghijklmnop\x1b[1m.qrstuv-123456\x1b[m", "Bearer [redacted]\x1b[1m\x1b[m"},
		{"two that touch", horse + "\x1b[m" + horse, "[redacted]\x1b[m"},
		{"a secret with colours", "with\x1b[1mcolour\x1b[0m withcolour", "[redacted]\x1b[1m\x1b[0m [redacted]"},
		{"words between nulls", "A=1\x00ghp_0123456789abcdefghijABCDEFGHIJ012345", "A=1\x00[redacted]"},
		{"no secret", "\x1b[31mred\x1b[0m \x00\x7f cor\x1b[1mrect", "\x1b[31mred\x1b[0m \x00\x7f cor\x1b[1mrect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.String(tt.in); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestControlSequencesMayBeCutAnywhere(t *testing.T) {
	r := New([]string{horse})
	parts := []string{"text\n", "correct-", "horse", "-battery", "Bearer abcdef", "0123456789abcdef", "\xff\xfe", "ghp_", "\x1b", "\x1b[1m", "\x1b]0;", "\x07", "[0m", "\x00", "m", "\b",
		"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"}
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "parts"), "")
		want := r.String(whole)
		f := r.TextFilter()
		got := ""
		for rest := whole; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got += f.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got += f.Flush(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		if f.Held() != 0 {
			t.Fatalf("%d bytes are held at the end", f.Held())
		}
		var e EscapeStripper
		if shown := string(e.Strip([]byte(strings.ReplaceAll(got, "\b", "")))); strings.Contains(shown, horse) {
			t.Fatalf("the secret is seen in %q", shown)
		}
	})
}

func TestBytesWithoutASecretComeOutAsTheyWentIn(t *testing.T) {
	r := New([]string{horse})
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.SampledFrom([]byte("c\x1b[0;m]\\\x07\x00\x7f\b \n\r\xc3\xa9(h"))).Draw(t, "bytes")
		if got := r.String(string(in)); got != string(in) {
			t.Fatalf("%q, want %q", got, in)
		}
	})
}

func TestEscapesThatNeverEndAreNotHeldBackForEver(t *testing.T) {
	f := New([]string{horse}).TextFilter()
	in := "c" + strings.Repeat("\x1b[1m", maxHeldHidden)
	got := ""
	for rest := in; len(rest) > 0; rest = rest[min(64, len(rest)):] {
		got += f.Write([]byte(rest[:min(64, len(rest))]))
		if f.Held() > maxHeldHidden+maxSecret {
			t.Fatalf("%d bytes are held", f.Held())
		}
	}
	if got += f.Flush(); got != in {
		t.Error("what was held is not what was given")
	}
}

func TestDeltasWithColoursHideNoSecret(t *testing.T) {
	f := New([]string{horse}).Filter()
	var text strings.Builder
	add := func(ns []core.Notice) {
		for _, n := range ns {
			if c, ok := n.(core.Content); ok {
				text.WriteString(c.Payload.(core.CommandOutputDelta).Text)
				text.Write(c.Raw)
			}
		}
	}
	for _, s := range []string{"a corr", "ect-\x1b", "[1mhor", "se\x1b[0m-batt", "ery b"} {
		raw, err := json.Marshal(map[string]string{"delta": s})
		if err != nil {
			t.Fatal(err)
		}
		add(f.Filter(core.Content{Turn: "t", Payload: core.CommandOutputDelta{Item: "i", Text: s}, Raw: raw}))
	}
	add(f.Flush())
	var plain strings.Builder
	for part := range strings.SplitSeq(text.String(), `{"delta":`) {
		plain.WriteString(part)
	}
	if s := plain.String(); strings.Contains(s, "horse") || strings.Contains(s, "batt") || !strings.Contains(s, Redacted) {
		t.Errorf("%q", s)
	}
}

func TestWhatIsHiddenIsFoundWhereverItStands(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			text := []byte("some words \u20ac of\nan answer\t")[:20]
			text[at] = byte(c)
			if got, want := firstHidden(string(text)), hiddenIn(string(text)); got != want {
				t.Errorf("the first byte of %q that is not shown is at %d, and looked for byte by byte at %d", text, got, want)
			}
		}
	}
}

func TestAKeyRightBehindASecretComesOutTheSameHoweverItIsCut(t *testing.T) {
	r := New([]string{"aaaaaaaa"})
	text := "aaaaaaaa" + anthropicKey + "\x00"
	f := r.TextFilter()
	got := f.Write([]byte(text[:8])) + f.Write([]byte(text[8:])) + f.Flush()
	if want := r.String(text); got != want {
		t.Errorf("in two pieces %q, whole %q", got, want)
	}
}
