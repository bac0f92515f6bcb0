package redact

import "unicode/utf8"

// EscapeStripper removes terminal control sequences from a stream of output: colours,
// cursor moves, titles, and control characters that print nothing. Line ends,
// carriage returns, tabs and all text stay. A sequence may be cut anywhere
// between two pieces. The zero value is at the beginning of a stream.
type EscapeStripper struct {
	state escState
	n     int // bytes of the running sequence
}

type escState byte

const (
	escNone   escState = iota
	escBegun           // behind ESC
	escCSI             // ESC [ : parameters up to a final byte
	escString          // ESC ] P X ^ _ : up to BEL or ESC \
	escEnd             // ESC inside of such a string
	escOne             // ESC ( and the like: one more byte
)

// MaxEscape is the longest sequence that is removed, in bytes. What is longer is
// text after a lone ESC.
const MaxEscape = 4096

// Strip returns the next piece of a stream without its control sequences.
func (e *EscapeStripper) Strip(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for _, c := range p {
		switch {
		case e.hides(c):
		case c != '\b':
			out = append(out, c)
		case len(out) > 0 && out[len(out)-1] != '\n':
			_, n := utf8.DecodeLastRune(out)
			out = out[:len(out)-n]
		}
	}
	return out
}

// hides reads the next byte and reports whether it is not shown. A backspace is
// not hidden: it acts on the text.
func (e *EscapeStripper) hides(c byte) bool {
	if e.state == escNone {
		if c == 0x1b {
			e.state, e.n = escBegun, 0
		}
		return c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\b' || c == 0x7f
	}
	if e.n++; e.n > MaxEscape {
		e.state = escNone
		return true
	}
	e.next(c)
	return true
}

// next reads one byte of a sequence.
func (e *EscapeStripper) next(c byte) {
	switch e.state {
	case escBegun:
		switch c {
		case '[':
			e.state = escCSI
		case ']', 'P', 'X', '^', '_':
			e.state = escString
		case '(', ')', '*', '+', '-', '.', '/', '#', ' ', '%':
			e.state = escOne
		case 0x1b:
		default:
			e.state = escNone
		}
	case escCSI:
		if c >= 0x40 && c <= 0x7e {
			e.state = escNone
		}
	case escString:
		switch c {
		case 0x07:
			e.state = escNone
		case 0x1b:
			e.state = escEnd
		}
	case escEnd:
		if c == '\\' || c == 0x07 {
			e.state = escNone
		} else {
			e.state = escString
		}
	case escOne:
		e.state = escNone
	}
}
