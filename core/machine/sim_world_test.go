package machine

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unique"

	"github.com/harness-mcp/harness-mcp/core"
)

// simWorld is several sessions on one clock and one store.
type simWorld struct {
	t     testing.TB
	now   time.Time
	hosts [simSessions]*simHost
	made  int
	store simStore
	stop  bool // the operator's policy on a failing store
	steps int
	trace *[]string
	// thorough looks at purity after every step: slow, for shrinking.
	thorough bool
	seen     map[string]bool // what the worlds have been through: coverage
}

const (
	simSessions = 3
	// simSample is how many steps pass between two looks at purity, which
	// cost more than the step.
	simSample = 61
	// simBatchSample is the same for a drain of several inputs.
	simBatchSample = 11
)

type simStore int

const (
	storeWorks simStore = iota
	storeStalls
	storeFails
)

// simDice returns small numbers from one seed, so that an action that is removed
// changes nothing in the others.
type simDice uint32

func (d *simDice) n(k int) int {
	*d = *d*1664525 + 1013904223
	return int(uint32(*d)>>8) % k
}

// simAction is one thing that happens, to one session where it concerns one.
type simAction struct {
	kind    simKind
	session uint8
	arg     uint32
}

type simKind uint8

const (
	simStart simKind = iota
	simSend
	simFollowUp
	simSteer
	simRespond
	simAskUser
	simInterrupt
	simConfigure
	simClose
	simKill
	simResume
	simOpened
	simAnswer
	simBegin
	simContent
	simEnd
	simAsk
	simWithdraw
	simChange
	simDie
	simHungUp
	simStale
	simBehave
	simTick
	simTimer
	simDrain
	simStoreMode
	simRecovered
	simCrash
	simShutdown
)

var simCalls = map[simKind]string{simSend: "send", simFollowUp: "follow_up", simSteer: "steer", simRespond: "respond", simAskUser: "ask",
	simInterrupt: "interrupt", simConfigure: "configure", simClose: "close", simKill: "kill", simResume: "resume"}

// simWeights is how often each kind happens.
var simWeights = map[simKind]int{simStart: 60, simSend: 24, simFollowUp: 24, simSteer: 8, simRespond: 24, simAskUser: 8, simInterrupt: 8,
	simConfigure: 5, simClose: 2, simKill: 1, simResume: 16, simOpened: 60, simAnswer: 50, simBegin: 8, simContent: 40, simEnd: 20,
	simAsk: 24, simWithdraw: 5, simChange: 3, simDie: 1, simHungUp: 12, simStale: 2, simBehave: 8, simTick: 20, simTimer: 4,
	simDrain: 150, simStoreMode: 3, simRecovered: 6, simCrash: 1, simShutdown: 1}

func (w *simWorld) newID(h *simHost, prefix string) string {
	w.made++
	id := fmt.Sprintf("%s%06d", prefix, w.made)
	h.ids = simRemember(h.ids, id)
	return id
}

func (w *simWorld) newAsk(h *simHost) string {
	w.made++
	id := fmt.Sprintf("req_%06d", w.made)
	h.asks = simRemember(h.asks, id)
	return id
}

// simRemember keeps the last few ids, for callers who are behind.
func simRemember(ids []string, id string) []string {
	if len(ids) >= 12 {
		ids = ids[4:]
	}
	return append(ids, id)
}

func (w *simWorld) note(h *simHost, in Input, out []Effect) {
	if w.seen != nil {
		w.seen[string(h.s.Status())+" "+strings.TrimPrefix(fmt.Sprintf("%T", in), "machine.")] = true
		for _, e := range out {
			switch e := e.(type) {
			case Append:
				w.seen[string(e.Type)] = true
			case Reply:
				if e.Err != nil {
					w.seen["refused "+string(e.Err.Code)] = true
				}
			}
		}
	}
	if w.trace == nil {
		return
	}
	body := fmt.Sprintf("%+v", in)
	if n, ok := in.(Notice); ok {
		body = fmt.Sprintf("%d %T%+v", n.Epoch, n.Notice, n.Notice)
	}
	*w.trace = append(*w.trace, fmt.Sprintf("%s %-9s %s %s -> %s", h.id, h.s.Status(), strings.TrimPrefix(fmt.Sprintf("%T", in), "machine."), body, describeEffects(out)))
}

// act makes one action happen.
func (w *simWorld) act(a simAction) {
	d := simDice(a.arg)
	i := int(a.session) % simSessions
	switch a.kind {
	case simStoreMode:
		w.store = []simStore{storeWorks, storeWorks, storeStalls, storeFails}[d.n(4)]
		return
	case simTick:
		w.now = w.now.Add(time.Duration(d.n([]int{100, 2000, 20000}[d.n(3)])) * time.Millisecond)
		return
	case simTimer:
		w.toNextTimer()
		return
	case simCrash:
		w.crash()
		return
	case simShutdown:
		for _, h := range w.hosts {
			if h != nil {
				h.cmds = append(h.cmds, Shutdown{})
			}
		}
		return
	}
	h := w.hosts[i]
	if h == nil || h.gone && len(h.cmds) == 0 || a.kind == simStart && h.s.End != EndNone && len(h.tokens) == 0 {
		if a.kind == simStart {
			w.start(i, &d)
		}
		return
	}
	if h.gone && a.kind != simDrain { // only what is in its inbox still gets an answer
		return
	}
	if !w.callers(h, a.kind, &d) {
		w.outside(h, a.kind, &d)
	}
}

func (w *simWorld) start(i int, d *simDice) {
	cfg := rigConfig()
	w.made++
	cfg.SessionID = fmt.Sprintf("ses_%d_%d", i, w.made)
	cfg.Timeouts.TurnRuntime = []time.Duration{0, 10 * time.Second, time.Minute}[d.n(3)]
	cfg.Timeouts.TurnIdle = []time.Duration{0, 6 * time.Second}[d.n(2)]
	cfg.Timeouts.Request = []time.Duration{0, 8 * time.Second, 15 * time.Minute}[d.n(3)]
	h := newSimHost(w, cfg.SessionID, cfg)
	caps := h.s.Base.Capabilities.Value()
	for _, c := range []*core.Support{&caps.Steer, &caps.Configure, &caps.Interrupt} {
		if d.n(12) == 0 {
			*c = core.Unsupported
		}
	}
	h.s.Base.Capabilities = unique.Make(caps)
	w.hosts[i] = h
	t := h.wait("start")
	h.cmds = append(h.cmds, Start{Token: t, Key: h.key(t, d)})
}

// key returns some callers an idempotency key.
func (h *simHost) key(t Token, d *simDice) *core.KeyRecord {
	if d.n(3) > 0 {
		return nil
	}
	k := &core.KeyRecord{Key: fmt.Sprintf("key%d", t)}
	h.keys[t] = k.Key
	return k
}

// wait makes a caller who waits for an answer.
func (h *simHost) wait(what string) Token {
	h.w.made++
	t := Token(h.w.made)
	h.tokens[t] = what
	return t
}

func (h *simHost) someTurn(d *simDice) string {
	switch t := h.s.Active(); {
	case d.n(2) == 0:
		return ""
	case d.n(3) > 0 && t != nil:
		return t.Rec.ID
	case d.n(3) > 0 && len(h.s.Queue) > 0:
		return h.s.Queue[d.n(len(h.s.Queue))].Rec.ID
	case len(h.ids) > 0:
		return h.ids[d.n(len(h.ids))]
	}
	return "trn_none"
}

// callers makes the calls that a client can make, with ids that fit and ids
// that do not any more.
func (w *simWorld) callers(h *simHost, k simKind, d *simDice) bool {
	if k < simSend || k > simResume {
		return false
	}
	t := h.wait("call " + simCalls[k])
	var key *core.KeyRecord
	if k != simAskUser { // it takes none
		key = h.key(t, d)
	}
	var in Input
	switch k {
	case simSend, simFollowUp:
		in = Prompt{Token: t, TurnID: w.newID(h, "trn_"), Input: core.TurnInput{Prompt: "go"}, Queue: k == simFollowUp, Key: key}
	case simSteer:
		in = Steer{Token: t, TurnID: h.someTurn(d), Input: core.TurnInput{Prompt: "left"}, Key: key}
	case simRespond:
		in = Respond{Token: t, RequestID: h.someRequest(d), Response: someResponse(d), By: core.ByCaller, Key: key}
	case simAskUser:
		said := []string{core.AskedNow, core.AskedNow, core.AskedDeclined, core.AskedCancelled, core.AskedNoAnswer}[d.n(5)]
		in = Ask{Token: t, RequestID: h.someRequest(d), Said: said, For: time.Duration(1+d.n(60)) * time.Second}
	case simInterrupt:
		in = Interrupt{Token: t, TurnID: h.someTurn(d), ClearQueue: d.n(4) == 0, Key: key}
	case simConfigure:
		in = Configure{Token: t, Changes: core.Changes{Model: "m2", ReasoningEffort: "high", ApprovalMode: core.ApprovalAutoEdit, SandboxMode: core.SandboxWorkspaceWrite}, Key: key}
	case simClose:
		in = Close{Token: t, Key: key}
	case simKill:
		in = Close{Token: t, Force: true, Key: key}
	case simResume:
		in = Resume{Token: t, Config: h.s.Base.Config, Key: key}
	}
	h.cmds = append(h.cmds, in)
	return true
}

func (h *simHost) someRequest(d *simDice) string {
	if v := h.s.View().Requests; len(v) > 0 && d.n(4) > 0 {
		return v[d.n(len(v))].ID
	}
	if len(h.asks) > 0 {
		return h.asks[d.n(len(h.asks))]
	}
	return "req_none"
}

func someResponse(d *simDice) core.Response {
	switch d.n(4) {
	case 0:
		return core.Response{Action: core.ActionAnswer, Answer: "yes"}
	case 1:
		return core.Response{Action: core.ActionCancel}
	}
	return core.Response{Action: core.ActionApprove}
}

// outside makes what agents, the host and the store do.
func (w *simWorld) outside(h *simHost, k simKind, d *simDice) {
	switch k {
	case simDrain:
		h.drain([]int{1, 1, 2, 4, 64}[d.n(5)], d)
		return
	case simRecovered:
		h.recovered()
		return
	case simOpened:
		if h.opening != 0 {
			h.open(d.n(4) > 0, d)
		}
		return
	case simHungUp:
		for e, c := range h.conns {
			if c.hungUp && !c.closed && !c.stuck && e <= h.s.Epoch {
				c.finish()
			}
		}
		return
	}
	c := h.conns[h.s.Epoch]
	if c == nil || c.gone {
		return
	}
	switch k {
	case simAnswer:
		c.answer(d)
	case simBegin:
		c.begin(d)
	case simContent:
		c.content(d)
	case simEnd:
		c.end(d)
	case simAsk:
		c.ask(d)
	case simWithdraw:
		c.withdraw(d)
	case simChange:
		c.say(core.SessionChanged{Model: fmt.Sprintf("m%d", d.n(4))})
	case simBehave:
		c.behave()
	case simDie:
		c.die()
	case simStale:
		h.notes = append(h.notes, Notice{Epoch: h.s.Epoch - 1, Notice: core.TurnEnded{Turn: c.turn(d), Verdict: core.VerdictCompleted}},
			LinkLost{Epoch: h.s.Epoch - 1}, HungUp{Epoch: h.s.Epoch - 1})
	}
}

// open is the outcome of an opening.
func (h *simHost) open(ok bool, d *simDice) {
	in := Opened{Epoch: h.opening}
	if ok {
		in.Ready = core.Ready{ProviderSessionID: "conv", PID: 1}
		h.conns[h.opening] = &simAgent{h: h, epoch: h.opening, stuck: d.n(8) == 0, deaf: d.n(8) == 0}
	} else {
		in.Err = core.Errorf(core.CodeStartFailed, "it did not come up")
	}
	h.opening = 0
	h.notes = append(h.notes, in)
}

// crash ends the server: callers, inboxes, timers and agents are gone; what
// the store has is recovered.
func (w *simWorld) crash() {
	for i, h := range w.hosts {
		if h != nil && !h.gone {
			w.hosts[i] = h.restart()
		}
	}
}

func (w *simWorld) toNextTimer() {
	var next time.Time
	for _, h := range w.hosts {
		if h == nil {
			continue
		}
		for _, at := range h.timers {
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	if next.After(w.now) {
		w.now = next
	}
}

// settle lets every timer fire, every hangup and opening end, and nothing else
// happen: whoever waits must have been answered then.
func (w *simWorld) settle() {
	w.store = storeWorks
	d := simDice(1)
	for range simSettle {
		busy := false
		for _, h := range w.hosts {
			if h == nil {
				continue
			}
			if h.opening != 0 {
				h.open(false, &d)
			}
			w.outside(h, simHungUp, &d)
			h.drain(64, &d)
			busy = busy || len(h.timers) > 0 || len(h.cmds)+len(h.notes)+len(h.again) > 0 || h.opening != 0 || h.hangingUp()
		}
		if !busy {
			break
		}
		w.toNextTimer()
	}
	for _, h := range w.hosts {
		if h == nil {
			continue
		}
		if len(h.tokens) > 0 {
			h.fail("all timers fired, all hangups done, and callers still wait: %v", h.tokens)
		}
		if len(h.timers) > 0 {
			h.fail("timers are left after all: %v", h.timers)
		}
		if st := h.s.Status(); !h.gone && (st == core.StatusClosing || st == core.StatusOpening) {
			h.fail("it stays %s for ever", st)
		}
	}
}

// simSettle bounds how many rounds a world needs to become idle.
const simSettle = 3000
