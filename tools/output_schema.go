package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Output schemas are open and require nothing, so that an error conforms too.
// They name what a client may want to show or follow.
var (
	turnOutput    = output("turn_id session_id status cursor text error", "pending_requests", "next")
	requestOutput = output("request_id turn_id session_id status kind resolution turn error", "next")
	sessionOutput = output("session_id status cursor current_turn last_turn error", "pending_requests", "next")
	awaitOutput   = output("outcome error", "results", "waiting_on", "next")
	processOutput = output("process_id status cursor exit_code signal matched output tail error", "next")
	replayOutput  = output("cursor more available_from error", "events", "next")
	listOutput    = output("next_page error", "items", "next")
	pruneOutput   = output("error", "pruned", "next")
	providersOut  = output("error", "providers", "next")
	objectOutput  = output("object session_id turn_id request_id process_id status cursor next_offset error", "next")
)

// outputTypes are the types of the fields of outputs; all others are strings.
var outputTypes = map[string]string{
	"exit_code": "integer", "matched": "object", "output": "object",
	"cursor": "integer", "available_from": "integer", "next_offset": "integer", "more": "boolean", "error": "object",
	"turn": "object", "current_turn": "object", "last_turn": "object", "resolution": "object",
}

// output makes an output schema: plain fields, then lists of objects or, for
// waiting_on and pruned, of strings.
func output(fields string, lists ...string) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	for i, name := range strings.Fields(fields) {
		if i > 0 {
			b.WriteByte(',')
		}
		kind := outputTypes[name]
		if kind == "" {
			kind = "string"
		}
		fmt.Fprintf(&b, `%q:{"type":%q}`, name, kind)
	}
	for _, name := range lists {
		kind := "object"
		if name == "waiting_on" || name == "pruned" {
			kind = "string"
		}
		fmt.Fprintf(&b, `,%q:{"type":"array","items":{"type":%q}}`, name, kind)
	}
	b.WriteString(`}}`)
	return b.Bytes()
}
