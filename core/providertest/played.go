package providertest

import (
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// played is a turn from its start to its end.
type played struct {
	turn    string
	notices []core.Notice
	ended   core.TurnEnded
}

// react is what a check does when a request comes up: the ops to send.
type react func(core.RequestRaised) []core.Op

// play runs a turn to its end. A nil react means that no request may come.
func (l *link) play(prompt string, r react) (played, error) {
	turn, op, err := l.start(prompt)
	if err != nil {
		return played{}, err
	}
	return l.follow(turn, op, r)
}

// follow reads a turn to its end and, when op is not 0, to that op's OpDone.
// No op may be refused meanwhile.
func (l *link) follow(turn string, op core.OpID, r react) (played, error) {
	p := played{turn: turn}
	over, answered := false, op == 0
	for !over || !answered {
		n, err := l.next("the end of the turn")
		if err != nil {
			return p, err
		}
		p.notices = append(p.notices, n)
		switch n := n.(type) {
		case core.OpDone:
			if n.Err != nil {
				return p, fmt.Errorf("%T was refused: %w", l.watch.ops[n.Op].op, n.Err)
			}
			answered = answered || n.Op == op
		case core.RequestRaised:
			if r == nil {
				return p, fmt.Errorf("the agent asks, which this prompt should not make it do: %s", n.Spec.Prompt)
			}
			for _, op := range r(n) {
				if err := l.send(op); err != nil {
					return p, err
				}
			}
		case core.TurnEnded:
			if n.Turn == turn {
				p.ended, over = n, true
			}
		}
	}
	return p, nil
}

// verdict wants the turn to have ended so.
func (p played) verdict(want core.Verdict) error {
	if p.ended.Verdict == want {
		return nil
	}
	if e := p.ended.Result.Error; e != nil {
		return fmt.Errorf("the turn ended %s, not %s: %s: %s", p.ended.Verdict, want, e.Code, e.Message)
	}
	return fmt.Errorf("the turn ended %s, not %s", p.ended.Verdict, want)
}

// text is the agent's last message.
func (p played) text() string {
	text := p.ended.Result.Text
	for m := range payloads[core.Message](p) {
		text = m.Text
	}
	return text
}

// says returns an error unless the turn completed with the text in its last message.
func (p played) says(want string) error {
	if err := p.verdict(core.VerdictCompleted); err != nil {
		return err
	}
	if !strings.Contains(p.text(), want) {
		return fmt.Errorf("the agent said %q, without %q", short(p.text()), short(want))
	}
	return nil
}

// payloads yields the turn's content of type P.
func payloads[P core.Payload](p played) func(yield func(P) bool) {
	return func(yield func(P) bool) {
		for _, n := range p.notices {
			c, ok := n.(core.Content)
			if !ok || c.Turn != p.turn {
				continue
			}
			if v, ok := c.Payload.(P); ok && !yield(v) {
				return
			}
		}
	}
}
