package providertest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

var turnChecks = []Check{
	{"a turn with text", checkText},
	{"text arrives unchanged", checkUnusualText},
	{"a long text arrives whole", checkLongText},
	{"a message streams", checkStream},
	{"reasoning is reported", checkThink},
	{"a tool is reported", checkTool},
	{"a failed turn says why and the next one works", checkFail},
	{"turns do not mix", checkTurnsApart},
	{"two conversations at once do not mix", checkTwoAtOnce},
	{"recv ends with its context and goes on", checkRecvContext},
	{"settings change between turns", checkConfigure},
	{"a steered turn goes on", checkSteer},
	{"steering what does not run is refused", checkSteerNothing},
}

// checkText proves that a prompt reaches the agent and its message comes back in a
// completed turn.
func checkText(e *Env) error {
	return e.with(func(l *link) error {
		p, err := l.play(e.Prompts.Say("lighthouse"), nil)
		if err != nil {
			return err
		}
		return p.says("lighthouse")
	})
}

// checkUnusualText proves that the adapter neither interprets nor escapes the text: no
// command, markup, variable or file reference is expanded on the way.
func checkUnusualText(e *Env) error {
	// A slash at the start, quotes, markup, a variable, a backslash and
	// characters of two, three and four bytes.
	const text = "/help \"two  spaces\" <b>&amp;</b> $HOME \\n @file \u00e9 \u6f22 \U0001f642"
	return e.with(func(l *link) error {
		p, err := l.play(e.Prompts.Say(text), nil)
		if err != nil {
			return err
		}
		return p.says(text)
	})
}

// checkLongText is longer than a pipe's buffer and than one argument of a
// command may be.
func checkLongText(e *Env) error {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "word%d ", i)
	}
	text.WriteString("end")
	return e.with(func(l *link) error {
		p, err := l.play(e.Prompts.Say(text.String()), nil)
		if err != nil {
			return err
		}
		return p.says(text.String())
	})
}

// checkStream proves that a provider that declares token streaming sends at least two
// deltas, and the whole message after them. The watch compares the two.
func checkStream(e *Env) error {
	if err := e.need("token streaming", streaming, e.Prompts.Stream != nil); err != nil {
		return err
	}
	return e.with(func(l *link) error {
		p, err := l.play(e.Prompts.Stream(20), nil)
		if err != nil {
			return err
		}
		deltas := 0
		for range payloads[core.MessageDelta](p) {
			deltas++
		}
		if deltas < 2 {
			return fmt.Errorf("a message of 20 pieces came in %d deltas", deltas)
		}
		if p.text() == "" {
			return errors.New("deltas, and no message in the end")
		}
		return p.verdict(core.VerdictCompleted)
	})
}

// checkThink proves that reasoning of the agent arrives as core.Reasoning with a text.
func checkThink(e *Env) error {
	if e.Prompts.Think == "" {
		return noPrompt("Think")
	}
	return e.with(func(l *link) error {
		p, err := l.play(e.Prompts.Think, nil)
		if err != nil {
			return err
		}
		for r := range payloads[core.Reasoning](p) {
			if r.Text != "" {
				return p.verdict(core.VerdictCompleted)
			}
		}
		return errors.New("no reasoning was reported")
	})
}

// checkTool proves that a tool call is reported to its end with ToolOK. The watch proves
// that its start came first.
func checkTool(e *Env) error {
	if e.Prompts.Run == "" {
		return noPrompt("Run")
	}
	return e.with(func(l *link) error {
		p, err := l.play(e.Prompts.Run, nil)
		if err != nil {
			return err
		}
		for done := range payloads[core.ToolCompleted](p) {
			if done.Status == core.ToolOK {
				return p.verdict(core.VerdictCompleted)
			}
		}
		return errors.New("no tool was reported to have ended ok")
	})
}

// turnCodes are the codes that Result.Error of a provider's verdict may have.
var turnCodes = map[core.Code]bool{
	core.TurnProviderError: true,
	core.TurnAuthRequired:  true,
	core.TurnRateLimited:   true,
}

// checkFail proves that a failed turn has an error with a message and one of turnCodes.
// The turn that with plays afterwards proves that the Conn is still usable.
func checkFail(e *Env) error {
	if e.Prompts.Fail == "" {
		return noPrompt("Fail")
	}
	return e.with(func(l *link) error {
		p, err := l.play(e.Prompts.Fail, nil)
		if err != nil {
			return err
		}
		if err := p.verdict(core.VerdictFailed); err != nil {
			return err
		}
		why := p.ended.Result.Error
		if why == nil || why.Message == "" {
			return errors.New("the turn failed and does not say why")
		}
		if !turnCodes[why.Code] {
			return fmt.Errorf("the turn failed with the code %q", why.Code)
		}
		return nil
	})
}

// checkTurnsApart sends one turn right behind the end of another. The watch
// finds items and notices of the first in the second.
func checkTurnsApart(e *Env) error {
	return e.with(func(l *link) error {
		for _, word := range []string{"harbour", "orchard", "quarry"} {
			p, err := l.play(e.Prompts.Say(word), nil)
			if err == nil {
				err = p.says(word)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// checkTwoAtOnce runs a turn in each of two conversations before it reads
// either. The watch of each finds what belongs to the other.
func checkTwoAtOnce(e *Env) error {
	return e.with(func(a *link) error {
		return e.with(func(b *link) error {
			words := map[*link]string{a: "harbour", b: "orchard"}
			turns := make(map[*link]string)
			for _, l := range []*link{a, b} {
				turn, _, err := l.start(e.Prompts.Say(words[l]))
				if err != nil {
					return err
				}
				turns[l] = turn
			}
			for _, l := range []*link{b, a} {
				p, err := l.follow(turns[l], 0, nil)
				if err == nil {
					err = p.says(words[l])
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// checkConfigure proves that Configure between turns accepts an approval mode that the
// spec lists.
func checkConfigure(e *Env) error {
	if err := e.able("configure", configure); err != nil {
		return err
	}
	t, _ := e.Provider.Spec().Transport(e.Launch.Transport)
	return e.with(func(l *link) error {
		rejected, err := l.settle(core.Configure{ID: l.op(), Changes: core.Changes{ApprovalMode: t.Approval[0]}})
		if err == nil && rejected != nil {
			err = fmt.Errorf("approval_mode %s was refused: %w", t.Approval[0], rejected)
		}
		return err
	})
}

// checkSteer steers while a request waits, where the agent can ask: then the
// turn is sure to run still. Otherwise in a slow turn.
func checkSteer(e *Env) error {
	if err := e.able("steer", steering); err != nil {
		return err
	}
	steer := func(l *link, turn string) core.Steer {
		return core.Steer{ID: l.op(), TurnID: turn, Input: core.TurnInput{Prompt: "and mind the gap"}}
	}
	if e.Prompts.Approve == "" && e.Prompts.Slow == nil {
		return noPrompt("Approve and Prompts.Slow")
	}
	return e.with(func(l *link) error {
		if e.Prompts.Approve != "" {
			turn, _, err := l.start(e.Prompts.Approve)
			if err != nil {
				return err
			}
			s := steer(l, turn)
			p, err := l.follow(turn, s.ID, func(r core.RequestRaised) []core.Op {
				ops := []core.Op{s, core.Respond{ID: l.op(), Ref: r.Ref, Response: approval(r.Spec)}}
				if l.watch.ops[s.ID] != nil { // a second request
					return ops[1:]
				}
				return ops
			})
			if err != nil {
				return err
			}
			return p.verdict(core.VerdictCompleted)
		}
		turn, err := l.begin(e.Prompts.Slow(e.Timeout / 4))
		if err != nil {
			return err
		}
		s := steer(l, turn)
		if err := l.send(s); err != nil {
			return err
		}
		p, err := l.follow(turn, s.ID, nil)
		if err != nil {
			return err
		}
		return p.verdict(core.VerdictCompleted)
	})
}

// checkSteerNothing proves that a steer of an unknown turn has an error as its outcome. It
// must not start a turn.
func checkSteerNothing(e *Env) error {
	if err := e.able("steer", steering); err != nil {
		return err
	}
	return e.with(func(l *link) error {
		rejected, err := l.settle(core.Steer{
			ID: l.op(), TurnID: core.NewID(core.PrefixTurn), Input: core.TurnInput{Prompt: "anyone there?"},
		})
		if err == nil && rejected == nil {
			err = errors.New("a steer of a turn that does not run was said to be done")
		}
		return err
	})
}
