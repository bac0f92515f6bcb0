package core

import "encoding/json"

// EncodeData returns the JSON of an event's data. A value that cannot be encoded is
// a bug of this program; its event is stored with the error in its place.
func EncodeData(v any) json.RawMessage {
	if b := encodeLong(v); b != nil {
		return b
	}
	b, err := json.Marshal(v)
	if err != nil { // a payload of ours that does not marshal is a bug; its event still gets its place
		b, _ = json.Marshal(map[string]string{"marshal_error": err.Error()})
	}
	return b
}

// LongPayload is how long a text of an event is at least that is encoded piece
// by piece: the encoder's buffer grows in steps, which allocates several times the
// text.
const LongPayload = 1 << 20

// encodeLong returns the JSON of a payload that is little else than a long text,
// nil for any other.
func encodeLong(v any) json.RawMessage {
	if item, text, ok := DeltaParts(v); ok {
		return longText(item, text, false)
	}
	switch p := v.(type) {
	case Message:
		return longText(p.Item, p.Text, p.Partial)
	case Reasoning:
		return longText(p.Item, p.Text, p.Partial)
	}
	return nil
}

func longText(item, text string, partial bool) json.RawMessage {
	if len(text) < LongPayload {
		return nil
	}
	b := make([]byte, 0, len(text)+len(text)/16+6*len(item)+64)
	b = append(append(b, `{"item":`...), EncodeData(item)...)
	b = append(b, `,"text":"`...)
	for len(text) > 0 {
		piece := FirstPiece(text)
		q := EncodeData(piece)
		b = append(b, q[1:len(q)-1]...)
		text = text[len(piece):]
	}
	b = append(b, '"')
	if partial {
		b = append(b, `,"partial":true`...)
	}
	return append(b, '}')
}

// TruncatedFrame returns what replaces a frame that is too long to be kept.
func TruncatedFrame(bytes int, head string) json.RawMessage {
	return EncodeData(map[string]any{"truncated": true, "bytes": bytes, "head": head})
}

// JsonFrame returns a frame as JSON of about MaxRaw bytes at most: as it is, as a
// string when it is not JSON, or its beginning, marked as truncated.
func JsonFrame(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil
	case len(raw) > MaxRaw:
		return TruncatedFrame(len(raw), Truncate(string(raw[:MaxRaw+1]), MaxRaw))
	case !json.Valid(raw):
		return EncodeData(string(raw))
	}
	return raw
}
