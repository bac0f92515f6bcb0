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

// piece is what one read of one stream gave. The last of a stream has end.
type piece struct {
	stream core.EventType
	data   []byte
	at     time.Time
	end    bool
}

// chunk is an event of output that is ready to be stored.
type chunk struct {
	stream core.EventType
	at     time.Time
	data   json.RawMessage
	total  int64 // bytes of the stream up to and with this chunk, as read
}

// pump reads a stream into pieces until it ends or has settled, and then
// discards what others write. The buffer grows with what is read, so that the
// many processes that say little cost little.
func pump(o *output, stream core.EventType, pieces chan<- piece) {
	size := minRead
	for {
		b := make([]byte, size)
		n, err := o.Read(b)
		if n > 0 {
			pieces <- piece{stream: stream, data: b[:n], at: time.Now()}
		}
		if err != nil {
			pieces <- piece{stream: stream, at: time.Now(), end: true}
			if err != io.EOF {
				o.discard()
			}
			return
		}
		if n == size {
			size = min(2*size, maxChunk)
		}
	}
}

// assembler makes events of what was read of both streams, in order of
// arrival. What follows within chunkQuiet joins, up to maxChunk and for at most
// chunkHold; a cut falls on a line end where there is one, else between
// characters. Secrets are taken out of each stream as a whole: what may be the
// beginning of one (mostly a letter or two) waits for what follows it, however
// long that takes.
type assembler struct {
	filters map[core.EventType]*redact.TextFilter
	held    map[core.EventType][]byte // the beginning of a character
	total   map[core.EventType]int64
	out     chan<- chunk

	stream core.EventType // of what is pending
	text   []byte         // pending
	first  time.Time      // when the first of it was read
}

func newAssembler(r *redact.Redactor, out chan<- chunk) *assembler {
	return &assembler{
		filters: map[core.EventType]*redact.TextFilter{core.TypeStdout: r.TextFilter(), core.TypeStderr: r.TextFilter()},
		held:    map[core.EventType][]byte{}, total: map[core.EventType]int64{}, out: out,
	}
}

// run ends, and closes out, when both streams have.
func (a *assembler) run(pieces <-chan piece) {
	defer close(a.out)
	timer := time.NewTimer(chunkQuiet)
	timer.Stop()
	for open := 2; open > 0; {
		select {
		case p := <-pieces:
			a.add(p)
			if p.end {
				open--
			}
			timer.Stop()
			if len(a.text) > 0 {
				timer.Reset(min(chunkQuiet, max(0, chunkHold-time.Since(a.first))))
			}
		case <-timer.C:
			a.flush()
		}
	}
}

func (a *assembler) add(p piece) {
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
		for len(a.text) > maxChunk {
			a.cut()
		}
		a.emit(len(a.text), p.at)
		return
	}
	a.text = append(a.text, a.filters[p.stream].Write(p.data)...)
	for len(a.text) >= maxChunk {
		a.cut()
		a.first = p.at
	}
}

// cut emits the first part of what is pending, at most maxChunk of it.
func (a *assembler) cut() {
	n := bytes.LastIndexByte(a.text[:maxChunk], '\n') + 1
	if n == 0 {
		n = maxChunk - unfinished(a.text[:maxChunk])
	}
	a.emit(n, time.Now())
}

// flush emits what is pending but for the beginning of a character, which
// waits for the rest of it.
func (a *assembler) flush() {
	n := unfinished(a.text)
	if k := len(a.text) - n; k > 0 {
		a.emit(k, a.first)
	}
	a.held[a.stream] = bytes.Clone(a.text)
	a.text, a.stream = a.text[:0], ""
}

func (a *assembler) emit(n int, at time.Time) {
	if n == 0 {
		return
	}
	data := core.NewOutputData(a.text[:n]).Raw()
	a.text = append(a.text[:0], a.text[n:]...)
	total := a.total[a.stream] - int64(len(a.text)+a.filters[a.stream].Held())
	a.out <- chunk{stream: a.stream, at: at, data: data, total: total}
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
