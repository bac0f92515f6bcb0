package conntest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf16"

	"github.com/harness-mcp/harness-mcp/core"
)

// Brief shows a notice as one line without its raw frame, for golden files and
// for messages of failed tests.
func Brief(n core.Notice) string {
	switch n := n.(type) {
	case core.Content:
		if e, ok := n.Payload.(core.ProviderEvent); ok {
			e.Data = nil
			n.Payload = e
		}
		return fmt.Sprintf("[%s] %s %s", n.Turn, n.Payload.EventType(), JSON(n.Payload))
	case core.OpDone:
		return fmt.Sprintf("op %d done ref=%s err=%s", n.Op, n.Ref, JSON(n.Err))
	case core.TurnBegan:
		return fmt.Sprintf("[%s] began ref=%s", n.Turn, n.Ref)
	case core.TurnEnded:
		return fmt.Sprintf("[%s] ended %s %s", n.Turn, n.Verdict, given(n.Result))
	case core.RequestRaised:
		return fmt.Sprintf("[%s] request %s %s", n.Turn, n.Ref, JSON(n.Spec))
	case core.RequestWithdrawn:
		return "request withdrawn " + n.Ref
	case core.SessionChanged:
		n.Raw = nil
		return "session " + JSON(n)
	}
	return fmt.Sprintf("%T", n)
}

// JSON is a value as JSON in ASCII, which is what golden files are written in,
// or why it is not.
func JSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(string(raw))) {
		if unit < 128 {
			b.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}

// given returns a struct as JSON without its zero fields, so that a new
// field changes no golden file.
func given(v any) string {
	fields := map[string]any{}
	r := reflect.ValueOf(v)
	for i := range r.NumField() {
		if f := r.Field(i); !f.IsZero() {
			fields[r.Type().Field(i).Name] = f.Interface()
		}
	}
	return JSON(fields)
}
