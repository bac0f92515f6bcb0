package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// outputObject is the output of a process since a cursor.
type outputObject struct {
	Text      string `json:"text"`
	From      uint64 `json:"from"` // seq of the first event of it
	To        uint64 `json:"to"`
	Truncated bool   `json:"truncated,omitempty"`
}

// addOutput adds the output since a cursor: the newest, if it is larger than a
// window.
func (c *call) addOutput(o *processObject, after uint64) {
	events := c.readOutput(o.ProcessID, after, windowEvents, windowBytes)
	out := &outputObject{From: after, To: after}
	if n := len(events); n > 0 {
		out.From, out.To = events[0].Seq, events[n-1].Seq
	}
	gone := len(events) > 0 && len(events) == windowEvents
	o.Output = out
	o.shrink = append(o.shrink, outputSlot{out, gone, longText{plainOutput(events), func(int) string {
		return fmt.Sprintf("replay {id: %q, after: %d}", o.ProcessID, after)
	}}})
}

// outputSlot is the output in a reply.
type outputSlot struct {
	dst  *outputObject
	gone bool // the window did not reach to the beginning
	src  longText
}

func (s outputSlot) apply(max int) {
	text, offset := s.src.truncate(max)
	s.dst.Text, s.dst.Truncated = text, s.gone || offset > 0
}

// addTail adds the last lines of the output.
func (c *call) addTail(o *processObject) {
	if o.StdoutBytes+o.StderrBytes == 0 {
		return
	}
	o.Tail = lastLines(plainOutput(c.readOutput(o.ProcessID, 0, tailEvents, tailRead)))
}

// readOutput reads the newest output of a process after a cursor.
func (c *call) readOutput(id string, after uint64, events, bytes int) []core.Event {
	page, err := c.h.Replay(c.ctx, c.caller.Owner, core.ReplayRequest{
		ID: id, After: after, Tail: events, Limit: events, MaxBytes: bytes, Types: []core.EventType{core.TypeStdout, core.TypeStderr},
	})
	if err != nil {
		if !core.IsContext(err) {
			c.opts.Logger.Warn("reading the output of a process failed", slog.String("process", id), slog.Any("error", err))
		}
		return nil
	}
	return page.Events
}

// plainOutput returns output as a terminal would show it: both streams in
// order, without escape sequences, and of a line that was overwritten the last
// state.
func plainOutput(events []core.Event) string {
	streams := map[core.EventType]*redact.EscapeStripper{core.TypeStdout: {}, core.TypeStderr: {}}
	var out []byte
	for _, e := range events {
		strip := streams[e.Type]
		var d core.OutputData
		if strip == nil || json.Unmarshal(e.Data, &d) != nil {
			continue
		}
		out = append(out, strip.Strip(d.Bytes())...)
	}
	out = bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n"))
	lines := strings.Split(strings.ToValidUTF8(string(out), "\uFFFD"), "\n")
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\r")
		lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

// lastLines returns the last tailLines lines of a text, at most tailBytes.
func lastLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	text = strings.Join(lines[max(0, len(lines)-tailLines):], "")
	return text[runeCeil(text, len(text)-tailBytes):]
}
