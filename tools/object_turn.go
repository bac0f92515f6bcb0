package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

// turnObject is a turn as callers read it. delegate and interrupt add a field
// of their own.
type turnObject struct {
	Object        string             `json:"object"`
	TurnID        string             `json:"turn_id"`
	SessionID     string             `json:"session_id"`
	Status        core.TurnStatus    `json:"status"`
	SessionStatus core.SessionStatus `json:"session_status,omitempty"`
	QueuedTurns   *int               `json:"queued_turns,omitempty"`
	nexts
	QueuePosition     int             `json:"queue_position,omitempty"`
	Origin            core.Origin     `json:"origin,omitempty"`
	PromptPreview     string          `json:"prompt_preview,omitempty"`
	Activity          string          `json:"activity,omitempty"`
	QuietMS           *int64          `json:"quiet_ms,omitempty"`
	ElapsedMS         int64           `json:"elapsed_ms"`
	StartedAt         *time.Time      `json:"started_at,omitempty"`
	FinishedAt        *time.Time      `json:"finished_at,omitempty"`
	StopReason        string          `json:"stop_reason,omitempty"`
	Reason            core.Reason     `json:"reason,omitempty"`
	PendingRequests   []any           `json:"pending_requests,omitempty"`       // *requestObject or requestRow
	PendingTotal      int             `json:"pending_requests_total,omitempty"` // when not all are listed
	Error             *turnError      `json:"error,omitempty"`
	Warnings          []string        `json:"warnings,omitempty"`
	Usage             *usageObject    `json:"usage,omitempty"`
	CostUSD           *float64        `json:"cost_usd,omitempty"`
	FilesChanged      []fileObject    `json:"files_changed,omitempty"`
	FilesTotal        int             `json:"files_changed_total,omitempty"` // when not all are listed
	StructuredOutput  json.RawMessage `json:"structured_output,omitempty"`
	StructuredError   string          `json:"structured_error,omitempty"`
	ProviderSessionID string          `json:"provider_session_id,omitempty"`
	Metadata          json.RawMessage `json:"metadata,omitempty"`
	Cursor            uint64          `json:"cursor"`
	TextBytes         int             `json:"text_bytes,omitempty"`
	Truncated         bool            `json:"truncated,omitempty"`
	Offset            *int            `json:"offset,omitempty"`
	NextOffset        int             `json:"next_offset,omitempty"`
	Text              string          `json:"text,omitempty"`

	text            longText // what Text shows, cut or whole
	shrink          []slot   // everything but Text
	files           []fileObject
	showsNextOffset bool // a cut text says where it goes on
	// sessionEnds says that the session is over, or closes by itself.
	sessionEnds bool
	truncatedAt int  // where the missing part of the text begins, 0 when none is missing
	repeatsText bool // the caller has most likely read the text: it is shown in short
	pageMax     int  // how long a page of the text may be
}

type turnError struct {
	Code     core.Code       `json:"code"`
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitempty"`
	Provider json.RawMessage `json:"provider,omitempty"`
}

// fileObject is a file that changed while the turn ran. Unreported is one that
// git shows and the agent did not report: a command of its own changed it, or
// somebody else. Those come last.
type fileObject struct {
	Path       string          `json:"path"`
	Kind       core.ChangeKind `json:"kind"`
	Unreported bool            `json:"unreported,omitempty"`
}

// usageObject is what a provider reported, never our guess.
type usageObject struct {
	core.Usage
	Source string `json:"source"`
}

func newUsage(u *core.Usage) *usageObject {
	if u == nil {
		return nil
	}
	return &usageObject{Usage: *u, Source: "reported"}
}

// turn makes a turn's object with its answer, when there is one, and with those
// of pending that belong to it.
func (c *call) turn(t core.Turn, pending []core.Request) *turnObject {
	o := &turnObject{
		Object: "turn", TurnID: t.ID, SessionID: t.SessionID, Status: t.Status,
		QueuePosition: t.QueuePosition, Origin: t.Origin, PromptPreview: firstRunes(t.PromptPreview, maxPreview),
		StartedAt: utc(t.StartedAt), FinishedAt: utc(t.FinishedAt),
		StopReason: clip(t.StopReason, maxWarning), Reason: t.Reason, Warnings: c.warnings(append(c.notes[:len(c.notes):len(c.notes)], t.Warnings...)),
		Usage: newUsage(t.Usage), CostUSD: t.CostUSD, ProviderSessionID: t.ProviderSessionID,
		Cursor: t.LastSeq,
	}
	c.setTimes(o, t)
	c.turnError(o, t)
	for _, f := range t.FilesChanged {
		o.files = append(o.files, fileObject{Path: f.Path, Kind: f.Kind, Unreported: f.Unreported})
	}
	o.shrink = append(o.shrink, fileSlot{o})
	o.raw(&o.StructuredOutput, t.StructuredOutput)
	o.raw(&o.Metadata, encodeMap(t.Metadata))
	o.shrink = append(o.shrink, textSlot{dst: &o.StructuredError, src: longText{clip(t.StructuredError, maxErrorText), c.wholeObject(t.ID)}})
	pending = slices.DeleteFunc(slices.Clone(pending), func(q core.Request) bool { return q.TurnID != t.ID })
	var asked []slot
	o.PendingRequests, o.PendingTotal, asked = c.pendingRequests(pending)
	o.shrink = append(o.shrink, asked...)
	c.answer(o, t)
	o.shrink = append(o.shrink, &listSlot{dst: &o.Warnings, src: o.Warnings})
	return o
}

func (c *call) setTimes(o *turnObject, t core.Turn) {
	since, until := t.StartedAt, t.FinishedAt
	if since.IsZero() {
		since = t.AcceptedAt
	}
	if !t.Status.Ended() {
		until = c.now
		o.Activity = oneLine(t.Activity, maxActivity)
		last := t.LastEventAt
		if last.IsZero() {
			last = since
		}
		quiet := max(0, c.now.Sub(last).Milliseconds())
		o.QuietMS = &quiet
	}
	if !since.IsZero() && !until.IsZero() {
		o.ElapsedMS = max(0, until.Sub(since).Milliseconds())
	}
}

func (c *call) turnError(o *turnObject, t core.Turn) {
	if t.Error == nil {
		return
	}
	o.Error = &turnError{Code: t.Error.Code, Message: t.Error.Message}
	o.raw(&o.Error.Provider, t.Error.Provider)
	o.shrink = append(o.shrink, textSlot{dst: &o.Error.Message, src: longText{t.Error.Message, c.wholeObject(t.ID)}})
}

// applySession tells the turn how its session is.
func (c *call) applySession(o *turnObject, s core.Session) {
	o.sessionEnds = s.Status == core.StatusClosing || !s.Status.Live()
	if o.needsSignIn() {
		o.Error.Hint = proseSignIn(c.h.ProviderSpec(s.Provider).Login)
	}
}

// needsSignIn says that the turn failed for want of a sign-in, and nobody has
// said yet what to do about it.
func (o *turnObject) needsSignIn() bool {
	return o.Error != nil && o.Error.Code == core.TurnAuthRequired && !strings.Contains(o.Error.Message, "login")
}

// answer fetches the turn's text, when there is one.
func (c *call) answer(o *turnObject, t core.Turn) {
	if !t.Status.Ended() {
		return
	}
	text, _, err := c.h.TurnText(c.ctx, t, 0, math.MaxInt)
	if err != nil {
		o.Warnings = append(o.Warnings, "the answer could not be read: "+core.AsError(err).Message)
	}
	o.text = longText{text, c.restOfText}
}

// restOfText says how to read a turn's text from offset on.
func (c *call) restOfText(offset int) string {
	if c.offers("inspect") {
		return fmt.Sprintf("inspect {id, offset: %d}", offset)
	}
	return fmt.Sprintf(`replay {id, types: ["message"], max_bytes: %d}`, maxBudget)
}

// wholeObject says how to read an object with nothing cut.
func (c *call) wholeObject(id string) func(int) string {
	tool := "inspect"
	if !c.offers(tool) {
		tool = "replay"
	}
	return func(int) string { return fmt.Sprintf("%s {id: %q, max_bytes: %d}", tool, id, maxBudget) }
}

// warn adds a warning to an object that has been made.
func (o *turnObject) warn(w string) {
	o.Warnings = append(o.Warnings, w)
	for _, s := range o.shrink {
		if l, ok := s.(*listSlot); ok && l.dst == &o.Warnings {
			l.src = o.Warnings
		}
	}
}

func (c *call) warnings(in []string) []string {
	var out []string
	for i, w := range in {
		if i == maxWarnings {
			return append(out, fmt.Sprintf("and %d more", len(in)-i))
		}
		out = append(out, oneLine(w, maxWarning))
	}
	return out
}

func (o *turnObject) raw(dst *json.RawMessage, src json.RawMessage) {
	if len(src) == 0 {
		return
	}
	o.shrink = append(o.shrink, rawSlot{dst: dst, src: src,
		more: fmt.Sprintf("inspect {id: %q, max_bytes: %d}", o.TurnID, maxBudget)})
}

func (o *turnObject) slots() []slot {
	return append([]slot{turnTextSlot{o}}, o.shrink...)
}

// turnTextSlot is the text of a turn, with the fields that speak of it.
type turnTextSlot struct{ o *turnObject }

func (s turnTextSlot) apply(max int) {
	o := s.o
	if o.Offset != nil {
		o.page(max)
		return
	}
	if o.repeatsText {
		max = min(max, maxRepeated)
	}
	var offset int
	o.Text, offset = o.text.truncate(max)
	o.Truncated, o.truncatedAt = len(o.text.text) > max, offset
	o.TextBytes, o.NextOffset = 0, 0
	if o.Truncated {
		o.TextBytes = len(o.text.text)
		if o.showsNextOffset {
			o.NextOffset = offset
		}
	}
}

// eventPage shows the text from Offset on, as much of it as there is room for.
func (o *turnObject) page(max int) {
	all := o.text.text
	end := runeFloor(all, *o.Offset+min(max, o.pageMax))
	o.Text = all[*o.Offset:end]
	o.TextBytes, o.NextOffset, o.Truncated = len(all), 0, len(o.Text) < len(all)
	if end < len(all) {
		o.NextOffset = end
	}
}

// fileSlot is the list of changed files: as many as there is room for.
type fileSlot struct{ o *turnObject }

func (s fileSlot) apply(max int) {
	o, room := s.o, max
	o.FilesChanged, o.FilesTotal = o.files, 0
	for i, f := range o.files {
		room -= len(f.Path) + len(`{"path":"","kind":"modified"},`)
		if f.Unreported {
			room -= len(`,"unreported":true`)
		}
		if room < 0 {
			o.FilesChanged, o.FilesTotal = o.files[:i], len(o.files)
			return
		}
	}
}

func (o *turnObject) links() []mcp.ResourceLink {
	if !o.Truncated {
		return nil
	}
	return []mcp.ResourceLink{mcp.NewResourceLink("harness://turns/"+o.TurnID+"/text",
		o.TurnID, "", "text/markdown")}
}

// firstRunes is the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
