package ndjson

import "encoding/json"

// Quote returns the beginning of a line that is no message as a JSON string, so
// that it can be kept where messages are.
func Quote(line []byte) json.RawMessage {
	raw, err := json.Marshal(string(line[:min(len(line), maxQuote)]))
	if err != nil { // a string always encodes
		return nil
	}
	return raw
}
