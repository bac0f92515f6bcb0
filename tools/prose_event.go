package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// proseEvent returns an event of the text half of a replay.
func proseEvent(o *eventObject, view string) string {
	head := fmt.Sprintf("%d ", o.Seq)
	if o.SeqFirst > 0 {
		head = fmt.Sprintf("%d-%d ", o.SeqFirst, o.Seq)
	}
	switch view {
	case viewSummary:
		var d struct{ Summary string }
		_ = json.Unmarshal(o.Data, &d)
		return head + d.Summary
	case viewEvents, viewRaw:
		return string(encode(o))
	}
	if o.At != nil {
		head += o.At.Format(time.TimeOnly) + " "
	}
	if o.request != nil {
		return head + string(o.Type) + ":\n" + o.request.proseContent()
	}
	return head + string(o.Type) + proseData(o)
}

// proseData returns the data of an event: its text as text, anything else as
// JSON.
func proseData(o *eventObject) string {
	var d map[string]json.RawMessage
	if json.Unmarshal(o.Data, &d) != nil || len(d) == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(d["text"], &text) != nil || d["text"] == nil {
		return " " + string(o.Data)
	}
	delete(d, "text")
	delete(d, "item")
	if len(d) > 0 {
		text = string(encode(d)) + " " + text
	}
	if strings.Contains(text, "\n") {
		return ":\n" + strings.TrimRight(text, "\n")
	}
	return ": " + text
}
