package ndjson

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

func TestOutboxWritesLinesInOrderAndReportsThem(t *testing.T) {
	r, w := io.Pipe()
	o := NewOutbox(w, Limits{10, 1000})
	wrote := make(chan string, 2)
	for _, s := range []string{"a", "b"} {
		if err := o.Add(map[string]string{"x": s}, func() { wrote <- s }); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, len("{\"x\":\"a\"}\n"))
	for _, want := range []string{"a", "b"} {
		if _, err := io.ReadFull(r, buf); err != nil || string(buf) != `{"x":"`+want+"\"}\n" {
			t.Errorf("read %q, %v", buf, err)
		}
		if got := <-wrote; got != want {
			t.Errorf("%s was written, want %s", got, want)
		}
	}
	o.Close()
	<-o.Done()
	if err := o.Add(1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestOutboxRefusesWhatAStalledPipeCannotTake(t *testing.T) {
	cases := map[string]Limits{"by count": {1, 1000}, "by bytes": {10, 20}}
	for name, limits := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				o := NewOutbox(w, limits)
				if err := o.Add(strings.Repeat("x", 30), nil); err != nil {
					t.Errorf("a large line alone: %v", err)
				}
				synctest.Wait() // it is being written
				_ = o.Add("y", nil)
				if err := o.Add("z", nil); !errors.Is(err, ErrFull) {
					t.Errorf("beyond the limit: %v", err)
				}
				_ = r.CloseWithError(errors.New("broken"))
				<-o.Done()
				if err := o.Add("late", nil); !errors.Is(err, ErrClosed) {
					t.Errorf("on a broken pipe: %v", err)
				}
			})
		})
	}
}

func TestOutboxReportsNoLineThatIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		o := NewOutbox(w, Limits{10, 1000})
		for range 2 {
			if err := o.Add("x", func() { t.Error("it was written") }); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait() // the first is being written
		o.Close()
		_ = r.Close()
		<-o.Done()
	})
}

func TestQuoteKeepsTheBeginningOfALineAsAString(t *testing.T) {
	if got := string(Quote([]byte("say \"hi\"\x00"))); got != `"say \"hi\"\u0000"` {
		t.Error(got)
	}
	if got := len(Quote(make([]byte, 2*maxQuote))); got != len(`"`)*2+maxQuote*len(`\u0000`) {
		t.Error(got)
	}
}
