package tools

import (
	"bytes"
	"encoding/json"
)

// readMembers reads an object, or the JSON text of one in a string. Nothing at
// all and null are the empty object.
func readMembers(raw json.RawMessage) (map[string]json.RawMessage, error) {
	raw = unquoted(raw)
	if len(bytes.TrimSpace(raw)) == 0 || isNull(raw) {
		return nil, nil
	}
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	return m, err
}

// unquoted gives the text of a JSON string, if that is JSON itself; anything
// else comes back as it is.
func unquoted(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) == nil && !isNull(raw) && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return raw
}

// wholeNumber reads 5, 5.0 and 5e0 alike.
func wholeNumber(raw json.RawMessage) (int64, bool) {
	var n int64
	if json.Unmarshal(raw, &n) == nil && !isNull(raw) {
		return n, true
	}
	var f float64
	const exact = 1 << 53
	if json.Unmarshal(raw, &f) != nil || isNull(raw) || f != float64(int64(f)) || f > exact || f < -exact {
		return 0, false
	}
	return int64(f), true
}

// canonical rewrites a JSON value so that equal values are equal bytes.
func canonical(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // a number keeps all its digits
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	return encode(v)
}

// MarshalJSON gives equal objects equal bytes: nothing but a comparison of
// arguments encodes a rawObject.
func (o rawObject) MarshalJSON() ([]byte, error) { return canonical(json.RawMessage(o)), nil }

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func kindOf(raw json.RawMessage) string {
	b := bytes.TrimSpace(raw)
	if len(b) == 0 {
		return "nothing"
	}
	switch b[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// encode is json.Marshal without the escapes that only a browser needs: they
// make text dearer and harder to read. Values of this package always encode.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("tools: encoding a reply: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// rawJSON is JSON that encodes as it is.
type rawJSON []byte

// MarshalJSON gives the bytes.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func encodeMap(m map[string]string) json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return encode(m)
}
