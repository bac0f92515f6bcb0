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
// by piece: the encoder's buffer grows in steps, and leaves several times the
// text behind.
const LongPayload = 1 << 20

// encodeLong gives the JSON of a payload that is little else than a long text,
// nil for any other.
func encodeLong(v any) json.RawMessage {
	switch p := v.(type) {
	case MessageDelta:
		return longText(p.Item, p.Text, false)
	case Message:
		return longText(p.Item, p.Text, p.Partial)
	case ReasoningDelta:
		return longText(p.Item, p.Text, false)
	case Reasoning:
		return longText(p.Item, p.Text, p.Partial)
	case ToolDelta:
		return longText(p.Item, p.Text, false)
	case CommandOutputDelta:
		return longText(p.Item, p.Text, false)
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

// TruncatedFrame is what stands for a frame that is too long to be kept.
func TruncatedFrame(bytes int, head string) json.RawMessage {
	return EncodeData(map[string]any{"truncated": true, "bytes": bytes, "head": head})
}
