package ndjson

// Part is a member of a line, as it stands there: json.RawMessage without the
// copy, which for a long line costs as much as the line. It is valid as long as
// the line is, keeps all of the line in memory, and is not to be changed.
//
// A decoder is told to expect that what UnmarshalJSON is given is good for the
// call alone. json.Unmarshal, though, gives pieces of the slice that it was
// called with, and Part is for that one only, never for a json.Decoder.
type Part []byte

// UnmarshalJSON takes the piece.
func (p *Part) UnmarshalJSON(b []byte) error {
	*p = b[:len(b):len(b)]
	return nil
}
