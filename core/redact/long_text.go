package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
)

// boundText is String for a text of any length: of a text beyond
// MaxText the middle is cut out, so that no later copy is longer. It is looked
// through piece by piece, all of it, since a secret may begin before what is
// kept.
func (r *Redactor) boundText(s string) string {
	if len(s) <= core.MaxText {
		return r.String(s)
	}
	f := r.TextFilter()
	m := newMiddle()
	f.long(s, m)
	m.write(f.Flush())
	return m.String()
}

// writeLong is write for a text of any length.
func (f *TextFilter) writeLong(text string) string {
	if len(text) <= core.MaxText {
		return f.write(text, false)
	}
	m := newMiddle()
	f.long(text, m)
	return m.String()
}

// long filters text in pieces of core.FirstPiece and writes the results to m, so
// that no copy of the whole text is made.
func (f *TextFilter) long(text string, m *middle) {
	for len(text) > 0 {
		piece := core.FirstPiece(text)
		m.write(f.write(piece, false))
		text = text[len(piece):]
	}
}

// boundJSON is JSON for a value of any length: one beyond MaxText is kept as a
// frame is.
func (r *Redactor) boundJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) > core.MaxText {
		return r.boundFrame(raw)
	}
	return r.JSON(raw)
}

// middle takes a text in pieces and returns it whole when it is at most MaxText
// long, else its beginning and its end with a mark of what is missing between,
// in characters and never in halves of them.
type middle struct {
	head strings.Builder
	tail []byte
	full bool // head has all that it takes
	cut  int  // bytes between the two
}

// half is how long each of the two parts is at most; the tail grows by slack
// before it is cut, since the rest moves then.
const (
	half  = core.MaxText / 2
	slack = core.MaxText / 8
)

// newMiddle returns an empty middle. It allocates its full capacity at once.
func newMiddle() *middle {
	m := &middle{tail: make([]byte, 0, half+slack+2*core.PieceBytes)}
	m.head.Grow(half)
	return m
}

// write adds s, a piece of at most core.PieceBytes or the rest of a filter. The
// head is filled first and then never changes.
func (m *middle) write(s string) {
	if !m.full {
		if m.head.Len()+len(s) <= half {
			m.head.WriteString(s)
			return
		}
		m.full = true
		begin := core.Truncate(s, half-m.head.Len())
		m.head.WriteString(begin)
		s = s[len(begin):]
	}
	m.tail = append(m.tail, s...)
	if len(m.tail) > half+slack {
		m.drop()
	}
}

// drop leaves the last half of the tail.
func (m *middle) drop() {
	n := len(m.tail) - half
	for n < len(m.tail) && !utf8.RuneStart(m.tail[n]) {
		n++
	}
	m.cut += n
	m.tail = m.tail[:copy(m.tail, m.tail[n:])]
}

// String returns the text.
func (m *middle) String() string {
	if len(m.tail) > half {
		m.drop()
	}
	if m.cut == 0 {
		return m.head.String() + string(m.tail)
	}
	return m.head.String() + fmt.Sprintf("\n[... %d bytes are not kept ...]\n", m.cut) + string(m.tail)
}
