package demo

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseReadsOneDirectiveALine(t *testing.T) {
	got, ok := parse("say  two  spaces \n\nstream 3\r\n\tthink hm\nrun\npatch \napprove\nask\nslow 250\nrecall\nfail")
	want := []directive{
		{Verb: verbSay, Text: " two  spaces "}, {Verb: verbStream, N: 3}, {Verb: verbThink, Text: "hm"},
		{Verb: verbRun}, {Verb: verbPatch}, {Verb: verbApprove}, {Verb: verbAsk},
		{Verb: verbSlow, Wait: 250 * time.Millisecond}, {Verb: verbRecall}, {Verb: verbFail},
	}
	if d := cmp.Diff(want, got); d != "" || !ok {
		t.Error(ok, d)
	}
}

func TestParseLeavesOtherPromptsAlone(t *testing.T) {
	for _, prompt := range []string{
		"", " \n", "hello", "run the tests", "ask me", "say", "say ", "stream", "stream 0", "stream -1", "stream many",
		"stream 100001", "slow", "slow 3600001", "slow 1s", "fail fast", "say one\nand then stop", "SAY x", "/say x",
		"stream 9223372036854775808",
	} {
		if script, ok := parse(prompt); ok {
			t.Errorf("%q was read as %+v", prompt, script)
		}
	}
}

func FuzzPiecesJoinToTheirText(f *testing.F) {
	f.Add("a b  c")
	f.Add(strings.Repeat("word ", 1000))
	f.Add("\u6f22\u5b57 \U0001f642 x")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		ps := pieces(text)
		if strings.Join(ps, "") != text {
			t.Errorf("%q was cut into %q", text, ps)
		}
		if len(ps) > textPieces+1 {
			t.Errorf("%d pieces", len(ps))
		}
		for _, p := range ps {
			if p == "" || utf8.ValidString(text) && !utf8.ValidString(p) {
				t.Errorf("a piece %q", p)
			}
		}
	})
}

func TestClipCutsAtTheEndOfACharacter(t *testing.T) {
	for _, tc := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 5, "abc"}, {"abc", 2, "ab"}, {"a\u6f22", 2, "a"}, {"\u6f22", 2, ""}, {"\u6f22b", 3, "\u6f22"}} {
		if got := clip(tc.s, tc.n); got != tc.want {
			t.Errorf("clip(%q, %d) = %q, not %q", tc.s, tc.n, got, tc.want)
		}
	}
}

func TestNextGreetingCountsEditsAndStaysShort(t *testing.T) {
	for _, tc := range []struct{ old, greeting, want string }{
		{"", "", "Hello from the demo agent.\nEdits: 1\n"},
		{"Moin\nEdits: 41\n", "", "Moin\nEdits: 42\n"},
		{"Moin\nEdits: 41\n", "a\n b", "a b\nEdits: 42\n"},
		{"someone else's text", "", "Hello from the demo agent.\nEdits: 1\n"},
		{"", strings.Repeat("x", 1000), strings.Repeat("x", maxGreeting) + "\nEdits: 1\n"},
	} {
		if d := cmp.Diff(tc.want, nextGreeting(tc.old, tc.greeting)); d != "" {
			t.Error(d)
		}
	}
}

func TestUnifiedDiffs(t *testing.T) {
	for _, tc := range []struct{ name, before, after, want string }{
		{"added", "", "a\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n"},
		{"first line", "a\nb\n", "c\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+c\n b\n"},
		{"last line", "a\nb\n", "a\nc\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		{"a line more", "a\na\n", "a\na\na\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n a\n+a\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, unified("f", tc.before, tc.after)); d != "" {
				t.Error(d)
			}
		})
	}
}
