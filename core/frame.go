package core

import (
	"encoding/json"
	"fmt"
)

// boundRaw keeps a notice's provider frame within MaxRaw, or drops it.
func boundRaw(n Notice, drop bool) Notice {
	fit := func(raw json.RawMessage) json.RawMessage {
		if drop {
			return nil
		}
		return rawJSON(raw)
	}
	same := n
	switch n := n.(type) {
	case OpDone:
		n.Raw = fit(n.Raw)
		return n
	case TurnBegan:
		n.Raw = fit(n.Raw)
		return n
	case Content:
		if len(n.Raw) == 0 {
			return same // nearly all have none, and what is given anew is garbage of every event
		}
		n.Raw = fit(n.Raw)
		return n
	case RequestRaised:
		n.Raw = fit(n.Raw)
		return n
	case RequestWithdrawn:
		n.Raw = fit(n.Raw)
		return n
	case TurnEnded:
		n.Raw = fit(n.Raw)
		return n
	case SessionChanged:
		n.Raw = fit(n.Raw)
		return n
	}
	return n
}

// long says whether a notice brings more than is kept of it: in the frame that
// it came with, or in a text that the adapter gathered.
func long(n Notice) bool {
	var raw, text int
	switch n := n.(type) {
	case Content:
		raw = len(n.Raw)
		switch p := n.Payload.(type) {
		case Message:
			text = len(p.Text)
		case Reasoning:
			text = len(p.Text)
		case ToolCompleted:
			text = len(p.Output)
		}
	case RequestRaised:
		raw = len(n.Raw)
	case TurnEnded:
		raw, text = len(n.Raw), len(n.Result.Text)
	}
	return max(raw, text) > MaxText
}

// rawJSON gives a frame as JSON that is at most about MaxRaw long: as it is, as
// a string when it is not JSON, or cut and marked.
func rawJSON(raw []byte) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil
	case len(raw) > MaxRaw:
		return cutFrame(len(raw), cut(string(raw[:MaxRaw+1]), MaxRaw))
	case !json.Valid(raw):
		return marshal(string(raw))
	}
	return raw
}

// withLate adds to an event's data the turn that it came too late for.
func withLate(data json.RawMessage, turn string) json.RawMessage {
	id := marshal(turn)
	if len(data) < 2 || data[0] != '{' {
		return json.RawMessage(fmt.Sprintf(`{"late_turn_id":%s,"value":%s}`, id, data))
	}
	if string(data) == "{}" {
		return json.RawMessage(fmt.Sprintf(`{"late_turn_id":%s}`, id))
	}
	return json.RawMessage(fmt.Sprintf(`{"late_turn_id":%s,%s`, id, data[1:]))
}
