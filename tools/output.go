package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Bounds of the output that a process's object shows.
const (
	tailLines  = 20
	tailBytes  = 2 << 10
	tailEvents = 64       // read at most for a tail
	tailRead   = 32 << 10 // bytes read at most for a tail
)

// outputObject is what a process said since a cursor.
type outputObject struct {
	Text      string `json:"text"`
	From      uint64 `json:"from"` // seq of the first event of it
	To        uint64 `json:"to"`
	Truncated bool   `json:"truncated,omitempty"`
}

// settling says how long a call waits for a process that it has started or
// written to.
type settling struct {
	pattern string
	after   uint64
	wait    time.Duration
	step    bool // of a dialogue: the caller knows the process well by now
}

// settleProcess waits until a process ends or its output matches, and makes its
// object with the output since. Whatever happens to the wait, the process has
// been started or written to: so this never fails, it shows what is known.
func (c *call) settleProcess(ctx context.Context, p core.ProcessSnapshot, s settling) *processObject {
	r := core.Resource{Kind: core.KindProcess, ID: p.ID, Process: &p}
	looked := false
	if s.wait > 0 || s.pattern != "" {
		res, err := c.h.Await(ctx, c.caller, core.AwaitRequest{
			IDs: []string{p.ID}, Wait: s.wait, Pattern: s.pattern, After: s.after, Progress: c.sayResources,
		})
		switch {
		case err == nil && len(res.Results) == 1 && res.Results[0].Process != nil:
			r, looked = res.Results[0], true
		case err != nil && !core.IsContext(err):
			c.opts.Logger.Warn("waiting for a process failed", slog.String("process", p.ID), slog.Any("error", err))
		}
		c.now = time.Now()
	}
	o := c.processObject(r)
	if looked {
		o.look(s.pattern, s.after)
	}
	silent := o.Status.Ended() && o.StdoutBytes+o.StderrBytes == 0
	if !silent && (s.wait > 0 || s.pattern != "" || s.after > 0) {
		c.addOutput(o, s.after)
	}
	if s.step {
		o.shorten()
	}
	c.afterProcess(o)
	return o
}

// processReply makes the object of a process with its last lines.
func (c *call) processReply(r core.Resource) *processObject {
	o := c.processObject(r)
	since, ok := c.given["after"].(*int64)
	if c.tool == "await" {
		after := uint64(0)
		if ok {
			after = uint64(*since)
		}
		o.look(c.given.word("pattern"), after)
	}
	if ok && c.tool == "await" {
		c.addOutput(o, uint64(*since))
	} else {
		c.addTail(o)
	}
	c.afterProcess(o)
	return o
}

func (c *call) processObject(r core.Resource) *processObject {
	o := c.process(*r.Process)
	if m := r.Matched; m != nil {
		o.Matched = &matchObject{Seq: m.Seq, Stream: m.Stream, Line: m.Line}
	}
	return o
}

func (c *call) afterProcess(o *processObject) {
	if o.Status.Ended() {
		o.suggestOutput()
		if o.Leftover > 0 {
			o.suggest("close", "ends what it left running", args{"id": o.ProcessID})
		}
		return
	}
	if o.Matched != nil {
		from := o.Matched.Seq
		if o.Output != nil {
			from = max(from, o.Output.To)
		}
		o.suggest("replay", "what it says from here on", args{"id": o.ProcessID, "after": from})
	}
	if o.Unmatched {
		o.suggestLooking()
	}
	if o.step && len(o.Next) > 0 {
		return
	}
	if !o.Unmatched {
		o.suggest("await", "waits for its end", args{"ids": []string{o.ProcessID}})
	}
	o.suggestOutput()
	o.suggest("close", "stops it", args{"id": o.ProcessID})
}

// suggestOutput adds the call that shows more of the output than the reply
// does: its last lines, or all of it when they are there. A replay's tail is
// none of both: it counts events, which have any number of lines.
func (o *processObject) suggestOutput() {
	written := o.StdoutBytes + o.StderrBytes
	switch {
	case o.Output != nil:
	case o.Tail == "" && (written > 0 || !o.Status.Ended()):
		o.suggest("inspect", "its last lines", args{"id": o.ProcessID})
	case written > int64(len(o.Tail)):
		o.suggest("replay", "all of its output", args{"id": o.ProcessID, "types": []string{string(core.TypeStdout), string(core.TypeStderr)}})
	}
}

// suggestLooking adds the call that goes on looking for a pattern, from where
// this one began: what has come of an unfinished line is part of the line.
func (o *processObject) suggestLooking() {
	a := args{"ids": []string{o.ProcessID}, "pattern": o.pattern}
	if o.after > 0 {
		a["after"] = o.after
	}
	o.suggest("await", "goes on looking for it", a)
}

// addOutput shows what came since a cursor, the newest if it is very much.
func (c *call) addOutput(o *processObject, after uint64) {
	events := c.output(o.ProcessID, after, windowEvents, windowBytes)
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

// outputSlot is the output that a reply shows.
type outputSlot struct {
	dst  *outputObject
	gone bool // the window did not reach to the beginning
	src  longText
}

func (s outputSlot) apply(max int) {
	text, offset := s.src.cut(max)
	s.dst.Text, s.dst.Truncated = text, s.gone || offset > 0
}

// addTail shows the last lines.
func (c *call) addTail(o *processObject) {
	if o.StdoutBytes+o.StderrBytes == 0 {
		return
	}
	o.Tail = lastLines(plainOutput(c.output(o.ProcessID, 0, tailEvents, tailRead)))
}

// output reads the newest output of a process behind a cursor.
func (c *call) output(id string, after uint64, events, bytes int) []core.Event {
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

// plainOutput is output as a person would see it: both streams as they came,
// without escape sequences, and of a line that was overwritten the last state.
func plainOutput(events []core.Event) string {
	streams := map[core.EventType]*core.Escapes{core.TypeStdout: {}, core.TypeStderr: {}}
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

// lastLines gives the last tailLines lines of a text, at most tailBytes.
func lastLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	text = strings.Join(lines[max(0, len(lines)-tailLines):], "")
	return text[afterBorder(text, len(text)-tailBytes):]
}
