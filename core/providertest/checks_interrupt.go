package providertest

import (
	"fmt"

	"github.com/harness-mcp/harness-mcp/core"
)

var interruptChecks = []Check{
	{"an interrupt stops a stream", checkInterruptStream},
	{"an interrupt right after the start", checkInterruptAtOnce},
	{"an interrupt with a request pending", checkInterruptRequest},
	{"an interrupt of what does not run changes nothing", checkInterruptNothing},
}

// streamed is how many pieces a message has that is to be interrupted.
const streamed = 2000

// tooSlow times Config.Timeout is a turn that only an interrupt or a close ends
// within the suite's timeouts.
const tooSlow = 4

// stop sends the interrupt and reads to the verdict and to its OpDone.
func (l *link) stop(turn string, requests ...string) (played, error) {
	op := core.Interrupt{ID: l.op(), TurnID: turn, Requests: requests}
	if err := l.send(op); err != nil {
		return played{}, err
	}
	p := played{turn: turn}
	over, answered := false, false
	err := l.until("the verdict on an interrupt", func(n core.Notice) bool {
		p.notices = append(p.notices, n)
		switch n := n.(type) {
		case core.OpDone:
			answered = answered || n.Op == op.ID
		case core.TurnEnded:
			if n.Turn == turn {
				p.ended, over = n, true
			}
		}
		return over && answered
	})
	return p, err
}

// checkInterruptStream takes completed too: the end may have been on its way.
func checkInterruptStream(e *Env) error {
	if err := e.able("interrupt", interrupt); err != nil {
		return err
	}
	if e.Prompts.Stream == nil {
		return noPrompt("Stream")
	}
	return e.with(func(l *link) error {
		turn, err := l.begin(e.Prompts.Stream(streamed))
		if err != nil {
			return err
		}
		if err := l.until("the first piece of a message", func(n core.Notice) bool {
			c, ok := n.(core.Content)
			return ok && c.Payload.EventType() == core.TypeMessageDelta
		}); err != nil {
			return err
		}
		p, err := l.stop(turn)
		if err == nil && p.ended.Verdict == core.VerdictFailed {
			err = p.verdict(core.VerdictCancelled)
		}
		return err
	})
}

// checkInterruptAtOnce interrupts at the acceptance, before the agent can have
// said anything.
func checkInterruptAtOnce(e *Env) error {
	if err := e.able("interrupt", interrupt); err != nil {
		return err
	}
	if e.Prompts.Slow == nil {
		return noPrompt("Slow")
	}
	return e.with(func(l *link) error {
		turn, err := l.begin(e.Prompts.Slow(tooSlow * e.Timeout))
		if err != nil {
			return err
		}
		p, err := l.stop(turn)
		if err != nil {
			return err
		}
		return p.verdict(core.VerdictCancelled)
	})
}

// checkInterruptRequest proves that an interrupt that names a pending request cancels
// the turn and ends the request: a later answer to it is refused.
func checkInterruptRequest(e *Env) error {
	if err := e.able("interrupt", interrupt); err != nil {
		return err
	}
	prompt := e.Prompts.Approve
	if prompt == "" {
		prompt = e.Prompts.Ask
	}
	if prompt == "" {
		return noPrompt("Approve and Prompts.Ask")
	}
	return e.with(func(l *link) error {
		turn, err := l.begin(prompt)
		if err != nil {
			return err
		}
		ref := ""
		if err := l.until("a request", func(n core.Notice) bool {
			r, ok := n.(core.RequestRaised)
			ref = r.Ref
			return ok
		}); err != nil {
			return err
		}
		p, err := l.stop(turn, ref)
		if err != nil {
			return err
		}
		if err := p.verdict(core.VerdictCancelled); err != nil {
			return err
		}
		if err := l.refuses(ref); err != nil {
			return fmt.Errorf("after the interrupt: %w", err)
		}
		return nil
	})
}

// checkInterruptNothing: an adapter may refuse it or take it as done already,
// but the next turn, which the fence plays, must not be hit.
func checkInterruptNothing(e *Env) error {
	if err := e.able("interrupt", interrupt); err != nil {
		return err
	}
	return e.with(func(l *link) error {
		p, err := l.play(e.Prompts.Say("over"), nil)
		if err != nil {
			return err
		}
		_, err = l.settle(core.Interrupt{ID: l.op(), TurnID: p.turn})
		return err
	})
}
