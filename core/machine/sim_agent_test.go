package machine

import (
	"fmt"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// simAgent is the provider's side of one conversation. It is rude: it answers
// ops late, twice, in another order or never, speaks of turns that have ended
// or never were, raises requests at any time and dies when it likes.
type simAgent struct {
	h      *simHost
	epoch  uint64
	hungUp bool // it was told to end
	gone   bool // its tree has ended
	deaf   bool // it answers no op
	stuck  bool // a hangup takes longer than anyone waits
	closed bool // a hangup has been answered, as each one is

	ops      []core.Op   // not answered yet
	answered []core.OpID // for answering again
	ours     []string
	theirs   []string
	refs     []string
	named    int
}

// deliver hands an op to the conversation; one that is down refuses it.
func (h *simHost) deliver(op core.Op) {
	c := h.conns[h.s.Epoch]
	if c == nil || c.gone {
		h.notes = append(h.notes, Notice{Epoch: h.s.Epoch, Notice: core.OpDone{Op: op.OpID(), Err: core.Errorf(core.CodeSessionUnavailable, "down")}})
		return
	}
	c.ops = append(c.ops, op)
	if st, ok := op.(core.StartTurn); ok {
		c.ours = append(c.ours, st.TurnID)
	}
}

func (c *simAgent) say(n core.Notice) {
	c.h.notes = append(c.h.notes, Notice{Epoch: c.epoch, Notice: n,
		TurnID: c.h.w.newID(c.h, "trn_p"), RequestID: c.h.w.newAsk(c.h)})
}

// turn names some turn: mostly the last of ours, now and then an older one, one
// of its own, one that never was, or none.
func (c *simAgent) turn(d *simDice) string {
	switch k := d.n(16); {
	case k < 9 && len(c.ours) > 0:
		return c.ours[len(c.ours)-1]
	case k < 13 && len(c.theirs) > 0:
		return c.theirs[len(c.theirs)-1]
	case k == 13 && len(c.ours) > 0:
		return c.ours[d.n(len(c.ours))]
	case k == 14:
		return "nobody"
	case k == 15:
		return ""
	case len(c.h.ids) > 0:
		return c.h.ids[len(c.h.ids)-1]
	}
	return "auto"
}

// answer returns what became of an op: mostly the oldest, mostly taken.
func (c *simAgent) answer(d *simDice) {
	if c.deaf {
		return
	}
	if len(c.ops) == 0 || d.n(24) == 0 {
		if len(c.answered) > 0 {
			c.say(core.OpDone{Op: c.answered[d.n(len(c.answered))], Err: c.refusal(d)})
		}
		return
	}
	i := 0
	if d.n(4) == 0 {
		i = d.n(len(c.ops))
	}
	op := c.ops[i]
	c.ops = slices.Delete(c.ops, i, i+1)
	c.answered = append(c.answered, op.OpID())
	ref := ""
	if st, ok := op.(core.StartTurn); ok {
		ref = "ref-" + st.TurnID
	}
	c.say(core.OpDone{Op: op.OpID(), Ref: ref, Err: c.refusal(d)})
}

func (c *simAgent) refusal(d *simDice) *core.Error {
	if d.n(5) > 0 {
		return nil
	}
	return core.Errorf(core.CodeCapability, "the agent says no")
}

func (c *simAgent) begin(d *simDice) {
	name := c.turn(d)
	if d.n(3) > 0 {
		c.named++
		name = fmt.Sprintf("auto%d", c.named)
		c.theirs = append(c.theirs, name)
	}
	c.say(core.TurnBegan{Turn: name, Ref: name})
}

func (c *simAgent) content(d *simDice) {
	var p core.Payload = core.MessageDelta{Item: "i", Text: "x"}
	switch d.n(9) {
	case 6:
		p = core.Warning{Message: "careful"}
	case 7:
		p = core.UsageUpdated{Scope: core.UsageSession}
	case 8:
		p = core.ProviderError{Message: "overloaded", WillRetry: true}
	case 0:
		p = core.Message{Item: "i", Text: "done"}
	case 1:
		p = core.ToolStarted{Item: "t", Name: "sh", Kind: core.ToolCommand, Title: "ls"}
	case 2:
		p = core.FileChange{Changes: []core.FileEdit{{Path: "a", Kind: core.FileModified}}}
	case 3:
		p = core.UsageUpdated{Scope: core.UsageTurn}
	}
	c.say(core.Content{Turn: c.turn(d), Payload: p})
}

func (c *simAgent) end(d *simDice) {
	n := core.TurnEnded{Turn: c.turn(d), Verdict: []core.Verdict{core.VerdictCompleted, core.VerdictCompleted, core.VerdictFailed, core.VerdictCancelled}[d.n(4)]}
	if n.Verdict == core.VerdictFailed && d.n(2) == 0 {
		n.Result.Error = &core.TurnError{Code: core.TurnAuthRequired, Message: "sign in"}
	}
	c.say(n)
	if d.n(6) == 0 { // one result may end two turns, and some say it twice
		n.Turn = c.turn(d)
		c.say(n)
	}
}

func (c *simAgent) ask(d *simDice) {
	c.named++
	ref := fmt.Sprintf("ask%d", c.named)
	c.refs = append(c.refs, ref)
	spec := askApproval()
	switch d.n(4) {
	case 0:
		spec.Actions = []core.Action{core.ActionApprove, core.ActionCancel}
	case 1:
		spec = core.RequestSpec{Kind: core.KindQuestion, Prompt: "which?", Actions: []core.Action{core.ActionAnswer}, Questions: []core.Question{{ID: "q", Prompt: "which?"}}}
	}
	c.say(core.RequestRaised{Turn: c.turn(d), Ref: ref, Spec: spec})
}

func (c *simAgent) withdraw(d *simDice) {
	ref := "nothing"
	if len(c.refs) > 0 && d.n(8) > 0 {
		ref = c.refs[max(0, len(c.refs)-1-d.n(3))]
	}
	c.say(core.RequestWithdrawn{Ref: ref})
}

// behave is an agent that does its work: it takes all ops and ends its turn.
func (c *simAgent) behave() {
	if c.deaf {
		return
	}
	for _, op := range c.ops {
		c.answered = append(c.answered, op.OpID())
		c.say(core.OpDone{Op: op.OpID()})
	}
	c.ops = nil
	if t := c.h.s.Active(); t != nil {
		v := core.VerdictCompleted
		if t.Intent != IntentNone {
			v = core.VerdictCancelled
		}
		c.say(core.TurnEnded{Turn: t.Name, Verdict: v})
	}
}

// die breaks the link.
func (c *simAgent) die() {
	c.gone = true
	c.h.notes = append(c.h.notes, LinkLost{Epoch: c.epoch, Err: &core.TurnError{Code: core.TurnTransportLost, Message: "eof"}})
}

// end of a hangup: the tree is gone.
func (c *simAgent) finish() {
	c.gone, c.closed = true, true
	c.h.notes = append(c.h.notes, HungUp{Epoch: c.epoch})
}
