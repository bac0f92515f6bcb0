package core

import "unicode/utf8"

// Truncate returns s shortened to at most max bytes, on a character border.
func Truncate(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// Short returns s shortened to at most max bytes, on a character border, with
// three dots in place of what was cut.
func Short(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const dots = "..."
	return Truncate(s, max-len(dots)) + dots
}

// firstOf returns the first of ss that is not empty.
// PieceBytes is how much of a long text is looked through at a time, in bytes.
const PieceBytes = 64 << 10

// FirstPiece gives the beginning of a text, up to between two characters.
func FirstPiece(text string) string {
	if piece := Truncate(text, PieceBytes); piece != "" {
		return piece
	}
	return text[:PieceBytes] // no character begins in here
}
