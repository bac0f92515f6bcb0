package providertest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

var requestChecks = []Check{
	{"an approval is approved", checkApprove},
	{"an approval is denied and the turn goes on", checkDeny},
	{"an approval is cancelled and stops the turn", checkCancel},
	{"a question is answered", checkAnswer},
	{"a question is answered in other words", checkOtherAnswer},
	{"an answer that nobody waits for is refused", checkStrayAnswer},
}

// checked returns a response as core sends it to an adapter. One that the
// request does not offer is unchanged, and the check fails by its outcome.
func checked(spec core.RequestSpec, r core.Response) core.Response {
	r, _ = core.CheckResponse(spec, r)
	return r
}

// approval approves once.
func approval(spec core.RequestSpec) core.Response {
	return checked(spec, core.Response{Action: core.ActionApprove})
}

// decide plays the Approve prompt, answers what comes up with the action, and
// looks at the outcome. An action that the agent does not offer is a skip.
func (e *Env) decide(action core.Action, want core.Verdict, look func(played) error) error {
	if err := e.need("approvals", approvals, e.Prompts.Approve != ""); err != nil {
		return err
	}
	return e.with(func(l *link) error {
		asked, offered := false, true
		p, err := l.play(e.Prompts.Approve, func(r core.RequestRaised) []core.Op {
			asked, offered = true, offered && slices.Contains(r.Spec.Actions, action)
			resp := approval(r.Spec)
			if action != core.ActionApprove && offered {
				resp = checked(r.Spec, core.Response{Action: action, Reason: "the conformance suite says so"})
			}
			return []core.Op{core.Respond{ID: l.op(), Ref: r.Ref, Response: resp}}
		})
		switch {
		case err != nil:
			return err
		case !asked:
			return errors.New("the agent asked for no approval")
		case !offered && action == core.ActionApprove:
			return errors.New("an approval that cannot be approved")
		case !offered:
			return skip{"this agent's approvals do not offer " + string(action)}
		}
		if err := p.verdict(want); err != nil {
			return err
		}
		return look(p)
	})
}

// checkApprove proves that the action runs after an approval: the turn completes and at
// least one tool was neither declined nor cancelled.
func checkApprove(e *Env) error {
	return e.decide(core.ActionApprove, core.VerdictCompleted, func(p played) error {
		for done := range payloads[core.ToolCompleted](p) {
			if done.Status != core.ToolDeclined && done.Status != core.ToolCancelled {
				return nil
			}
		}
		return errors.New("it was approved, and no tool was used")
	})
}

// checkDeny proves that a denial stops the action and not the turn, which completes.
func checkDeny(e *Env) error {
	return e.decide(core.ActionDeny, core.VerdictCompleted, notUsed)
}

// checkCancel proves that the action cancel stops both the action and the turn.
func checkCancel(e *Env) error {
	return e.decide(core.ActionCancel, core.VerdictCancelled, notUsed)
}

// notUsed returns an error if a tool of the turn ended with ToolOK.
func notUsed(p played) error {
	for done := range payloads[core.ToolCompleted](p) {
		if done.Status == core.ToolOK {
			return fmt.Errorf("it was refused, and tool %q ended ok", done.Item)
		}
	}
	return nil
}

// askAndAnswer plays the Ask prompt with an answer for each question.
func (e *Env) askAndAnswer(choose func(core.Question) ([]string, error)) error {
	if err := e.need("questions", questions, e.Prompts.Ask != ""); err != nil {
		return err
	}
	return e.with(func(l *link) error {
		asked := 0
		var bad error
		answers := func(qs []core.Question) map[string][]string {
			given := make(map[string][]string)
			for _, q := range qs {
				values, err := choose(q)
				if err != nil {
					bad, values = err, []string{q.Choices[0].Value}
				}
				given[q.ID] = values
			}
			return given
		}
		p, err := l.play(e.Prompts.Ask, func(r core.RequestRaised) []core.Op {
			resp := approval(r.Spec)
			if r.Spec.Kind == core.KindQuestion {
				asked++
				resp = checked(r.Spec, core.Response{Action: core.ActionAnswer, Answers: answers(r.Spec.Questions)})
			}
			return []core.Op{core.Respond{ID: l.op(), Ref: r.Ref, Response: resp}}
		})
		switch {
		case err != nil:
			return err
		case asked == 0:
			return errors.New("the agent asked no question")
		case bad != nil:
			return bad
		}
		return p.verdict(core.VerdictCompleted)
	})
}

// checkAnswer proves that a question can be answered with its first choice, or with
// free text where it has no choices, and that the turn completes after it.
func checkAnswer(e *Env) error {
	return e.askAndAnswer(func(q core.Question) ([]string, error) {
		if len(q.Choices) == 0 {
			return []string{"something else"}, nil
		}
		return []string{q.Choices[0].Value}, nil
	})
}

// checkOtherAnswer proves that a question with AllowsOther takes a text that is not one
// of its choices.
func checkOtherAnswer(e *Env) error {
	return e.askAndAnswer(func(q core.Question) ([]string, error) {
		if !q.AllowsOther {
			return nil, skip{"the question takes no other words"}
		}
		return []string{"something else"}, nil
	})
}

// checkStrayAnswer answers a request that never was and one that is over.
func checkStrayAnswer(e *Env) error {
	if e.able("approvals", approvals) != nil && e.able("questions", questions) != nil {
		return skip{"the provider declares neither approvals nor questions"}
	}
	return e.with(func(l *link) error {
		refs := []string{"nobody-asked-this"}
		if e.Prompts.Approve != "" {
			if _, err := l.play(e.Prompts.Approve, func(r core.RequestRaised) []core.Op {
				refs = append(refs, r.Ref)
				return []core.Op{core.Respond{ID: l.op(), Ref: r.Ref, Response: approval(r.Spec)}}
			}); err != nil {
				return err
			}
		}
		for _, ref := range refs {
			if err := l.refuses(ref); err != nil {
				return err
			}
		}
		return nil
	})
}

// refuses wants a definite rejection of an answer.
func (l *link) refuses(ref string) error {
	rejected, err := l.settle(core.Respond{
		ID: l.op(), Ref: ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce},
	})
	if err == nil && rejected == nil {
		err = fmt.Errorf("an answer to %q, which nobody waits for, was said to be done", ref)
	}
	return err
}
