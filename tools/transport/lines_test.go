package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func TestLinesOfEveryLengthAreRead(t *testing.T) {
	const limit = 3 * readBuffer
	lengths := []int{0, 1, readBuffer - 2, readBuffer - 1, readBuffer, readBuffer + 1, limit - 2, limit - 1}
	var in bytes.Buffer
	for _, n := range lengths {
		fmt.Fprintf(&in, "%s\n%s\n", strings.Repeat("a", n), strings.Repeat("b", limit))
	}
	in.WriteString("last")
	r := newLineReader(&in, limit)
	for _, n := range lengths {
		line, err := r.next()
		if err != nil || len(line) != n+1 {
			t.Fatalf("line of %d bytes: %d bytes, %v", n, len(line), err)
		}
		if _, err := r.next(); err != errLineTooLong {
			t.Fatalf("line after it: %v, want it refused", err)
		}
	}
	if line, err := r.next(); string(line) != "last" || err != io.EOF {
		t.Errorf("last line: %q, %v", line, err)
	}
}

func TestALongLastLineIsRefusedThenTheInputEnds(t *testing.T) {
	r := newLineReader(strings.NewReader(strings.Repeat("a", 100)), 10)
	if _, err := r.next(); err != errLineTooLong {
		t.Fatalf("first: %v", err)
	}
	if line, err := r.next(); len(line) != 0 || err != io.EOF {
		t.Errorf("then: %q, %v", line, err)
	}
}

// gatedWriter is an output whose writes wait to be let through one by one.
type gatedWriter struct {
	let    chan struct{}
	writes []string
}

func (w *gatedWriter) Write(p []byte) (int, error) {
	<-w.let
	w.writes = append(w.writes, string(p))
	return len(p), nil
}

func TestMessagesLeaveInOrderAndThoseThatQueueUpLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{let: make(chan struct{})}
		l := newLineWriter(w)
		var group sync.WaitGroup
		for i := range 5 {
			group.Go(func() {
				if err := l.send(i); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		w.let <- struct{}{}
		w.let <- struct{}{}
		group.Wait()
		if got := fmt.Sprintf("%q", w.writes); got != `["0\n" "1\n2\n3\n4\n"]` {
			t.Errorf("writes: %s", got)
		}
	})
}

func TestWritersWaitWhileTheClientDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{let: make(chan struct{})}
		l := newLineWriter(w)
		const each = maxUnwritten / 4
		message := json.RawMessage(`"` + strings.Repeat("m", each) + `"`)
		var group sync.WaitGroup
		for range 40 {
			group.Go(func() {
				if err := l.send(message); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		l.mu.Lock()
		held := len(l.pending)
		l.mu.Unlock()
		if held > maxUnwritten+2*each {
			t.Errorf("%d bytes wait to be written, the bound is about %d", held, maxUnwritten)
		}
		close(w.let)
		group.Wait()
		l.waitWritten(abandonAfter)
		total := 0
		for _, s := range w.writes {
			total += strings.Count(s, "\n")
		}
		if total != 40 {
			t.Errorf("%d of 40 messages were written", total)
		}
	})
}

func TestWaitWrittenIsBoundedForAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{let: make(chan struct{})}
		l := newLineWriter(w)
		go func() { _ = l.send(1) }()
		synctest.Wait()
		l.waitWritten(abandonAfter)
		close(w.let)
	})
}

func TestAMessageWithoutJSONFormLeavesNothingBehind(t *testing.T) {
	var out bytes.Buffer
	l := newLineWriter(&out)
	var bad *unencodable
	if err := l.send(map[string]any{"f": func() {}}); !errors.As(err, &bad) {
		t.Errorf("send: %v", err)
	}
	if out.Len() != 0 {
		t.Errorf("written: %q", out.String())
	}
}
