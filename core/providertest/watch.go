package providertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// Watch checks what must hold for every notice of a Conn, whatever is played.
// The suite puts every notice through one; a test of its own situations, or of
// a translator's output, may too. It keeps all it has seen and is not safe for
// concurrent use.
type Watch struct {
	ops      map[core.OpID]*sentOp
	turns    map[string]*seenTurn
	items    map[string]*seenItem
	requests map[string]*seenRequest
	id       string // the provider session id, once known
}

type sentOp struct {
	op   core.Op
	done bool
}

type seenTurn struct{ begun, rejected, ended bool }

type seenItem struct {
	turn   string
	kind   string // message, reasoning or tool
	joined strings.Builder
	deltas bool
	closed bool
}

type seenRequest struct {
	turn string
	open bool
}

// NewWatch begins with what the opening found out.
func NewWatch(r core.Ready) *Watch {
	return &Watch{
		ops:      make(map[core.OpID]*sentOp),
		turns:    make(map[string]*seenTurn),
		items:    make(map[string]*seenItem),
		requests: make(map[string]*seenRequest),
		id:       r.ProviderSessionID,
	}
}

// Sending notes an op; it is called before Send.
func (w *Watch) Sending(op core.Op) {
	w.ops[op.OpID()] = &sentOp{op: op}
	if s, ok := op.(core.StartTurn); ok {
		w.turns[s.TurnID] = &seenTurn{}
	}
}

// Refused forgets an op that Send did not take.
func (w *Watch) Refused(op core.Op) {
	delete(w.ops, op.OpID())
	if s, ok := op.(core.StartTurn); ok {
		delete(w.turns, s.TurnID)
	}
}

// Unanswered returns an error that names an op which has had no OpDone.
func (w *Watch) Unanswered() error {
	for _, id := range slices.Sorted(maps.Keys(w.ops)) {
		if s := w.ops[id]; !s.done {
			return fmt.Errorf("no OpDone for %T %d", s.op, id)
		}
	}
	return nil
}

// See takes the next notice and returns an error when it breaks a rule.
func (w *Watch) See(n core.Notice) error {
	switch n := n.(type) {
	case core.OpDone:
		return w.opDone(n)
	case core.TurnBegan:
		if w.turns[n.Turn] == nil { // the provider's own
			w.turns[n.Turn] = &seenTurn{}
		}
		return w.inTurn(n.Turn, "TurnBegan")
	case core.Content:
		return w.content(n)
	case core.RequestRaised:
		return w.raised(n)
	case core.RequestWithdrawn:
		r := w.requests[n.Ref]
		if r == nil {
			return fmt.Errorf("RequestWithdrawn for %q, which was never raised", n.Ref)
		}
		r.open = false
		return nil
	case core.TurnEnded:
		return w.ended(n)
	case core.SessionChanged:
		if n.ProviderSessionID != "" {
			w.id = n.ProviderSessionID
		}
		return nil
	}
	return fmt.Errorf("Recv gave %T, which is no notice", n)
}

// opDone proves that each op that Send took has exactly one OpDone, that an error
// in it has a code and a message, and that a turn is not rejected after it began.
func (w *Watch) opDone(n core.OpDone) error {
	s := w.ops[n.Op]
	if s == nil {
		return fmt.Errorf("OpDone for op %d, which was not sent", n.Op)
	}
	if s.done {
		return fmt.Errorf("second OpDone for %T %d", s.op, n.Op)
	}
	s.done = true
	if n.Err != nil && (n.Err.Code == "" || n.Err.Message == "") {
		return fmt.Errorf("OpDone for %T %d has an error without code or message", s.op, n.Op)
	}
	switch op := s.op.(type) {
	case core.StartTurn:
		t := w.turns[op.TurnID]
		if n.Err != nil && t.begun {
			return fmt.Errorf("turn %s was rejected after it had begun: %v", op.TurnID, n.Err)
		}
		t.begun, t.rejected = n.Err == nil, n.Err != nil
	case core.Respond:
		if r := w.requests[op.Ref]; r != nil && n.Err == nil {
			r.open = false
		}
	}
	return nil
}

// inTurn checks that a notice belongs to a turn that runs, which it thereby
// proves to have begun.
func (w *Watch) inTurn(turn, what string) error {
	t := w.turns[turn]
	switch {
	case t == nil:
		return fmt.Errorf("%s of turn %q, which nobody began", what, turn)
	case t.ended:
		return fmt.Errorf("%s after the terminal of turn %s", what, turn)
	case t.rejected:
		return fmt.Errorf("%s of turn %s, which was rejected", what, turn)
	}
	t.begun = true
	return nil
}

// ended proves that a turn ends once, with a known verdict, and not before its
// items have. Its open requests end with it.
func (w *Watch) ended(n core.TurnEnded) error {
	if t := w.turns[n.Turn]; t != nil && t.ended {
		return fmt.Errorf("second TurnEnded of turn %s", n.Turn)
	}
	if err := w.inTurn(n.Turn, "TurnEnded"); err != nil {
		return err
	}
	w.turns[n.Turn].ended = true
	switch n.Verdict {
	case core.VerdictCompleted, core.VerdictFailed, core.VerdictCancelled:
	default:
		return fmt.Errorf("turn %s ended with the verdict %q", n.Turn, n.Verdict)
	}
	for _, id := range slices.Sorted(maps.Keys(w.items)) {
		if it := w.items[id]; it.turn == n.Turn && !it.closed {
			return fmt.Errorf("turn %s ended with its %s %q left open", n.Turn, it.kind, id)
		}
	}
	for _, r := range w.requests {
		if r.turn == n.Turn {
			r.open = false
		}
	}
	return nil
}

// raised proves that a request comes within a running turn or outside of any, has
// a reference that no open request has, and can be answered.
func (w *Watch) raised(n core.RequestRaised) error {
	if n.Turn != "" {
		if err := w.inTurn(n.Turn, "RequestRaised"); err != nil {
			return err
		}
	}
	if n.Ref == "" {
		return fmt.Errorf("RequestRaised without a Ref")
	}
	if r := w.requests[n.Ref]; r != nil && r.open {
		return fmt.Errorf("request name %q used again while it is open", n.Ref)
	}
	w.requests[n.Ref] = &seenRequest{turn: n.Turn, open: true}
	if err := checkSpec(n.Spec); err != nil {
		return fmt.Errorf("request %q: %w", n.Ref, err)
	}
	return nil
}

// actionsOf are the actions that a request of each kind may offer.
var actionsOf = map[core.RequestKind][]core.Action{
	core.KindQuestion:           {core.ActionAnswer, core.ActionCancel},
	core.KindCommandApproval:    {core.ActionApprove, core.ActionDeny, core.ActionCancel},
	core.KindFileChangeApproval: {core.ActionApprove, core.ActionDeny, core.ActionCancel},
	core.KindPermission:         {core.ActionApprove, core.ActionDeny, core.ActionCancel},
	core.KindConfirmation:       {core.ActionApprove, core.ActionDeny, core.ActionCancel},
	core.KindMCPElicitation:     {core.ActionAnswer, core.ActionDeny, core.ActionCancel},
}

// checkSpec returns what a caller could not answer in a request.
func checkSpec(s core.RequestSpec) error {
	allowed, ok := actionsOf[s.Kind]
	if !ok {
		return fmt.Errorf("unknown kind %q", s.Kind)
	}
	if s.Prompt == "" || len(s.Actions) == 0 {
		return fmt.Errorf("no prompt or no actions")
	}
	for _, a := range s.Actions {
		if !slices.Contains(allowed, a) {
			return fmt.Errorf("a %s cannot offer %q", s.Kind, a)
		}
	}
	if len(s.Scopes) > 0 && !slices.Contains(s.Actions, core.ActionApprove) {
		return fmt.Errorf("scopes without the action approve")
	}
	if s.Kind == core.KindQuestion && len(s.Questions) == 0 {
		return fmt.Errorf("a question without questions")
	}
	ids := make(map[string]bool)
	for _, q := range s.Questions {
		if q.ID == "" || q.Prompt == "" || ids[q.ID] {
			return fmt.Errorf("a question without id or prompt, or two with one id: %q", q.ID)
		}
		if len(q.Choices) == 0 && !q.AllowsOther {
			return fmt.Errorf("question %q has no possible answer", q.ID)
		}
		ids[q.ID] = true
	}
	return nil
}
