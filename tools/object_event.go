package tools

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// eventObject is an event as callers read it. ID, SchemaVersion, Resource and
// Provider are filled in the views events and raw; Raw in the view raw.
type eventObject struct {
	Seq           uint64          `json:"seq"`
	SeqFirst      uint64          `json:"seq_first,omitempty"`
	Type          core.EventType  `json:"type"`
	At            *time.Time      `json:"at,omitempty"`
	TurnID        string          `json:"turn_id,omitempty"`
	RequestID     string          `json:"request_id,omitempty"`
	ID            string          `json:"id,omitempty"`
	SchemaVersion int             `json:"schema_version,omitempty"`
	Resource      string          `json:"resource,omitempty"`
	Provider      string          `json:"provider,omitempty"`
	Truncated     bool            `json:"truncated,omitempty"`
	Bytes         int             `json:"bytes,omitempty"` // of the whole data, if it is truncated
	Data          json.RawMessage `json:"data"`
	Raw           json.RawMessage `json:"raw,omitempty"`

	request *requestObject // the request of a request_created
	merged  *mergedEvent   // set when Data is to be written from several events
}

func (c *call) event(e core.Event) *eventObject {
	o := &eventObject{Seq: e.Seq, Type: e.Type, At: utc(e.At), TurnID: e.TurnID, RequestID: e.RequestID, Data: e.Data}
	switch {
	case len(o.Data) == 0:
		o.Data = json.RawMessage("{}")
	case e.Type == core.RequestCreated:
		// The object of a request, without the server's own fields.
		var d struct {
			Request *core.Request `json:"request"`
		}
		if json.Unmarshal(e.Data, &d) == nil && d.Request != nil {
			o.request = c.request(*d.Request)
			o.Data = encode(map[string]any{"request": o.request})
		}
	}
	return o
}

// addEnvelope sets the fields of the views events and raw.
func (o *eventObject) addEnvelope(e core.Event, raw bool) *eventObject {
	o.ID, o.SchemaVersion, o.Resource, o.Provider = e.ID, e.SchemaVersion, e.Resource, e.Provider
	if raw {
		o.Raw = e.Raw
	}
	return o
}

// nameOnly removes the content of a provider's own frame, which only the views
// events and raw show.
func (o *eventObject) nameOnly() {
	if o.Type != core.TypeProviderEvent {
		return
	}
	var e core.ProviderEvent
	if json.Unmarshal(o.Data, &e) != nil || len(e.Data) == 0 {
		return
	}
	o.Bytes = len(o.Data)
	e.Data = nil
	o.Data = encode(e)
}

// truncate makes an event fit into max bytes. Long strings in its data keep
// their beginning and end; data without one is replaced by the beginning of its
// JSON.
func (o *eventObject) truncate(max int) {
	if len(encode(o)) <= max {
		return
	}
	whole := *o
	o.Truncated, o.Bytes = true, len(whole.Data)+len(whole.Raw)
	more := func(int) string {
		first := whole.Seq
		if whole.SeqFirst > 0 { // of the merged events
			first = whole.SeqFirst
		}
		return fmt.Sprintf("replay {id, after: %d, limit: 1, max_bytes: %d}", first-1, maxBudget)
	}
	slots := []slot{jsonSlot{dst: &o.Data, src: whole.Data, more: more}}
	if len(whole.Raw) > 0 {
		slots = append(slots, jsonSlot{dst: &o.Raw, src: whole.Raw, more: more})
	}
	if len(fit(slots, max, func() []byte { return encode(o) })) <= max {
		return
	}
	o.Raw = nil // many small values: the beginning of the data is the most useful
	preview := ""
	fit([]slot{textSlot{dst: &preview, src: longText{string(whole.Data), more}}}, max, func() []byte {
		o.Data = encode(map[string]string{"preview": preview})
		return encode(o)
	})
}

// jsonSlot is a JSON value in which long strings are truncated.
type jsonSlot struct {
	dst  *json.RawMessage
	src  json.RawMessage
	more func(int) string
}

func (s jsonSlot) apply(max int) {
	*s.dst = s.src
	if len(s.src) <= max {
		return
	}
	var v any
	if json.Unmarshal(s.src, &v) != nil {
		return
	}
	*s.dst = encode(truncateStrings(v, max, s.more))
}

func truncateStrings(v any, max int, more func(int) string) any {
	switch v := v.(type) {
	case string:
		text, _ := longText{v, more}.truncate(max)
		return text
	case []any:
		for i := range v {
			v[i] = truncateStrings(v[i], max, more)
		}
	case map[string]any:
		for k := range v {
			if text, ok := v[k].(string); ok && k == "base64" {
				v[k] = text[:min(len(text), max/4*4)] // the beginning, which can be decoded
				continue
			}
			v[k] = truncateStrings(v[k], max, more)
		}
	}
	return v
}
