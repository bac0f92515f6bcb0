package core

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEscapesAreTakenOut(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "a b\tc\r\nd", "a b\tc\r\nd"},
		{"colour", "\x1b[1;32mok\x1b[0m!", "ok!"},
		{"cursor", "a\x1b[2K\x1b[1Gb", "ab"},
		{"private mode", "\x1b[?2004h>>> \x1b[?2004l", ">>> "},
		{"title", "\x1b]0;a title\x07x", "x"},
		{"link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"charset", "\x1b(Bx\x1b)0y", "xy"},
		{"one letter", "\x1bMx\x1b7y\x1b=z", "xyz"},
		{"bell and others", "a\x07b\x00c\x7fd", "abcd"},
		{"backspace", "passwx\bord", "password"},
		{"backspace over a wide one", "a\u20ac\bb", "ab"},
		{"backspace at the beginning", "\bx", "x"},
		{"letters beyond ASCII", "\x1b[31m\u20ac\u00e9\x1b[m", "\u20ac\u00e9"},
		{"a string without an end", "\x1b]0;" + strings.Repeat("x", maxEscape) + "yz", "xxyz"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e Escapes
			if got := string(e.Strip([]byte(tt.in))); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestEscapesMayBeCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"text ", "\u20ac", "\x1b[31m", "\x1b]0;t\x07", "\x1b]8;;u\x1b\\", "\x1b(B", "\x1b", "[", "m", "\r\n"})).Draw(t, "parts")
		whole := strings.Join(parts, "")
		var one, many Escapes
		want := string(one.Strip([]byte(whole)))
		got := ""
		for len(whole) > 0 {
			n := rapid.IntRange(1, len(whole)).Draw(t, "cut")
			got += string(many.Strip([]byte(whole[:n])))
			whole = whole[n:]
		}
		if got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func TestPatternsAreFoundInLines(t *testing.T) {
	type part struct {
		stream EventType
		text   string
	}
	out := func(texts ...string) (ps []part) {
		for _, s := range texts {
			ps = append(ps, part{TypeStdout, s})
		}
		return ps
	}
	for _, tt := range []struct {
		name, pattern string
		parts         []part
		seq           uint64 // of the event that completes it; 0 for none
		line          string
	}{
		{"a line", "^ready$", out("start\nready\nmore\n"), 1, "ready"},
		{"across events", "ready on 80", out("rea", "dy on", " 8080\n"), 3, "ready on 8080"},
		{"the unfinished line", `>>> $`, out("x\n>>> "), 1, ">>> "},
		{"an end that is not yet one", `^ab$`, out("a", "b", "c\n"), 2, "ab"},
		{"not over two lines", `a.*b`, out("a\nb\n"), 0, ""},
		{"colours", "^all ok$", out("\x1b[32mall\x1b[", "0m ok\n"), 2, "all ok"},
		{"line ends of a terminal", "^ok$", out("ok\r\n"), 1, "ok"},
		{"a line end cut in two", "^next$", out("ok\r", "\nnext\r\n"), 2, "next"},
		{"an overwritten line", "^50%$", out("10%\r50%\r90%\n"), 1, "50%"},
		{"overwritten, not joined", "^10%50%$", out("10%\r", "50%\n"), 0, ""},
		{"an empty line", "^$", out("a\n\nb"), 1, ""},
		{"the streams apart", "^ab$", []part{{TypeStdout, "a"}, {TypeStderr, "x\n"}, {TypeStdout, "b\n"}}, 3, "ab"},
		{"on stderr", "^oh$", []part{{TypeStdout, "a"}, {TypeStderr, "oh\n"}}, 2, "oh"},
		{"bytes that are no text", "^x$", out("\xff\nx\n"), 1, "x"},
		{"the end of a very long line", "needle", out(strings.Repeat("h", maxMatchLine), strings.Repeat("h", maxMatchLine), "need", "le"), 4, ""},
		{"none", "never", out("a\nb\n"), 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := newMatcher(tt.pattern, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range tt.parts {
				m.feed(Event{Seq: uint64(i + 1), Type: p.stream, Data: NewOutputData([]byte(p.text)).Raw()})
				if m.found != nil {
					break
				}
			}
			if tt.seq == 0 {
				if m.found != nil {
					t.Errorf("found %+v", *m.found)
				}
				return
			}
			if m.found == nil || m.found.Seq != tt.seq {
				t.Fatalf("found %+v, want it at %d", m.found, tt.seq)
			}
			if tt.line != "" && m.found.Line != tt.line {
				t.Errorf("the line is %q, want %q", m.found.Line, tt.line)
			}
		})
	}
}

func TestPatternsThatCannotBeUsedAreRefused(t *testing.T) {
	for _, p := range []string{"(", "a(?=b)", strings.Repeat("a", maxPattern+1)} {
		if err := CheckPattern(p); CodeOf(err) != CodeInvalidArgument {
			t.Errorf("%.20q: %v", p, err)
		}
	}
}

func TestTextFilterGivesOnEveryCutWhatTheWholeGives(t *testing.T) {
	r := NewRedactor([]string{"correct-horse-battery"})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"text\n", "correct-", "horse", "-battery", "Bearer abcdef0123456789", "\xff\xfe", "ghp_"})).Draw(t, "parts")
		whole := strings.Join(parts, "")
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
	})
}
