package core

import "unicode/utf8"

// Truncate shortens s to at most max bytes, on a character border.
func Truncate(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// PieceBytes is how much of a long text is looked through at a time, in bytes.
const PieceBytes = 64 << 10

// FirstPiece gives the beginning of a text, up to between two characters.
func FirstPiece(text string) string {
	if piece := Truncate(text, PieceBytes); piece != "" {
		return piece
	}
	return text[:PieceBytes] // no character begins in here
}
