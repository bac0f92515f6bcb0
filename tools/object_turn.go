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

// turnObject is a turn as callers read it. delegate and interrupt add a field.
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
	PendingRequests   []any           `json:"pending_requests,omitempty"`       // *requestObject or requestRef
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

	text            longText // what Text shows, truncated or whole
	shrink          []slot   // everything but Text
	files           []fileObject
	showsNextOffset bool // a truncated text has a next_offset
	// What is known of the session: it has ended, can then be resumed, or closes.
	sessionEnded, resumable, sessionCloses bool
	truncatedAt                            int  // where the missing part of the text begins, 0 when none is missing
	repeatsText                            bool // the caller has most likely read the text: at most maxRepeated bytes are shown
	pageMax                                int  // how long a page of the text may be
}

type turnError struct {
	Code     core.Code       `json:"code"`
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitempty"`
	Provider json.RawMessage `json:"provider,omitempty"`
}

// fileObject is a file that changed while the turn ran. Unreported is one that
// git shows and the agent did not report: a command of the agent changed it, or
// another program. Those are last.
type fileObject struct {
	Path       string          `json:"path"`
	Kind       core.ChangeKind `json:"kind"`
	Unreported bool            `json:"unreported,omitempty"`
}

// usageObject is the usage that a provider reported. It is never estimated.
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

// turn makes a turn's object with its answer, if there is one, and with those
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
	l := slotList{more: c.wholeObject(t.ID)}
	o.Error = l.turnError(t.Error)
	for _, f := range t.FilesChanged {
		o.files = append(o.files, fileObject{Path: f.Path, Kind: f.Kind, Unreported: f.Unreported})
	}
	l.slots = append(l.slots, fileSlot{o})
	l.raw(&o.StructuredOutput, t.StructuredOutput)
	l.raw(&o.Metadata, encodeMap(t.Metadata))
	l.text(&o.StructuredError, clip(t.StructuredError, maxErrorText))
	pending = slices.DeleteFunc(slices.Clone(pending), func(q core.Request) bool { return q.TurnID != t.ID })
	var requests []slot
	o.PendingRequests, o.PendingTotal, requests = c.pendingRequests(pending)
	o.shrink = append(l.slots, requests...)
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
	o.ElapsedMS = elapsedMS(since, until)
}

// elapsedMS returns the milliseconds between two times, 0 if one is not known.
func elapsedMS(since, until time.Time) int64 {
	if since.IsZero() || until.IsZero() {
		return 0
	}
	return max(0, until.Sub(since).Milliseconds())
}

// applySession sets what depends on the state of the turn's session.
func (c *call) applySession(o *turnObject, s core.Session) {
	o.sessionEnded, o.sessionCloses = !s.Status.Live(), s.Status == core.StatusClosing
	o.resumable = o.sessionEnded && c.canResume(s.Provider, s.Transport, o.Error)
	switch {
	case o.needsSignIn():
		o.Error.Hint = proseSignIn(c.h.ProviderSpec(s.Provider).Login)
	case o.Error != nil && o.Error.Code == core.TurnRateLimited:
		o.Error.Hint = "Try again when the provider says, else after a minute, twice as long after each refusal."
	}
}

// needsSignIn reports whether the turn failed for want of a sign-in and its
// error does not name a remedy.
func (o *turnObject) needsSignIn() bool {
	return o.Error != nil && o.Error.Code == core.TurnAuthRequired && !strings.Contains(o.Error.Message, "login")
}

// answer reads the turn's text, if there is one.
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

// restOfText returns how to read a turn's text from offset on.
func (c *call) restOfText(offset int) string {
	if c.offers("inspect") {
		return fmt.Sprintf("inspect {id, offset: %d}", offset)
	}
	return fmt.Sprintf(`replay {id, types: ["message"], max_bytes: %d}`, maxBudget)
}

// wholeObject returns how to read an object with nothing truncated.
func (c *call) wholeObject(id string) func(int) string {
	tool := "inspect"
	if !c.offers(tool) {
		tool = "replay"
	}
	return func(int) string { return fmt.Sprintf("%s {id: %q, max_bytes: %d}", tool, id, maxBudget) }
}

// warn adds a warning to an object that is already made.
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

func (o *turnObject) slots() []slot {
	return append([]slot{turnTextSlot{o}}, o.shrink...)
}

// turnTextSlot is the text of a turn, with the fields that describe it.
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

// page shows the text from Offset on, as much as fits into max bytes.
func (o *turnObject) page(max int) {
	all := o.text.text
	end := runeFloor(all, *o.Offset+min(max, o.pageMax))
	o.Text = all[*o.Offset:end]
	o.TextBytes, o.NextOffset, o.Truncated = len(all), 0, len(o.Text) < len(all)
	if end < len(all) {
		o.NextOffset = end
	}
}

// fileSlot is the list of changed files: as many as fit.
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

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
