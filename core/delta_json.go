package core

import (
	"encoding/json"
	"sync"
	"unicode/utf8"
)

// Nearly all events are deltas. Their two strings need no reflection: this
// gives the bytes of json.Marshal in a third of its time.

// pieceKeep is the largest buffer that is kept for the next delta.
const pieceKeep = 64 << 10

var pieceBuf = sync.Pool{New: func() any { return new([]byte) }}

// deltaJSON gives the JSON of a payload that is a piece of an item. It is not
// ok for any other, and where a text has what is seldom in one.
func deltaJSON(v any) (b json.RawMessage, ok bool) {
	switch p := v.(type) {
	case MessageDelta:
		return pieceJSON(p.Item, p.Text)
	case ReasoningDelta:
		return pieceJSON(p.Item, p.Text)
	case ToolDelta:
		return pieceJSON(p.Item, p.Text)
	case CommandOutputDelta:
		return pieceJSON(p.Item, p.Text)
	}
	return nil, false
}

func pieceJSON(item, text string) (json.RawMessage, bool) {
	buf := pieceBuf.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= pieceKeep {
			pieceBuf.Put(buf)
		}
	}()
	b, ok := appendQuoted(append((*buf)[:0], `{"item":`...), item)
	if ok {
		b, ok = appendQuoted(append(b, `,"text":`...), text)
	}
	*buf = append(b, '}')
	if !ok {
		return nil, false
	}
	return append(json.RawMessage(nil), *buf...), true
}

// appendQuoted appends a string as json.Marshal spells it. It is not ok when
// the string is no UTF-8, or has a control character or line break of the kind
// that json.Marshal spells as a number.
func appendQuoted(b []byte, s string) ([]byte, bool) {
	b = append(b, '"')
	kept := 0 // s[kept:i] is to be appended as it is
	for i := 0; i < len(s); {
		for len(s)-i >= 8 && plain8(s[i:]) {
			i += 8
		}
		if i == len(s) {
			break
		}
		c := s[i]
		esc := spelling[c]
		switch {
		case esc == "":
			i++
		case esc != notASCII:
			b = append(append(b, s[kept:i]...), esc...)
			i++
			kept = i
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if size < 2 || r == '\u2028' || r == '\u2029' {
				return b, false
			}
			i += size
		}
	}
	return append(append(b, s[kept:]...), '"'), true
}

// plain8 says whether the first eight bytes are spelled as they are. Most text
// is such bytes, and one after another they would take three times as long.
func plain8(s string) bool {
	w := load8(s)
	quotes := (w | 0x04*eachByte) ^ '&'*eachByte // zero where there is " or &
	angles := (w | 0x02*eachByte) ^ '>'*eachByte // zero where there is < or >
	slash := w ^ '\\'*eachByte
	return (w|belowBlank(w)|zeroByte(quotes)|zeroByte(angles)|zeroByte(slash))&highBits == 0
}

// Eight bytes of a text, looked at together. What the functions give has bits
// of highBits just when one of the bytes is meant; bytes beyond ASCII are not.
const (
	eachByte = 0x0101010101010101
	highBits = 0x80 * eachByte
)

func belowBlank(w uint64) uint64 { return (w - 0x20*eachByte) &^ w }
func zeroByte(w uint64) uint64   { return (w - eachByte) &^ w }

// load8 is one load, of the first eight bytes.
func load8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// notASCII stands for a byte that says nothing by itself.
const notASCII = "?"

// spelling is how json.Marshal spells a byte of a string, "" for as it is.
var spelling = func() (t [256]string) {
	for c := range t {
		if c < 0x20 || c >= utf8.RuneSelf {
			t[c] = notASCII
		}
	}
	for c, s := range map[byte]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
		'<': `\u003c`, '>': `\u003e`, '&': `\u0026`} {
		t[c] = s
	}
	return t
}()
