package ndjson

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func readAll(r *Reader) (lines []string, err error) {
	for {
		line, err := r.Next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(line))
	}
}

func TestReaderReturnsTheLinesHoweverTheyArrive(t *testing.T) {
	long := strings.Repeat("x", 3*bufferSize)
	in := "{\"a\":1}\n\n  \r\n{\"b\":2}\r\n" + long + "\nlast"
	want := []string{`{"a":1}`, `{"b":2}`, long, "last"}
	sources := map[string]io.Reader{
		"at once":       strings.NewReader(in),
		"byte by byte":  iotest.OneByteReader(strings.NewReader(in)),
		"data with EOF": iotest.DataErrReader(strings.NewReader(in)),
	}
	for name, source := range sources {
		got, err := readAll(NewReader(source, 0))
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: ended with %v", name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestReaderRefusesALineBeyondTheLimitAndNamesTheSize(t *testing.T) {
	r := NewReader(strings.NewReader("12345678\n123456789\nnext\n"), 8)
	if line, err := r.Next(); err != nil || string(line) != "12345678" {
		t.Fatalf("a line of the limit: %q, %v", line, err)
	}
	for range 2 {
		_, err := r.Next()
		var long *TooLongError
		if !errors.As(err, &long) || long.Limit != 8 || !strings.Contains(err.Error(), "limit 8") {
			t.Fatalf("got %v", err)
		}
	}
}

func TestReaderStopsReadingAtTheLimit(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("{"), neverEnding{})
	_, err := NewReader(endless, 1<<20).Next()
	var long *TooLongError
	if !errors.As(err, &long) || long.Seen > 1<<20+bufferSize {
		t.Fatalf("got %v", err)
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReaderDropsHalfALineOfABrokenSource(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("{\"a\":1}\n{\"b\""), iotest.ErrReader(errors.New("broken")))
	got, err := readAll(NewReader(broken, 0))
	if err == nil || errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
	if d := cmp.Diff([]string{`{"a":1}`}, got); d != "" {
		t.Error(d)
	}
}

func TestEncodeReturnsOneLineWithPlainCharacters(t *testing.T) {
	got, err := Encode(map[string]string{"a": "<&>\n"})
	if err != nil || string(got) != "{\"a\":\"<&>\\n\"}\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Encode(make(chan int)); err == nil {
		t.Error("a channel was encoded")
	}
}

func FuzzReaderKeepsEveryByteOfEveryLine(f *testing.F) {
	f.Add("{\"a\":1}\n{\"b\":2}\n", 64)
	f.Add("\r\n\n x \n", 4)
	f.Add("123456789", 8)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		limit = 1 + max(0, limit)%4096
		lines, err := readAll(NewReader(iotest.HalfReader(strings.NewReader(in)), limit))
		var want []string
		tooLong := false
		for line := range strings.SplitSeq(in, "\n") {
			if len(strings.TrimRight(line, "\r")) > limit {
				tooLong = true
				break
			}
			if line = strings.TrimSpace(line); line != "" {
				want = append(want, line)
			}
		}
		if d := cmp.Diff(want, lines); d != "" {
			t.Fatal(d)
		}
		var long *TooLongError
		if tooLong != errors.As(err, &long) || !tooLong && !errors.Is(err, io.EOF) {
			t.Fatalf("too long %v, ended with %v", tooLong, err)
		}
	})
}
