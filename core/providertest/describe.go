package providertest

import (
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// maxTrail is how many notices a failing check shows.
const maxTrail = 20

// trail is the last notices of a link, for the message of a check that fails.
type trail []string

func (t *trail) add(n core.Notice) {
	*t = append(*t, describe(n))
	if len(*t) > maxTrail {
		*t = (*t)[1:]
	}
}

// behind adds the notices to what went wrong.
func (t trail) behind(err error) error {
	if err == nil || len(t) == 0 {
		return err
	}
	return fmt.Errorf("%w\nthe last notices were:\n  %s", err, strings.Join(t, "\n  "))
}

// describe is a notice on one line, without its raw frame.
func describe(n core.Notice) string {
	var s string
	switch n := n.(type) {
	case core.OpDone:
		s = fmt.Sprintf("OpDone %d", n.Op)
		if n.Err != nil {
			s += ": " + n.Err.Error()
		}
	case core.TurnBegan:
		s = fmt.Sprintf("TurnBegan %s", n.Turn)
	case core.Content:
		if n.Payload == nil {
			return fmt.Sprintf("Content %s without a payload", n.Turn)
		}
		s = fmt.Sprintf("%s %s %+v", n.Payload.EventType(), n.Turn, n.Payload)
	case core.RequestRaised:
		s = fmt.Sprintf("RequestRaised %s %q %s: %s", n.Turn, n.Ref, n.Spec.Kind, n.Spec.Prompt)
	case core.RequestWithdrawn:
		s = fmt.Sprintf("RequestWithdrawn %q", n.Ref)
	case core.TurnEnded:
		s = fmt.Sprintf("TurnEnded %s %s", n.Turn, n.Verdict)
		if e := n.Result.Error; e != nil {
			s += fmt.Sprintf(": %s: %s", e.Code, e.Message)
		}
	case core.SessionChanged:
		s = fmt.Sprintf("SessionChanged %q", n.ProviderSessionID)
	default:
		s = fmt.Sprintf("%T", n)
	}
	return short(s)
}
