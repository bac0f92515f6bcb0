package process

import (
	"bytes"
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// streamRead is the result of one read of a stream. The last one of a stream has end
// set.
type streamRead struct {
	stream core.EventType
	data   []byte
	at     time.Time
	end    bool
}

// outputEvent is a stdout or stderr event that is ready to be stored.
type outputEvent struct {
	stream core.EventType
	at     time.Time
	data   json.RawMessage
	total  int64 // bytes of the stream up to and with this event, as read
}

// readStream is a goroutine that sends what it reads of a stream to reads until the
// stream ends or has settled, and then
// discards what other processes write. The buffer grows from minRead to
// maxOutputEvent, so that a process with little output costs little memory.
func readStream(o *output, stream core.EventType, reads chan<- streamRead) {
	size := minRead
	for {
		b := make([]byte, size)
		n, err := o.Read(b)
		if n > 0 {
			reads <- streamRead{stream: stream, data: b[:n], at: time.Now()}
		}
		if err != nil {
			reads <- streamRead{stream: stream, at: time.Now(), end: true}
			if err != io.EOF {
				o.discard()
			}
			return
		}
		if n == size {
			size = min(2*size, maxOutputEvent)
		}
	}
}

// outputAssembler makes events of what was read of both streams, in order of
// arrival. Text that follows within eventQuiet is joined, up to maxOutputEvent bytes
// and eventMaxDelay. An event ends at a line end where there is one, else between
// characters. Secrets are replaced in each stream as a whole: text that may be the
// beginning of one (mostly a letter or two) is held until more follows, without a
// time limit.
type outputAssembler struct {
	filters map[core.EventType]*redact.TextFilter
	held    map[core.EventType][]byte // the beginning of a character
	total   map[core.EventType]int64
	out     chan<- outputEvent

	stream core.EventType // of what is pending
	text   []byte         // pending
	first  time.Time      // when the first of it was read
}

func newOutputAssembler(r *redact.Redactor, out chan<- outputEvent) *outputAssembler {
	return &outputAssembler{
		filters: map[core.EventType]*redact.TextFilter{core.TypeStdout: r.TextFilter(), core.TypeStderr: r.TextFilter()},
		held:    map[core.EventType][]byte{}, total: map[core.EventType]int64{}, out: out,
	}
}

// run is a goroutine that assembles events until both streams have ended, and then
// closes out. It blocks while out is full, which stops the readers and so the process.
func (a *outputAssembler) run(reads <-chan streamRead) {
	defer close(a.out)
	timer := time.NewTimer(eventQuiet)
	timer.Stop()
	for open := 2; open > 0; {
		select {
		case p := <-reads:
			a.add(p)
			if p.end {
				open--
			}
			timer.Stop()
			if len(a.text) > 0 {
				timer.Reset(min(eventQuiet, max(0, eventMaxDelay-time.Since(a.first))))
			}
		case <-timer.C:
			a.flush()
		}
	}
}

func (a *outputAssembler) add(p streamRead) {
	if p.stream != a.stream {
		a.flush()
		a.stream, a.text = p.stream, append(a.text[:0], a.held[p.stream]...)
		a.held[p.stream] = nil
	}
	if len(a.text) == 0 {
		a.first = p.at
	}
	a.total[p.stream] += int64(len(p.data))
	if p.end {
		a.text = append(a.text, a.filters[p.stream].Flush()...)
		for len(a.text) > maxOutputEvent {
			a.cut()
		}
		a.emit(len(a.text), p.at)
		return
	}
	a.text = append(a.text, a.filters[p.stream].Write(p.data)...)
	for len(a.text) >= maxOutputEvent {
		a.cut()
		a.first = p.at
	}
}

// cut emits the first part of what is pending, at most maxOutputEvent bytes.
func (a *outputAssembler) cut() {
	n := bytes.LastIndexByte(a.text[:maxOutputEvent], '\n') + 1
	if n == 0 {
		n = maxOutputEvent - unfinished(a.text[:maxOutputEvent])
	}
	a.emit(n, time.Now())
}

// flush emits what is pending, except the beginning of a character, which is held
// until the rest of it is read.
func (a *outputAssembler) flush() {
	n := unfinished(a.text)
	if k := len(a.text) - n; k > 0 {
		a.emit(k, a.first)
	}
	a.held[a.stream] = bytes.Clone(a.text)
	a.text, a.stream = a.text[:0], ""
}

func (a *outputAssembler) emit(n int, at time.Time) {
	if n == 0 {
		return
	}
	data := core.NewOutputData(a.text[:n]).Raw()
	a.text = append(a.text[:0], a.text[n:]...)
	total := a.total[a.stream] - int64(len(a.text)+a.filters[a.stream].Held())
	a.out <- outputEvent{stream: a.stream, at: at, data: data, total: total}
}

// unfinished returns the length of the part of a character that b ends in the middle of.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
