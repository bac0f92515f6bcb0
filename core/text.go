package core

import "unicode/utf8"

// PieceBytes is how much of a long text is encoded or redacted at a time, in
// bytes.
const PieceBytes = 64 << 10

// FirstPiece returns the beginning of a text that is longer than PieceBytes: at most
// that many bytes, and no part of a character.
func FirstPiece(text string) string {
	if piece := Truncate(text, PieceBytes); piece != "" {
		return piece
	}
	return text[:PieceBytes] // no character begins in here
}

// Truncate returns the beginning of s: at most max bytes, and no part of a character.
func Truncate(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// firstOf returns the first string that is not empty, or "".
