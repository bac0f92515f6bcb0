package machine

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// prompt admits a turn.
//
//	idle                           begins it
//	starting to cancelling         turn_in_progress; with Queue it waits behind the others,
//	                               or gets queue_full
//	any other                      see notUsable
//
// The reply is the turn. It comes before anything is sent to the provider.
func (m *machine) prompt(in Prompt) *core.Error {
	if err := m.cannotTake(in.Input); err != nil {
		return err
	}
	if err := m.notUsable(); err != nil {
		return err
	}
	rec := core.Turn{
		ID: in.TurnID, SessionID: m.s.Base.Config.SessionID, Owner: m.s.Base.Config.Owner,
		Origin: core.OriginCaller, Epoch: m.s.Epoch, PromptPreview: preview(cmp.Or(in.Preview, in.Input.Prompt)), PromptHash: in.Hash,
		AcceptedAt: m.now, Metadata: in.Input.Metadata, Status: core.TurnIsQueued,
	}
	if m.s.Active() == nil && len(m.s.Queue) == 0 {
		m.disarm(TimerID{Kind: TimerSessionIdle})
		m.begin(QueuedTurn{Rec: rec, Input: in.Input})
		m.keep(in.Key, rec.ID, "")
		m.reply(in.Token, m.s.Turn.Snapshot())
		return nil
	}
	if !in.Queue {
		return m.turnInProgress()
	}
	if err := m.queueFull(in.Input); err != nil {
		return err
	}
	m.s.Queue = append(m.s.Queue[:len(m.s.Queue):len(m.s.Queue)], QueuedTurn{Rec: rec, Input: in.Input})
	m.append(core.TurnQueued, dataPrompt{Prompt: in.Input.Prompt, Origin: core.OriginCaller, Position: len(m.s.Queue)}, ofTurn(rec.ID))
	m.append(core.QueueChanged, dataQueue{Queued: len(m.s.Queue)})
	m.do(PutTurn{Turn: rec})
	m.keep(in.Key, rec.ID, "")
	rec.QueuePosition = len(m.s.Queue)
	m.reply(in.Token, rec)
	return nil
}

// cannotTake returns the refusal of an input with parts that the provider cannot
// take. It is asked before the status, since waiting would not help.
func (m *machine) cannotTake(in core.TurnInput) *core.Error {
	return CannotTake(in, m.s.Base.Config.Provider, m.s.Base.Capabilities.Value())
}

// CannotTake returns the refusal of an input that a provider with these
// capabilities cannot take, nil if it can.
//
// Errors: CodeCapability.
func CannotTake(in core.TurnInput, provider string, c core.Capabilities) *core.Error {
	images := len(in.Attachments) > 0 || slices.ContainsFunc(in.Content, func(b core.ContentBlock) bool { return b.Type == "image" })
	switch {
	case images && !c.Attachments.OK():
		return core.Errorf(core.CodeCapability, "provider %s takes no images or attachments", provider).
			WithHint("Name the file in the prompt instead.")
	case len(in.OutputSchema) > 0 && !c.StructuredOutput.OK():
		return core.Errorf(core.CodeCapability, "provider %s cannot follow an output_schema", provider).
			WithHint("Ask for JSON in the prompt instead.")
	}
	return nil
}

func (m *machine) turnInProgress() *core.Error {
	t := m.s.Active()
	if t == nil {
		return core.Errorf(core.CodeTurnInProgress, "queued turns are waiting").
			WithHint("follow_up queues behind them.")
	}
	return core.Errorf(core.CodeTurnInProgress, "turn %s is %s", t.Rec.ID, t.Status()).
		WithHint("follow_up queues behind it, steer adds to it, await {ids: [%q]} waits for it.", t.Rec.ID).
		WithDetail("turn_id", t.Rec.ID).WithDetail("state", t.Status())
}

func (m *machine) queueFull(in core.TurnInput) *core.Error {
	n := in.Size()
	for _, q := range m.s.Queue {
		n += q.Input.Size()
	}
	if len(m.s.Queue) < core.MaxQueue && n <= core.MaxQueueBytes {
		return nil
	}
	return core.Errorf(core.CodeQueueFull, "the session's queue is full (%d turns, %d bytes with this one)", len(m.s.Queue), n).
		WithHint("Await some of them first; at most %d turns and %d bytes wait.", core.MaxQueue, core.MaxQueueBytes).Retry()
}

// begin hands a turn to the provider. TimerTurnStart limits the wait for its
// acceptance.
func (m *machine) begin(q QueuedTurn) {
	t := &ActiveTurn{Rec: q.Rec, Name: q.Rec.ID, Op: m.newOp()}
	t.Rec.Epoch, t.Rec.LastEventAt = m.s.Epoch, m.now
	if t.Schema = q.Input.OutputSchema; len(t.Schema) == 0 {
		t.Schema = m.s.Base.Config.OutputSchema
	}
	m.s.Turn = t
	m.append(core.TurnAccepted, dataPrompt{Prompt: q.Input.Prompt, Origin: core.OriginCaller}, ofTurn(t.Rec.ID))
	m.do(PutTurn{Turn: t.Snapshot()})
	m.do(Send{Op: core.StartTurn{ID: t.Op, TurnID: t.Rec.ID, Input: q.Input}})
	m.arm(TimerID{Kind: TimerTurnStart, ID: t.Rec.ID}, m.timeouts().TurnStart)
	m.armTurn(t)
}

func (m *machine) armTurn(t *ActiveTurn) {
	m.arm(TimerID{Kind: TimerTurnRuntime, ID: t.Rec.ID}, m.timeouts().TurnRuntime)
	m.arm(TimerID{Kind: TimerTurnIdle, ID: t.Rec.ID}, m.timeouts().TurnIdle)
}

// edit returns a copy of an active turn, in its place in the state, that may be
// changed. A turn that is such a copy already is returned itself.
func (m *machine) edit(t *ActiveTurn) *ActiveTurn {
	if t == m.own[0] || t == m.own[1] {
		return t
	}
	c := *t
	switch t {
	case m.s.Turn:
		m.s.Turn, m.own[0] = &c, &c
	case m.s.ProviderTurn:
		m.s.ProviderTurn, m.own[1] = &c, &c
	}
	return &c
}

// named returns the active turn that a notice names, by the provider's name or by
// our id, or nil.
func (m *machine) named(name string) *ActiveTurn {
	for t := range m.s.Turns() {
		if name != "" && (t.Name == name || t.Rec.ID == name) {
			return t
		}
	}
	return nil
}

// startDone steps the outcome of StartTurn. An error is a definite refusal: the
// turn fails as rejected, and the session goes on.
func (m *machine) startDone(n core.OpDone) {
	t := m.s.Turn
	if t == nil || t.Op != n.Op || t.Phase != PhaseStarting || t.Accepted && n.Err != nil {
		m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "late_op_done"}, raw(n.Raw))
		return
	}
	if n.Err != nil {
		m.endTurn(t, core.TurnDoneFailed, "", core.Result{Error: &core.TurnError{Code: core.TurnRejected, Message: n.Err.Message}}, n.Raw)
		return
	}
	if n.Ref != "" && t.Rec.ProviderRef == "" {
		t = m.edit(t)
		t.Rec.ProviderRef = n.Ref
	}
	m.accepted(t, n.Raw)
}

// accepted notes that the provider has taken a turn of the caller's. Behind a turn
// of the provider's own it does not run yet.
func (m *machine) accepted(t *ActiveTurn, frame []byte) *ActiveTurn {
	if t.Phase == PhaseRunning {
		return t
	}
	if m.waits(t) {
		if !t.Accepted {
			t = m.edit(t)
			t.Accepted = true
			m.disarm(TimerID{Kind: TimerTurnStart, ID: t.Rec.ID})
		}
		return t
	}
	return m.running(t, frame)
}

// running starts a turn that the provider has accepted. An interrupt that was
// recorded before is sent now.
func (m *machine) running(t *ActiveTurn, frame []byte) *ActiveTurn {
	t = m.edit(t)
	t.Phase, t.Accepted = PhaseRunning, true
	t.Rec.StartedAt, t.Rec.LastEventAt = m.now, m.now
	m.s.TurnsBegun++
	m.disarm(TimerID{Kind: TimerTurnStart, ID: t.Rec.ID})
	m.append(core.TurnStarted, dataTurnStarted{ProviderRef: t.Rec.ProviderRef}, ofTurn(t.Rec.ID), raw(frame))
	m.do(PutTurn{Turn: t.Snapshot()})
	if t.Intent == IntentRecorded {
		m.sendInterrupt(t)
	}
	return t
}

// turnBegan steps a notice that the provider runs a turn.
//
//	of our turn, starting          accepted, as by OpDone
//	of another, idle or starting   a turn of the provider's own, which ours waits behind
//	any other                      a provider_event
func (m *machine) turnBegan(n core.TurnBegan, id string) {
	if t := m.named(n.Turn); t != nil {
		if t.Rec.ProviderRef == "" && n.Ref != "" {
			t = m.edit(t)
			t.Rec.ProviderRef = n.Ref
		}
		if t.Phase == PhaseStarting {
			m.accepted(t, n.Raw)
			return
		}
		m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "turn_began"}, ofTurn(t.Rec.ID), raw(n.Raw))
		return
	}
	if m.s.Last != nil && m.s.Last.ID == n.Turn {
		m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "turn_began"}, lateFor(n.Turn), raw(n.Raw))
		return
	}
	busy := m.s.Turn != nil && (m.s.Turn.Phase != PhaseStarting || m.s.Turn.Intent != IntentNone)
	if busy || m.s.ProviderTurn != nil || m.s.Closing != nil || n.Turn == "" {
		m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "turn_began"}, raw(n.Raw))
		return
	}
	m.beginProviderTurn(n, id)
}

// beginProviderTurn admits a turn that the provider began by itself. The timers of
// the caller's turn stand still behind it.
func (m *machine) beginProviderTurn(n core.TurnBegan, id string) {
	if m.s.Turn != nil {
		m.disarm(TimerID{Kind: TimerTurnStart, ID: m.s.Turn.Rec.ID})
	} else {
		m.disarm(TimerID{Kind: TimerSessionIdle})
	}
	t := &ActiveTurn{Name: n.Turn, Phase: PhaseRunning, Accepted: true, Rec: core.Turn{
		ID: id, SessionID: m.s.Base.Config.SessionID, Owner: m.s.Base.Config.Owner,
		Origin: core.OriginProvider, Epoch: m.s.Epoch, PromptPreview: preview(n.Prompt), ProviderRef: n.Ref,
		AcceptedAt: m.now, StartedAt: m.now, LastEventAt: m.now,
	}}
	m.s.ProviderTurn = t
	if m.s.Turn != nil {
		m.rearmIdle(m.s.Turn)
	}
	m.s.TurnsBegun++
	m.append(core.TurnAccepted, dataPrompt{Prompt: n.Prompt, Origin: core.OriginProvider}, ofTurn(id))
	m.append(core.TurnStarted, dataTurnStarted{ProviderRef: n.Ref}, ofTurn(id), raw(n.Raw))
	m.do(PutTurn{Turn: t.Snapshot()})
	m.armTurn(t)
}

// content journals what the agent did, and keeps the facts that a snapshot shows.
// Content of our starting turn means that the provider has accepted it. Content of
// a turn that has ended is journaled as late.
func (m *machine) content(n core.Content) {
	m.sessionFacts(n.Payload)
	t := m.named(n.Turn)
	if t == nil {
		var late []appendOpt
		if n.Turn != "" {
			late = append(late, lateFor(n.Turn))
		}
		m.append(n.Payload.EventType(), n.Payload, append(late, raw(n.Raw))...)
		return
	}
	t = m.accepted(t, nil)
	m.append(n.Payload.EventType(), n.Payload, ofTurn(t.Rec.ID), raw(n.Raw))
	t = m.edit(t)
	t.Rec.LastEventAt = m.now
	m.facts(t, n.Payload)
	m.rearmIdle(t)
}

// rearmIdle sets a turn's idle timer anew. It does not run while a request is open,
// while the turn waits behind one of the provider's, or once it is being stopped.
func (m *machine) rearmIdle(t *ActiveTurn) {
	if m.timeouts().TurnIdle == 0 || t.Intent != IntentNone {
		return
	}
	id := TimerID{Kind: TimerTurnIdle, ID: t.Rec.ID}
	if len(t.Requests) > 0 || m.waits(t) {
		m.disarm(id)
		return
	}
	m.arm(id, m.timeouts().TurnIdle)
}

// waits reports whether t is the caller's turn and waits behind a turn of the
// provider's.
func (m *machine) waits(t *ActiveTurn) bool { return m.s.ProviderTurn != nil && t == m.s.Turn }

// sessionFacts keeps what a session's snapshot shows of content.
func (m *machine) sessionFacts(p core.Payload) {
	if u, ok := p.(core.UsageUpdated); ok && u.Scope == core.UsageSession {
		usage := u.Usage // and not u itself, which other payloads would make garbage of
		m.s.Usage, m.s.CostUSD = &usage, cmp.Or(u.CostUSD, m.s.CostUSD)
	}
}

// facts keeps what a turn's snapshot shows of content.
func (m *machine) facts(t *ActiveTurn, p core.Payload) {
	switch p := p.(type) {
	case core.MessageDelta:
		t.Rec.Activity = "writing"
	case core.ReasoningDelta, core.Reasoning:
		t.Rec.Activity = "thinking"
	case core.Message:
		t.Text, t.HasText = p.Text, true
		t.Rec.Activity = "wrote a message"
	case core.ToolStarted:
		t.Rec.Activity = core.Truncate("running: "+cmp.Or(p.Title, p.Command, p.Name), activityBytes)
	case core.FileChange:
		t.Rec.FilesChanged = mergeFiles(t.Rec.FilesChanged, p.Changes)
	case core.UsageUpdated:
		if p.Scope == core.UsageTurn {
			t.Rec.Usage, t.Rec.CostUSD = &p.Usage, cmp.Or(p.CostUSD, t.Rec.CostUSD)
		}
	case core.Warning:
		t.Rec.Warnings = addNote(t.Rec.Warnings, p.Message)
	case core.ProviderError:
		t.Rec.Activity = core.Truncate("provider error: "+p.Message, activityBytes)
	}
}

// turnEnded steps the provider's terminal record, the only thing that completes a
// turn.
//
//	starting                       accepted by that; then as running
//	running to cancelling          completed, cancelled or failed, by its verdict; then the
//	                               next queued turn begins, or the session is idle
//	closing                        the same; then the close continues
//	of a turn that has ended       a provider_event
//
// A turn that a time-out stopped fails with the code of the time-out, unless it
// completed all the same.
func (m *machine) turnEnded(n core.TurnEnded) {
	t := m.named(n.Turn)
	if t == nil {
		m.append(core.TypeProviderEvent, core.ProviderEvent{Kind: "late_turn_ended"}, lateFor(n.Turn), raw(n.Raw))
		return
	}
	if t.Phase == PhaseStarting { // acceptance is implied, also behind a turn of the provider's
		if t.Intent == IntentRecorded {
			t = m.edit(t)
			t.Intent = IntentSent // it is over: there is nothing to interrupt
		}
		t = m.running(t, nil)
	}
	status := core.TurnDoneFailed
	switch n.Verdict {
	case core.VerdictCompleted:
		status = core.TurnDoneCompleted
	case core.VerdictCancelled:
		status = core.TurnDoneCancelled
	}
	if t.Cause != "" && status != core.TurnDoneCompleted {
		status = core.TurnDoneFailed
		n.Result.Error = &core.TurnError{Code: t.Cause, Message: "the turn took too long and was stopped", Provider: n.Result.Provider}
	}
	if status == core.TurnDoneFailed && n.Result.Error == nil {
		n.Result.Error = &core.TurnError{Code: core.TurnProviderError, Message: "the provider reported a failure without a reason"}
	}
	m.endTurn(t, status, "", n.Result, n.Raw)
}

// endTurn writes a turn's one terminal event, its last, and continues with what
// follows. When the agent is not logged in, queued turns end too, since they would
// fail.
func (m *machine) endTurn(t *ActiveTurn, status core.TurnStatus, reason core.Reason, res core.Result, frame []byte) {
	m.terminal(t, status, reason, res, frame)
	if m.s.Closing != nil {
		m.closeOn()
		return
	}
	if res.Error != nil && res.Error.Code == core.TurnAuthRequired {
		m.dropQueue(core.ReasonQueueCleared)
	}
	m.next()
}

// terminal writes a turn's end and removes the turn from the state. Its order: open
// requests expire, timers end, then the terminal event and the snapshot. It does
// not decide what comes next.
func (m *machine) terminal(t *ActiveTurn, status core.TurnStatus, reason core.Reason, res core.Result, frame []byte) {
	t = m.expireAll(t, core.ReasonTurnEnded)
	for _, k := range []TimerKind{TimerTurnStart, TimerTurnRuntime, TimerTurnIdle, TimerInterrupt} {
		m.disarm(TimerID{Kind: k, ID: t.Rec.ID})
	}
	rec, at := t.Rec, m.now
	if !t.Recovered.At.IsZero() { // it ended with its server, not when that was noticed
		at = t.Recovered.At
	}
	rec.Status, rec.Reason, rec.FinishedAt, rec.LastEventAt = status, reason, at, at
	rec.Activity, rec.StopReason, rec.ProviderSessionID = "", res.StopReason, m.s.ProviderSessionID
	rec.Error, rec.StructuredOutput = res.Error, res.StructuredOutput
	rec.Usage, rec.CostUSD = cmp.Or(res.Usage, rec.Usage), cmp.Or(res.CostUSD, rec.CostUSD)
	var seen []string
	rec.FilesChanged = mergeFiles(rec.FilesChanged, res.FilesChanged)
	rec.FilesChanged, seen = compareFiles(rec.FilesChanged, res.Observed, m.s.Base.Config.CWD)
	for _, w := range slices.Concat(res.Warnings, seen) {
		rec.Warnings = addNote(rec.Warnings, w)
	}
	if rec.Text = t.Text; !t.HasText {
		rec.Text = res.Text
	}
	rec.TextBytes = len(rec.Text)
	if status == core.TurnDoneCompleted && len(t.Schema) > 0 {
		rec.StructuredOutput, rec.StructuredError = m.structured(t.Schema, rec.StructuredOutput, rec.Text)
	}
	m.append(terminalEvents[status], &TerminalData{Status: status, Reason: reason, Result: dataResult{
		Text: rec.Text, TextBytes: rec.TextBytes, Usage: rec.Usage, CostUSD: rec.CostUSD,
		ProviderSessionID: rec.ProviderSessionID, StopReason: rec.StopReason,
		StructuredOutput: rec.StructuredOutput, StructuredError: rec.StructuredError, Error: rec.Error, Provider: res.Provider,
	}}, ofTurn(rec.ID), raw(frame))
	m.do(PutTurn{Turn: rec})
	m.s.Last = &rec
	if m.s.ProviderTurn != nil && m.s.ProviderTurn.Rec.ID == rec.ID {
		m.s.ProviderTurn = nil
	} else {
		m.s.Turn = nil
	}
}

// structured checks an answer against the schema that was asked for: the provider's
// own structured part, else the text. It returns the document, or the reason why
// the answer misses the schema; the turn stays completed.
func (m *machine) structured(schema, doc json.RawMessage, text string) (json.RawMessage, string) {
	if len(doc) == 0 {
		if text = strings.TrimSpace(text); !json.Valid([]byte(text)) {
			return nil, "the answer is not JSON"
		}
		doc = json.RawMessage(text)
	}
	if check := m.s.Base.CheckSchema; check != nil {
		if err := check(schema, doc); err != nil {
			return nil, err.Error()
		}
	}
	return doc, ""
}

// terminalEvents are the events of the ends of a turn.
var terminalEvents = map[core.TurnStatus]core.EventType{core.TurnDoneCompleted: core.TurnCompleted, core.TurnDoneCancelled: core.TurnCancelled,
	core.TurnDoneInterrupted: core.TurnInterrupted, core.TurnDoneFailed: core.TurnFailed}

// next continues after a turn: with the caller's turn that waited behind the
// provider's, with the queue, or to idle.
func (m *machine) next() {
	switch t := m.s.Turn; {
	case m.s.ProviderTurn != nil:
	case t != nil && t.Phase == PhaseStarting && t.Accepted:
		m.rearmIdle(m.running(t, nil))
	case t != nil && t.Phase == PhaseStarting:
		m.arm(TimerID{Kind: TimerTurnStart, ID: t.Rec.ID}, m.timeouts().TurnStart)
		m.rearmIdle(t)
	case t != nil:
	case len(m.s.Queue) > 0:
		q := m.s.Queue[0]
		m.s.Queue = m.s.Queue[1:]
		m.append(core.QueueChanged, dataQueue{Queued: len(m.s.Queue)})
		m.begin(q)
	default:
		m.idle()
		if m.s.Base.Config.CloseAtRest {
			m.beginClose("", 0)
		}
	}
}

// dropQueue ends every queued turn, in order.
func (m *machine) dropQueue(reason core.Reason) {
	for _, q := range m.s.Queue {
		m.endQueued(q, reason)
	}
	if len(m.s.Queue) > 0 {
		m.s.Queue = nil
		m.append(core.QueueChanged, dataQueue{})
	}
}

// endQueued ends a turn that never began.
func (m *machine) endQueued(q QueuedTurn, reason core.Reason) core.Turn {
	rec := q.Rec
	rec.Status, rec.Reason, rec.FinishedAt = core.TurnDoneInterrupted, reason, m.now
	m.append(core.TurnInterrupted, &TerminalData{Status: rec.Status, Reason: reason}, ofTurn(rec.ID))
	m.do(PutTurn{Turn: rec})
	return rec
}

// preview returns the first previewChars characters of s.
func preview(s string) string {
	n := 0
	for i := range s {
		if n == previewChars {
			return s[:i]
		}
		n++
	}
	return s
}

// addNote adds a note that is new, while there are fewer than maxTurnNotes.
func addNote(notes []string, note string) []string {
	if len(notes) >= maxTurnNotes || slices.Contains(notes, note) {
		return notes
	}
	return append(notes[:len(notes):len(notes)], note)
}
