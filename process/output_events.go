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

// streamRead is what one read of one stream gave. The last of a stream has end.
type streamRead struct {
	stream core.EventType
	data   []byte
	at     time.Time
	end    bool
}

// outputEvent is an event of output that is ready to be stored.
type outputEvent struct {
	stream core.EventType
	at     time.Time
	data   json.RawMessage
	total  int64 // bytes of the stream up to and with this chunk, as read
}

// readStream reads a stream into pieces until it ends or has settled, and then
// discards what others write. The buffer grows with what is read, so that the
// many processes that say little cost little.
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
// arrival. What follows within chunkQuiet joins, up to maxChunk and for at most
// chunkHold; a cut falls on a line end where there is one, else between
// characters. Secrets are taken out of each stream as a whole: what may be the
// beginning of one (mostly a letter or two) waits for what follows it, however
// long that takes.
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

// run ends, and closes out, when both streams have.
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

// cut emits the first part of what is pending, at most maxChunk of it.
func (a *outputAssembler) cut() {
	n := bytes.LastIndexByte(a.text[:maxOutputEvent], '\n') + 1
	if n == 0 {
		n = maxOutputEvent - unfinished(a.text[:maxOutputEvent])
	}
	a.emit(n, time.Now())
}

// flush emits what is pending but for the beginning of a character, which
// waits for the rest of it.
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

// unfinished is the length of the character that b ends in the middle of.
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
