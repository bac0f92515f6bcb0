package providertest

import (
	"errors"
	"fmt"

	"github.com/harness-mcp/harness-mcp/core"
)

var memoryChecks = []Check{
	{"the second turn remembers the first", checkRemember},
	{"a resumed conversation remembers", checkResume},
	{"a forked conversation remembers and is another", checkFork},
}

// keepsake is the word that a conversation is to remember.
const keepsake = "marmalade"

// checkRemember proves that the turns of one Conn share one conversation.
func checkRemember(e *Env) error {
	if e.Prompts.Recall == "" {
		return noPrompt("Recall")
	}
	return e.with(func(l *link) error {
		if _, err := l.play(e.Prompts.Say(keepsake), nil); err != nil {
			return err
		}
		return l.recalls()
	})
}

// recalls wants the agent to know what it was asked before.
func (l *link) recalls() error {
	p, err := l.play(l.env.Prompts.Recall, nil)
	if err != nil {
		return err
	}
	return p.says(keepsake)
}

// checkResume proves that a new Conn with a provider session id continues that
// conversation under the same id.
func checkResume(e *Env) error { return e.continued("resume", resuming, false) }

// checkFork proves that a fork has the history of the conversation and an id of its
// own.
func checkFork(e *Env) error { return e.continued("fork", forking, true) }

// continued leaves a conversation and opens it again, or a branch of it.
func (e *Env) continued(what string, pick func(core.Capabilities) core.Support, fork bool) error {
	if err := e.able(what, pick); err != nil {
		return err
	}
	if e.Prompts.Recall == "" {
		return noPrompt("Recall")
	}
	first, err := e.open(nil)
	if err != nil {
		return err
	}
	_, err = first.play(e.Prompts.Say(keepsake), nil)
	if err := first.end(err); err != nil {
		return err
	}
	if first.watch.id == "" {
		return errors.New("the conversation has no provider session id to continue it by")
	}
	again, err := e.open(func(c *core.SessionConfig) { c.ProviderSesID, c.Fork = first.watch.id, fork })
	if err != nil {
		return err
	}
	err = again.recalls()
	if err == nil {
		err = again.fence()
	}
	if same := again.watch.id == first.watch.id; err == nil && same == fork {
		err = fmt.Errorf("the conversation was %q and after the %s it is %q", first.watch.id, what, again.watch.id)
	}
	return again.end(err)
}
