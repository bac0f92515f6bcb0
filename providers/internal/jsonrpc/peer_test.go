package jsonrpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns a peer and the other side's ends of its pipes.
func pair(t *testing.T, opts Options) (p *Peer, lines *bufio.Scanner, say func(string)) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p = NewPeer(inR, outW, opts)
	t.Cleanup(func() {
		p.Close()
		_ = outR.Close()
		_ = inW.Close()
		<-p.Done()
	})
	say = func(line string) {
		go func() { _, _ = io.WriteString(inW, line+"\n") }()
	}
	return p, bufio.NewScanner(outR), say
}

func read(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatal("no line")
	}
	return lines.Text()
}

func TestResponsesFindTheirCallsAndRequestsKeepTheirIDs(t *testing.T) {
	p, lines, say := pair(t, Options{})
	if err := p.Call("one", map[string]int{"a": 1}, "first", nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Call("two", nil, "second", nil); err != nil {
		t.Fatal(err)
	}
	if got := read(t, lines) + read(t, lines); got != `{"id":1,"method":"one","params":{"a":1}}{"id":2,"method":"two"}` {
		t.Fatal(got)
	}
	// The other side's request has an id that is open on our side too.
	say(`{"id":2,"method":"ask","params":{}}`)
	m, err := p.Recv()
	if err != nil || m.Kind != Request || m.Call != nil {
		t.Fatalf("%+v, %v", m, err)
	}
	if err := p.Reply(m.ID, map[string]bool{"ok": true}, nil); err != nil {
		t.Fatal(err)
	}
	if got := read(t, lines); got != `{"id":2,"result":{"ok":true}}` {
		t.Fatal(got)
	}
	say(`{"id":2,"error":{"code":-1,"message":"no"}}`)
	if m, _ = p.Recv(); m.Kind != Response || m.Call == nil || m.Call.Tag != "second" || m.Error == nil {
		t.Fatalf("%+v", m)
	}
	say(`{"id":1,"result":null}`)
	if m, _ = p.Recv(); m.Call == nil || m.Call.Tag != "first" || m.Error != nil {
		t.Fatalf("%+v", m)
	}
	say(`{"id":1,"result":{}}`)
	if m, _ = p.Recv(); m.Kind != Response || m.Call != nil {
		t.Fatalf("a second response found a call: %+v", m)
	}
	say(`{"id":"a-b","method":"ask"}`)
	m, _ = p.Recv()
	if err := p.Refuse(m.ID, CodeMethodNotFound, "what?"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, lines); got != `{"id":"a-b","error":{"code":-32601,"message":"what?"}}` {
		t.Fatal(got)
	}
}

func TestDecodeReportsWhatAFrameIs(t *testing.T) {
	kinds := map[string]Kind{
		`{"method":"m"}`:                   Notification,
		`{"method":"m","id":null}`:         Notification,
		`{"method":"m","id":"x"}`:          Request,
		`{"id":1,"result":null}`:           Response,
		`{"id":1,"error":{"message":"x"}}`: Response,
		`{"id":1}`:                         Invalid,
		`{}`:                               Invalid,
		`[1]`:                              Invalid,
		`"x"`:                              Invalid,
		`{"method":1}`:                     Invalid,
		`{"method":"m"`:                    Invalid,
		`garbage`:                          Invalid,
	}
	for line, want := range kinds {
		if got := decode([]byte(line)); got.Kind != want {
			t.Errorf("%s is %v, want %v", line, got.Kind, want)
		}
	}
}

func TestVersionIsWrittenWhereItIsWanted(t *testing.T) {
	p, lines, _ := pair(t, Options{Version: "2.0"})
	if err := p.Notify("hello", json.RawMessage(`{"x":"<"}`), nil); err != nil {
		t.Fatal(err)
	}
	if got := read(t, lines); got != `{"jsonrpc":"2.0","method":"hello","params":{"x":"<"}}` {
		t.Fatal(got)
	}
}

func TestSendingNeverWaitsAndTheOutboxIsBounded(t *testing.T) {
	p, _, _ := pair(t, Options{}) // nobody reads
	var err error
	n := 0
	for ; err == nil && n < 3*ndjson.DefaultLimits.Lines; n++ {
		err = p.Notify("n", nil, nil)
	}
	if !errors.Is(err, ndjson.ErrFull) || n > ndjson.DefaultLimits.Lines+2 {
		t.Fatalf("after %d frames: %v", n, err)
	}
}

func TestOutboxIsBoundedInBytes(t *testing.T) {
	p, _, _ := pair(t, Options{})
	big := json.RawMessage(`"` + strings.Repeat("x", ndjson.DefaultLimits.Bytes/2) + `"`)
	if err := p.Notify("n", big, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Notify("n", big, nil); !errors.Is(err, ndjson.ErrFull) {
		t.Fatal(err)
	}
}

func TestWrittenIsCalledWhenTheFrameIsInThePipe(t *testing.T) {
	p, lines, _ := pair(t, Options{})
	heard := make(chan string, 3)
	tell := func(what string) func() { return func() { heard <- what } }
	for _, err := range []error{
		p.Notify("n", nil, tell("notification")),
		p.Call("c", nil, nil, tell("call")),
		p.Reply(json.RawMessage("1"), nil, tell("reply")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"notification", "call", "reply"} {
		read(t, lines)
		if got := <-heard; got != want {
			t.Errorf("the %s was written, want the %s", got, want)
		}
	}
}

func TestABrokenPipeClosesThePeer(t *testing.T) {
	in, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := NewPeer(in, outW, Options{})
	_ = outR.CloseWithError(errors.New("broken"))
	if err := p.Reply(json.RawMessage("1"), nil, func() { t.Error("a frame went into a broken pipe") }); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if err := p.Notify("n", nil, nil); !errors.Is(err, ndjson.ErrClosed) {
		t.Fatal(err)
	}
	p.Close()
	_ = inW.Close()
	if _, err := p.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

func TestCallsWithoutResponseAreBounded(t *testing.T) {
	p := NewPeer(strings.NewReader(""), io.Discard, Options{})
	defer func() { p.Close(); <-p.Done() }()
	for i := 0; ; i++ {
		err := p.Call("m", nil, nil, nil)
		switch {
		case errors.Is(err, ndjson.ErrFull): // the writer is behind
		case errors.Is(err, ErrTooMany):
			return
		case err != nil || i > 100*maxCalls:
			t.Fatal(i, err)
		}
	}
}

func FuzzDecodeGivesBackWhatItWasGiven(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"m","params":{}}`))
	f.Add([]byte(`{"id":"x","result":[]}`))
	f.Add([]byte(`{"id":1,"error":{"code":1,"message":"m"}}`))
	f.Add([]byte(`nonsense`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m := decode(line)
		if m.Kind == Invalid {
			if !bytes.Equal(m.Line, line) || m.Raw != nil {
				t.Fatalf("%+v", m)
			}
			return
		}
		if !json.Valid(m.Raw) {
			t.Fatalf("kept an invalid frame: %q", m.Raw)
		}
		if d := cmp.Diff(line, []byte(m.Raw)); d != "" {
			t.Fatal(d)
		}
	})
}
