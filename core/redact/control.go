package redact

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Plain returns s as text that a terminal only prints: control characters, C0
// and C1, are spelled like \u001b, but for line ends and tabs. In JSON it changes
// nothing but the spelling of such characters.
func Plain(s string) string {
	at := controlAt(s)
	if at == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for at < len(s) {
		b.WriteString(s[:at])
		r, n := utf8.DecodeRuneInString(s[at:])
		switch {
		case strings.HasPrefix(s[at:], "\r\n"):
		case r == utf8.RuneError: // a lone byte of C1 in text that is not UTF-8
			fmt.Fprintf(&b, `\u%04x`, s[at])
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[at+n:]
		at = controlAt(s)
	}
	b.WriteString(s)
	return b.String()
}

// controlAt returns the index of the first control character of s, or len(s).
func controlAt(s string) int {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= ' ' && c < 0x7f, c == '\n', c == '\t':
		case c < utf8.RuneSelf:
			return i
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r >= 0x80 && r < 0xa0 || r == utf8.RuneError && n == 1 && c < 0xa0 {
				return i
			}
			i += n - 1
		}
	}
	return len(s)
}
