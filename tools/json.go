package tools

import (
	"bytes"
	"encoding/json"
	"math"
)

// readMembers decodes an object, or a string that holds the JSON text of one.
// Empty input and null are the empty object.
func readMembers(raw json.RawMessage) (map[string]json.RawMessage, error) {
	raw = unquoted(raw)
	if len(bytes.TrimSpace(raw)) == 0 || isNull(raw) {
		return nil, nil
	}
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	return m, err
}

// unquoted returns the text of a JSON string if it is itself valid JSON, else
// raw unchanged.
func unquoted(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) == nil && !isNull(raw) && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return raw
}

// text returns a JSON string's text, or a number or boolean as it is written. It
// reports whether raw is one of these.
func text(raw json.RawMessage) (string, bool) {
	switch kindOf(raw) {
	case "a string":
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	case "a number", "a boolean":
		return string(bytes.TrimSpace(raw)), json.Valid(raw)
	}
	return "", false
}

// wholeNumber decodes a whole number: 5, 5.0 and 5e0 are equal.
func wholeNumber(raw json.RawMessage) (int64, bool) {
	var n int64
	if json.Unmarshal(raw, &n) == nil && !isNull(raw) {
		return n, true
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || isNull(raw) || math.Abs(f) > exactFloat || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// exactFloat is the largest whole number up to which a float64 holds every one.
const exactFloat = 1 << 53

// isHuge reports whether a JSON value is a number that wholeNumber cannot read
// for its size.
func isHuge(raw json.RawMessage) bool {
	var n json.Number
	if kindOf(raw) != "a number" || json.Unmarshal(raw, &n) != nil {
		return false
	}
	f, _ := n.Float64() // infinite if it is out of range
	return math.Abs(f) > exactFloat
}

// canonical rewrites a JSON value so that equal values are equal bytes.
func canonical(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // numbers keep all their digits
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	return encode(v)
}

// MarshalJSON returns equal bytes for equal objects: a rawObject is encoded
// only to compare arguments.
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

// encode is json.Marshal without HTML escapes, which cost tokens and are harder
// to read. Values of this package always encode.
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

// MarshalJSON returns the bytes unchanged.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func encodeMap(m map[string]string) json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return encode(m)
}

// jsonString returns a JSON string's text, "" for any other value.
func jsonString(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// intOr returns *p, otherwise if p is nil.
func intOr(p *int64, otherwise int64) int64 {
	if p == nil {
		return otherwise
	}
	return *p
}
