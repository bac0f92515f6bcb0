package core

import "encoding/json"

// EncodeData returns an event's data as JSON. Long texts and deltas, of which there
// are most, have encoders of their own.
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

// TruncatedFrame is what stands for a frame that is too long to be kept.
func TruncatedFrame(bytes int, head string) json.RawMessage {
	return EncodeData(map[string]any{"truncated": true, "bytes": bytes, "head": head})
}
