package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

// processObject is a managed process as callers read it.
type processObject struct {
	Object    string             `json:"object"`
	ProcessID string             `json:"process_id"`
	Status    core.ProcessStatus `json:"status"`
	Reason    core.Reason        `json:"reason,omitempty"`
	ExitCode  *int               `json:"exit_code,omitempty"`
	Signal    string             `json:"signal,omitempty"`
	nexts
	Title       string          `json:"title,omitempty"`
	Executable  string          `json:"executable"`
	Argv        []string        `json:"argv"`
	CWD         string          `json:"cwd"`
	PID         int             `json:"pid,omitempty"`
	StdoutBytes int64           `json:"stdout_bytes"`
	StderrBytes int64           `json:"stderr_bytes"`
	Leftover    int             `json:"leftover,omitempty"`
	Durability  core.Durability `json:"durability"`
	Error       *turnError      `json:"error,omitempty"`
	ElapsedMS   int64           `json:"elapsed_ms"`
	StartedAt   *time.Time      `json:"started_at,omitempty"`
	FinishedAt  *time.Time      `json:"finished_at,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Cursor      uint64          `json:"cursor"`
	Matched     *matchObject    `json:"matched,omitempty"`
	Unmatched   bool            `json:"unmatched,omitempty"` // no line matched the pattern of the call
	Output      *outputObject   `json:"output,omitempty"`
	Tail        string          `json:"tail,omitempty"`

	shrink       []slot
	pattern      string // of the call, "" for none
	after        uint64 // the cursor from which it is searched
	dialogueStep bool   // shown in short form
}

// matchObject is where an awaited pattern was found.
type matchObject struct {
	Seq    uint64         `json:"seq"`
	Stream core.EventType `json:"stream"`
	Line   string         `json:"line"`
}

func (c *call) process(p core.ProcessSnapshot) *processObject {
	o := &processObject{
		Object: "process", ProcessID: p.ID, Status: p.Status, Reason: p.Reason, ExitCode: p.ExitCode, Signal: p.Signal,
		Title: clip(p.Title, maxErrorText), Executable: p.Executable, Argv: append([]string{}, p.Argv...), CWD: p.CWD,
		PID: p.PID, StdoutBytes: p.StdoutBytes, StderrBytes: p.StderrBytes, Leftover: p.Leftover, Durability: p.Durability,
		StartedAt: utc(p.StartedAt), FinishedAt: utc(p.FinishedAt), Cursor: p.LastSeq,
	}
	until := p.FinishedAt
	if !p.Status.Ended() {
		until = c.now
	}
	o.ElapsedMS = elapsedMS(p.StartedAt, until)
	l := slotList{more: c.wholeObject(p.ID)}
	for i := range o.Argv {
		l.text(&o.Argv[i], p.Argv[i])
	}
	if p.Error != nil {
		o.Error = l.turnError(&core.TurnError{Code: p.Error.Code, Message: shortenDirs(p.Error.Message)})
	}
	l.raw(&o.Metadata, encodeMap(p.Metadata))
	o.shrink = l.slots
	return o
}

// setPattern records the pattern of the call, and whether no line matched it.
func (o *processObject) setPattern(pattern string, after uint64) {
	o.pattern, o.after = pattern, after
	o.Unmatched = pattern != "" && o.Matched == nil
}

// shorten removes from one step of a dialogue what no step changes.
func (o *processObject) shorten() {
	o.dialogueStep = true
	o.Title, o.PID, o.StartedAt, o.Metadata = "", 0, nil, nil
	o.shrink = slices.DeleteFunc(o.shrink, func(s slot) bool {
		raw, ok := s.(rawSlot)
		return ok && raw.dst == &o.Metadata
	})
}

func (o *processObject) slots() []slot { return o.shrink }

func (o *processObject) links() []mcp.ResourceLink { return nil }

func (o *processObject) stateLine() string {
	s := fmt.Sprintf("%s %s", o.ProcessID, o.Status)
	if o.ExitCode != nil {
		s += fmt.Sprintf(" with code %d", *o.ExitCode)
	}
	if o.Signal != "" {
		s += " by " + o.Signal
	}
	if o.Reason != "" {
		s += fmt.Sprintf(" (%s)", o.Reason)
	}
	s = fmt.Sprintf("%s%s; %d bytes on stdout, %d on stderr, ", s, proseEnd(o.ElapsedMS, true, o.Reason), o.StdoutBytes, o.StderrBytes)
	if o.dialogueStep && o.Output != nil {
		// Cursor is where the step began; this is the end of the shown output.
		s += fmt.Sprintf("read up to %d.", o.Output.To)
	} else {
		s += fmt.Sprintf("cursor %d.", o.Cursor)
	}
	if o.Leftover > 0 {
		s += fmt.Sprintf(" It left %s running, which close ends.", proseCount(o.Leftover, "other"))
	}
	return s
}

func (o *processObject) prose() prose {
	p := o.proseHead()
	if o.Matched != nil {
		p.lines = append(p.lines, fmt.Sprintf("matched on %s at %d: %s", o.Matched.Stream, o.Matched.Seq, oneLine(o.Matched.Line, maxWarning)))
	}
	if o.Unmatched {
		p.lines = append(p.lines, proseUnmatched(o.pattern))
	}
	switch {
	case o.Output != nil:
		p.content = o.Output.Text
	case o.Tail != "":
		p.content = o.Tail
	}
	return p
}

// proseUnmatched returns that no line matched a pattern.
func proseUnmatched(pattern string) string {
	return fmt.Sprintf("no line matched %q", clip(pattern, maxShownValue))
}

func (o *processObject) proseHead() prose {
	p := prose{lines: []string{o.stateLine()}}
	if !o.dialogueStep {
		p.lines = append(p.lines, clip("command: "+strings.Join(append([]string{o.Executable}, o.Argv...), " "), maxWarning)+" in "+o.CWD)
	}
	if o.Error != nil {
		p.lines = append(p.lines, fmt.Sprintf("%s: %s", o.Error.Code, oneLine(o.Error.Message, maxWarning)))
	}
	return p
}

// processReply makes the object of a process with its last lines.
func (c *call) processReply(r core.Resource) *processObject {
	o := c.processObject(r)
	since, ok := c.given["after"].(*int64)
	if c.tool == "await" {
		o.setPattern(c.given.word("pattern"), uint64(intOr(since, 0)))
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
