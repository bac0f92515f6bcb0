package ndjson

// Part is a member of a line, as it stands there: json.RawMessage without the
// copy, which for a long line costs as much as the line. It is valid as long as
// the line is, keeps all of the line in memory, and is not to be changed.
//
// The contract of UnmarshalJSON is that its argument is valid for the call only.
// json.Unmarshal, though, passes pieces of the slice that it was called with. Part
// is for json.Unmarshal only, never for a json.Decoder.
type Part []byte

// UnmarshalJSON keeps b without a copy.
func (p *Part) UnmarshalJSON(b []byte) error {
	*p = b[:len(b):len(b)]
	return nil
}
