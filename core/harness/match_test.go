package harness

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
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
		{"a string without an end", "\x1b]0;" + strings.Repeat("x", redact.MaxEscape) + "yz", "xxyz"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e redact.EscapeStripper
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
		var one, many redact.EscapeStripper
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
		stream core.EventType
		text   string
	}
	out := func(texts ...string) (ps []part) {
		for _, s := range texts {
			ps = append(ps, part{core.TypeStdout, s})
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
		{"the streams apart", "^ab$", []part{{core.TypeStdout, "a"}, {core.TypeStderr, "x\n"}, {core.TypeStdout, "b\n"}}, 3, "ab"},
		{"on stderr", "^oh$", []part{{core.TypeStdout, "a"}, {core.TypeStderr, "oh\n"}}, 2, "oh"},
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
				feed(t, m, core.Event{Seq: uint64(i + 1), Type: p.stream, Data: core.NewOutputData([]byte(p.text)).Raw()})
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

// feed has a matcher read events to their end, as often as it wants.
func feed(t *testing.T, m *matcher, events ...core.Event) {
	t.Helper()
	read := func(_ context.Context, after uint64) (page []core.Event, _ error) {
		for _, e := range events {
			if e.Seq > after {
				page = append(page, e)
			}
		}
		return page, nil
	}
	for again := atOnce; again > 0; {
		var err error
		if again, err = m.read(t.Context(), read, events[len(events)-1].Seq, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

// stdout makes events of pieces of output.
func stdout(pieces ...string) (events []core.Event) {
	for i, p := range pieces {
		events = append(events, core.Event{Seq: uint64(i + 1), Type: core.TypeStdout, Data: core.NewOutputData([]byte(p)).Raw()})
	}
	return events
}

// costly is a pattern that is taken and needs very long on a long line.
var costly = "(?i)(.*a.*){" + strconv.Itoa(maxPatternSteps/8) + "}z"

func TestASearchEndsWithTheWaitInTheMiddleOfALine(t *testing.T) {
	m, err := newMatcher(costly, 0)
	if err != nil {
		t.Fatal(err)
	}
	events := stdout(strings.Repeat("ab", 4*maxMatchLine), "needle\n")
	read := func(_ context.Context, after uint64) ([]core.Event, error) { return events[after:], nil }
	began := time.Now()
	again, err := m.read(t.Context(), read, 2, began.Add(100*time.Millisecond))
	if d := time.Since(began); err != nil || again == 0 || d > 5*time.Second {
		t.Errorf("after %s: again in %s, %v", d, again, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began = time.Now()
	if again, err = m.read(ctx, read, 2, began.Add(time.Hour)); err != nil || again == 0 || time.Since(began) > 5*time.Second {
		t.Errorf("cancelled, after %s: again in %s, %v", time.Since(began), again, err)
	}
	m.pattern, m.steps = regexp.MustCompile("needle"), 10 // what was cut off is not lost
	if feed(t, m, events...); m.found == nil || m.found.Seq != 2 {
		t.Errorf("found %+v", m.found)
	}
}

func TestALongSearchComesInSlices(t *testing.T) {
	m, err := newMatcher("error|fail", 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Repeat("y\n", 32<<10)
	var pieces []string
	for range 64 {
		pieces = append(pieces, lines)
	}
	events := stdout(append(pieces, "fail\n")...)
	read := func(_ context.Context, after uint64) ([]core.Event, error) { return events[after : after+1], nil }
	began := time.Now()
	again, err := m.read(t.Context(), read, 65, began.Add(time.Hour))
	if err != nil || again == 0 || m.found != nil {
		t.Fatalf("after %s: again in %s, found %+v, %v", time.Since(began), again, m.found, err)
	}
	if feed(t, m, events...); m.found == nil || m.found.Seq != 65 {
		t.Errorf("found %+v", m.found)
	}
}

func TestAnUnfinishedLineIsNotLookedAtAgainAndAgain(t *testing.T) {
	m, err := newMatcher("nowhere$", 0)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	for range 4 * maxMatchLine / 64 {
		pieces = append(pieces, strings.Repeat("x", 64))
	}
	looked := 0
	for _, e := range stdout(pieces...) {
		m.split(e)
		for _, l := range m.lines {
			looked += len(l.text)
		}
		m.lines = nil
	}
	if limit := 10 * 4 * maxMatchLine; looked > limit {
		t.Errorf("%d bytes are looked at for %d, want at most %d", looked, 4*maxMatchLine, limit)
	}
}

// As long as more comes, a long unfinished line is looked at only now and then.
func TestALongUnfinishedLineRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := newMatcher("nowhere$", 0)
		if err != nil {
			t.Fatal(err)
		}
		events := stdout(strings.Repeat("x", 2*eagerLine), "x", "nowhere")
		read := func(_ context.Context, after uint64) ([]core.Event, error) { return events[after : after+1], nil }
		m.rests = time.Now().Add(time.Second)
		for seq := range uint64(3) {
			if again, err := m.read(t.Context(), read, seq+1, time.Now().Add(time.Hour)); again != time.Second || err != nil || m.found != nil {
				t.Fatalf("again in %s, %v, found %+v", again, err, m.found)
			}
			if m.searched(seq + 1) {
				t.Fatal("it was not looked at")
			}
		}
		time.Sleep(time.Second)
		if again, err := m.read(t.Context(), read, 3, time.Now().Add(time.Hour)); again != 0 || err != nil || m.found == nil || m.found.Seq != 3 {
			t.Fatalf("again in %s, %v, found %+v", again, err, m.found)
		}
	})
}

func TestALongPromptIsFoundWithoutALineEnd(t *testing.T) {
	m, err := newMatcher(`>>> $`, 0)
	if err != nil {
		t.Fatal(err)
	}
	feed(t, m, stdout(strings.Repeat("x", 3*eagerLine), "y", ">>", "> ")...)
	if m.found == nil || m.found.Seq != 4 {
		t.Errorf("found %+v", m.found)
	}
}

func TestNothingIsLostWhereALongLineIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, 3*maxMatchLine).Draw(t, "at")
		size := rapid.IntRange(1000, 2*maxMatchLine).Draw(t, "size")
		text := strings.Repeat("x", at) + "needle" + strings.Repeat("x", 3*maxMatchLine-at)
		m, err := newMatcher("needle", 0)
		if err != nil {
			t.Fatal(err)
		}
		for seq := uint64(1); len(text) > 0 && m.found == nil; seq++ {
			n := min(size, len(text))
			m.split(core.Event{Seq: seq, Type: core.TypeStdout, Data: core.NewOutputData([]byte(text[:n])).Raw()})
			text = text[n:]
		}
		for again := atOnce; again > 0; {
			if again, err = m.read(context.Background(), nil, 0, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if m.found == nil {
			t.Fatal("not found")
		}
	})
}

func TestSearchesOfOneOwnerTakeTurnsAndLeaveOthersAlone(t *testing.T) {
	var s locks
	bob, alice := key{owner: "bob"}, key{owner: "alice"}
	done, err := s.lock(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.lock(ctx, bob); err == nil {
		t.Error("two searches of one owner")
	}
	other, err := s.lock(ctx, alice) // a free turn is taken even when there is no time left
	if err != nil {
		t.Fatal("one owner waits for another")
	}
	next := make(chan func())
	for range 3 {
		go func() {
			unlock, err := s.lock(t.Context(), bob)
			if err != nil {
				t.Error(err)
			}
			next <- unlock
		}()
	}
	for range 3 {
		done()
		done = <-next
	}
	done()
	if other(); len(s.held) != 0 {
		t.Errorf("%d turns are left", len(s.held))
	}
}

func TestPatternsThatCannotBeUsedAreRefused(t *testing.T) {
	for _, p := range []string{"(", "a(?=b)", strings.Repeat("a", maxPattern+1), "(?i)(.*a.*){900}z", "((a{100}){100}){100}", `\pL{1000}\pL{1000}\pL{1000}`} {
		if err := CheckPattern(p); core.CodeOf(err) != core.CodeInvalidArgument {
			t.Errorf("%.20q: %v", p, err)
		}
	}
}

func TestTextFilterGivesOnEveryCutWhatTheWholeGives(t *testing.T) {
	r := redact.New([]string{"correct-horse-battery"})
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
