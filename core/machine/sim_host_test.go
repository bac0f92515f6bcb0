package machine

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// simHost is the host of one session as the design describes it, without its
// goroutine: an inbox, drains of 1 to 64 inputs, one commit for a drain, and
// what leaves the process only after the commit.
type simHost struct {
	w  *simWorld
	id string
	s  State

	cmds, notes []Input // commands have a channel of their own
	again       []Input // before both: what a failed commit did not undo
	batch       []Input // of the drain under way
	mark        *simHost
	answered    map[Token]bool // by the host itself
	timers      map[TimerID]time.Time
	tokens      map[Token]string // callers who wait, and for what
	keys        map[Token]string // idempotency keys of callers
	kept        map[string]bool
	conns       map[uint64]*simAgent
	opening     uint64 // the epoch that is being opened, 0 for none

	live    *simFold // over every event, committed or only live
	pending []Effect // of the drain under way
	seq     uint64   // the last number given
	sent    simSent
	gone    bool // nothing is left of it
	// lossy says that events were not stored: the store's journal has a gap.
	lossy    bool
	degraded bool
	failStop bool // the store failed under the policy to stop

	stored *simStored
	ids    []string // turns, for callers with stale ids
	asks   []string // requests
}

// simStored is what the store has of a session.
type simStored struct {
	rec      core.SessionRecord
	turns    map[string]core.TurnRecord
	requests map[string]core.Request
	journal  *simFold
	lastSeq  uint64
	gap      bool
}

// simSent is what is in flight, to check that there is never too much.
type simSent struct {
	starts map[string]bool // turns that were handed over
	stops  map[string]bool // turns that were interrupted
}

type simFailure struct{ what string }

func (h *simHost) fail(format string, args ...any) {
	panic(simFailure{fmt.Sprintf("%s: ", h.id) + fmt.Sprintf(format, args...)})
}

func newSimHost(w *simWorld, id string, cfg core.SessionConfig) *simHost {
	return &simHost{w: w, id: id, s: NewState(cfg, rigCapabilities(), core.Durable, w.now),
		timers: map[TimerID]time.Time{}, tokens: map[Token]string{}, answered: map[Token]bool{}, keys: map[Token]string{}, kept: map[string]bool{}, conns: map[uint64]*simAgent{}, live: newSimFold(),
		sent: simSent{starts: map[string]bool{}, stops: map[string]bool{}}}
}

// drain takes up to n inputs, in an order that mix decides between the two
// channels, then the timers that are due, steps them and commits once.
func (h *simHost) drain(n int, d *simDice) {
	h.mark = nil
	if h.w.stop && h.w.store == storeFails && !h.degraded {
		h.mark = h.remember()
	}
	h.batch = h.batch[:0]
	start, from := h.s, len(h.pending)
	for range n {
		switch {
		case len(h.again) > 0:
			h.take(simPop(&h.again))
		case len(h.cmds) == 0 && len(h.notes) == 0:
		case len(h.notes) == 0 || len(h.cmds) > 0 && d.n(2) == 0:
			h.take(simPop(&h.cmds))
		default:
			h.take(simPop(&h.notes))
		}
	}
	h.togetherAsAlone(start, h.pending[from:])
	h.due()
	h.commit(d)
}

// togetherAsAlone checks that the inputs of a drain make the same together as one
// after another, and leave the State before them as it was.
func (h *simHost) togetherAsAlone(start State, alone []Effect) {
	if len(h.batch) < 2 || !h.w.thorough && h.w.steps%simBatchSample != 0 {
		return
	}
	old := frozenState(h.w.t, start)
	next, out := StepAll(start, h.batch, h.w.now)
	if !reflect.DeepEqual(next, h.s) || !slices.EqualFunc(out, alone, func(x, y Effect) bool { return reflect.DeepEqual(x, y) }) {
		h.fail("%d inputs together make something else than one after another", len(h.batch))
	}
	if frozenState(h.w.t, start) != old {
		h.fail("%d inputs together changed the old State in place", len(h.batch))
	}
}

func (h *simHost) take(in Input) {
	h.batch = append(h.batch, in)
	h.step(in)
}

// remember copies what a drain changes, to go back to when the store fails
// under the policy to stop: nothing of the batch has then happened.
func (h *simHost) remember() *simHost {
	m := *h
	m.live = h.live.clone()
	m.timers, m.tokens, m.kept = maps.Clone(h.timers), maps.Clone(h.tokens), maps.Clone(h.kept)
	m.sent.starts, m.sent.stops = maps.Clone(h.sent.starts), maps.Clone(h.sent.stops)
	return &m
}

// goBack undoes the drain.
func (h *simHost) goBack() {
	m := h.mark
	h.s, h.live, h.timers, h.tokens, h.kept, h.sent = m.s, m.live, m.timers, m.tokens, m.kept, m.sent
}

func (h *simHost) hangingUp() bool {
	for _, c := range h.conns {
		if c.hungUp && !c.closed && !c.stuck {
			return true
		}
	}
	return false
}

func simPop[T any](q *[]T) T {
	v := (*q)[0]
	*q = (*q)[1:]
	return v
}

// due steps the timers whose time has come. One that an input of the same
// drain has disarmed is dropped.
func (h *simHost) due() {
	var ids []TimerID
	for id, at := range h.timers {
		if !at.After(h.w.now) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b TimerID) int {
		return cmp.Or(h.timers[a].Compare(h.timers[b]), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Op, b.Op))
	})
	for _, id := range ids {
		if at, ok := h.timers[id]; ok && !at.After(h.w.now) {
			delete(h.timers, id)
			h.step(TimerDue{Timer: id})
		}
	}
}

// step feeds the machine and checks what must hold after every step.
func (h *simHost) step(in Input) {
	before := h.s
	sample := h.w.thorough || h.w.steps%simSample == 0
	var old string
	if sample {
		old = frozenState(h.w.t, before)
	}
	next, out := Step(before, in, h.w.now)
	h.w.steps++
	h.w.note(h, in, out)
	if sample {
		if frozenState(h.w.t, before) != old {
			h.fail("%T changed the old State in place", in)
		}
		if again, out2 := Step(before, in, h.w.now); !reflect.DeepEqual(again, next) || !reflect.DeepEqual(out2, out) {
			h.fail("%T twice on the same State gives two results", in)
		}
	}
	h.s = next
	for _, e := range out {
		h.effect(e)
	}
	h.pending = append(h.pending, out...)
	if len(out) == 1 {
		if r, ok := out[0].(Reply); ok && r.Err != nil && simIsCommand(in) && !reflect.DeepEqual(before, next) {
			h.fail("%T was refused with %s and changed the State", in, r.Err.Code)
		}
	}
	h.checkStep(before, in, out)
	h.check()
}

// checkStep holds what can only be seen between two States.
func (h *simHost) checkStep(before State, in Input, out []Effect) {
	if n, ok := in.(Notice); ok {
		if n.Epoch != before.Epoch && (len(out) > 0 || !reflect.DeepEqual(before, h.s)) {
			h.fail("a notice of epoch %d did something in epoch %d", n.Epoch, before.Epoch)
		}
		if b, ok := n.Notice.(core.TurnBegan); ok && before.Last != nil && b.Turn == before.Last.ID && before.ProviderTurn == nil && h.s.ProviderTurn != nil {
			h.fail("a late word on the ended turn %s began another one", b.Turn)
		}
	}
	switch c := before.Closing; {
	case c == nil || before.Link != LinkUp:
	case h.s.Closing != nil && h.s.Closing.Word < c.Word:
		h.fail("an end of word %d became one of word %d", c.Word, h.s.Closing.Word)
	case h.s.Closing == nil && h.s.End != c.Word && h.s.Link != LinkBroken:
		h.fail("an end of word %d was decided, it ended as %d", c.Word, h.s.End)
	}
}

func simIsCommand(in Input) bool {
	switch in.(type) {
	case Prompt, Steer, Respond, Ask, Interrupt, Configure, Close, Resume:
		return true
	}
	return false
}

// effect takes what is true at once: timers, the order of events, who has been
// answered and what is in flight.
func (h *simHost) effect(e Effect) {
	switch e := e.(type) {
	case Append:
		if err := h.live.apply(e); err != nil {
			h.fail("journal: %v", err)
		}
		if e.Type.EndsTurn() {
			delete(h.sent.stops, e.TurnID)
			delete(h.sent.starts, e.TurnID)
		}
	case Arm:
		h.timers[e.Timer] = e.At
	case Disarm:
		delete(h.timers, e.Timer)
	case Reply:
		if h.answered[e.Token] {
			return
		}
		what, waits := h.tokens[e.Token]
		if !waits {
			h.fail("token %d was answered twice, or never waited", e.Token)
		}
		if (e.Err == nil) == (e.Value == nil) {
			h.fail("%s was answered with %v and %v", what, e.Value, e.Err)
		}
		// What was never stored has nothing that a key could answer for.
		if key := h.keys[e.Token]; key != "" && h.kept[key] != (e.Err == nil && h.s.End != EndGone) {
			h.fail("%s with a key was answered with %v, the key is kept: %v", what, e.Err, h.kept[key])
		}
		delete(h.tokens, e.Token)
	case Keep:
		if h.kept[e.Key.Key] {
			h.fail("a key was kept twice")
		}
		h.kept[e.Key.Key] = true
	case Send:
		h.inFlight(e.Op)
	}
}

func (h *simHost) inFlight(op core.Op) {
	switch op := op.(type) {
	case core.StartTurn:
		if h.sent.starts[op.TurnID] {
			h.fail("StartTurn of %s was sent twice", op.TurnID)
		}
		for id := range h.sent.starts {
			if t := h.live.turns[id]; t != nil && t.phase == foldAccepted {
				h.fail("StartTurn of %s while %s is not accepted yet", op.TurnID, id)
			}
		}
		if t := h.live.turns[op.TurnID]; t == nil || t.phase != foldAccepted {
			h.fail("StartTurn of %s, which is not accepted", op.TurnID)
		}
		h.sent.starts[op.TurnID] = true
	case core.Interrupt:
		if len(h.sent.stops) > 0 {
			h.fail("Interrupt of %s while %v is on its way", op.TurnID, h.sent.stops)
		}
		t := h.s.Active()
		if t == nil || t.Name != op.TurnID {
			h.fail("Interrupt of %s, which is not the active turn", op.TurnID)
		}
		h.sent.stops[t.Rec.ID] = true
	case core.Configure:
		n := 0
		for _, p := range h.s.Ops {
			if p.Kind == OpConfigure {
				n++
			}
		}
		if n != 1 {
			h.fail("%d Configure ops are in flight", n)
		}
	}
}

// check holds the invariants of one session against its State.
func (h *simHost) check() {
	st, folded := h.s.Status(), h.live.status()
	switch st {
	case core.StatusOpening, core.StatusClosing:
	default:
		if st != folded && h.s.End != EndGone {
			h.fail("the status is %s, the journal says %s", st, folded)
		}
	}
	h.checkTurns()
	h.checkDeadlines()
	if h.s.End != EndNone || h.s.Link == LinkBroken {
		if len(h.timers) > 0 {
			h.fail("%s with timers %v", st, h.timers)
		}
		if len(h.tokens) > 0 && h.waitsInside() {
			h.fail("%s with callers who wait: %v", st, h.tokens)
		}
		if len(h.s.Ops) > 0 || h.s.Turn != nil || h.s.ProviderTurn != nil || len(h.s.Queue) > 0 {
			h.fail("%s with work left", st)
		}
	}
}

// waitsInside reports whether a caller waits for the machine, not in the inbox.
func (h *simHost) waitsInside() bool {
	return len(h.tokens) > simCountTokens(h.cmds)+simCountTokens(h.again)
}

func simCountTokens(ins []Input) int {
	n := 0
	for _, in := range ins {
		if simTokenOf(in) != 0 {
			n++
		}
	}
	return n
}

func simTokenOf(in Input) Token {
	switch in := in.(type) {
	case Start:
		return in.Token
	case Prompt:
		return in.Token
	case Steer:
		return in.Token
	case Respond:
		return in.Token
	case Ask:
		return in.Token
	case Interrupt:
		return in.Token
	case Configure:
		return in.Token
	case Close:
		return in.Token
	case Resume:
		return in.Token
	}
	return 0
}

// checkTurns compares the turns, requests and queue with the journal's.
func (h *simHost) checkTurns() {
	for _, t := range []*ActiveTurn{h.s.Turn, h.s.ProviderTurn} {
		if t == nil {
			continue
		}
		f := h.live.turns[t.Rec.ID]
		if f == nil || f.status() != t.Status() {
			h.fail("turn %s is %s, the journal says %v", t.Rec.ID, t.Status(), f)
		}
		if f.open != len(t.Requests) {
			h.fail("turn %s has %d open requests, the journal says %d", t.Rec.ID, len(t.Requests), f.open)
		}
	}
	if o, p := h.s.Turn, h.s.ProviderTurn; o != nil && p != nil && o.Phase == PhaseRunning {
		h.fail("two turns run: %s and %s", o.Rec.ID, p.Rec.ID)
	}
	if (h.s.Turn == nil) != (h.live.ours == "") || (h.s.ProviderTurn == nil) != (h.live.theirs == "") || len(h.s.Queue) != len(h.live.queue) {
		h.fail("the journal has other active turns: %q, %q and %d queued", h.live.ours, h.live.theirs, len(h.live.queue))
	}
	for i, q := range h.s.Queue {
		if h.live.queue[i] != q.Rec.ID {
			h.fail("the queue has another order than the journal")
		}
	}
	if len(h.s.Queue) > core.MaxQueue {
		h.fail("%d turns are queued", len(h.s.Queue))
	}
}
