package machine

import (
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// Unstored is what becomes of a batch of inputs that the store did not take.
// Unless Stands is set nothing of the batch has happened: the host goes back to
// the state before it, ends the session if Ends is set, answers Refused and then
// steps Again. What the provider has done outside stays true, and so its reports
// are always stepped again.
type Unstored struct {
	// Stands says that the batch is committed again, with Effects only.
	Stands  bool
	Effects []Effect

	// Again are the inputs to step again, in order.
	Again []Input
	// Refused are the replies to callers whose commands have not happened.
	Refused []Reply
	// Ends says that the host steps StoreFailed with Stop, so that the session
	// ends. Refused follows, when readers see what became of the session.
	Ends bool
	// Taken says that the stored session is another server's from now on:
	// nothing is written of this one any more.
	Taken bool
}

// refuse adds the reply to the caller of an input, if one waits.
func (u *Unstored) refuse(in Input, err *core.Error) {
	if t := tokenOf(in); t != 0 {
		u.Refused = append(u.Refused, Reply{Token: t, Err: err})
	}
}

// OnConflict decides what becomes of a batch that met something that another
// writer had stored first. before is the state before the batch, out what the
// batch wanted.
//
// An input that brought the id or the key in question is refused, and the rest
// is stepped again without it. A key whose call has had its effect outside stays
// with the other call. Anything else means that another server writes the
// session or has deleted it: the session ends here, since its agent must not go
// on beside another.
func OnConflict(before State, batch []Input, out []Effect, c *core.ConflictError) Unstored {
	var u Unstored
	var refused []Input // openings, behind the rest
	for _, in := range batch {
		err := conflictOf(in, before, c)
		if err == nil {
			u.Again = append(u.Again, in)
		} else if opened, ok := in.(Opened); ok {
			opened.Refused = err
			refused = append(refused, opened)
		} else {
			u.refuse(in, err)
		}
	}
	if len(u.Again) < len(batch) {
		u.Again = append(u.Again, refused...)
		return u
	}
	if c.Kind == "key" {
		rest := slices.DeleteFunc(slices.Clone(out), func(e Effect) bool {
			k, ok := e.(Keep)
			return ok && k.Key.Key == c.ID
		})
		if len(rest) < len(out) {
			return Unstored{Stands: true, Effects: rest}
		}
	}
	id := before.Base.Config.SessionID
	u = OnStop(before, batch, core.Errorf(core.CodeOtherInstance, "session %s was taken by another server", id).
		WithHint("inspect {id: %q} shows it.", id))
	u.Taken = true
	return u
}

// OnStop decides what becomes of a batch with which the session ends, because
// it could not be stored: its callers are refused with err.
//
// An opening that has just succeeded is refused, and ends by that; one that is
// reported to have failed, or to be gone, ends by its report. In every other
// case the session ends at once.
func OnStop(before State, batch []Input, err *core.Error) Unstored {
	var u Unstored
	for _, in := range batch {
		switch in := in.(type) {
		case Opened:
			if in.Err == nil && before.Link == LinkOpening && before.Closing == nil {
				in.Refused = err
			}
			u.Again = append(u.Again, in)
		case HungUp, LinkLost:
			u.Again = append(u.Again, in)
		default:
			u.refuse(in, err)
		}
	}
	u.Ends = before.Link != LinkOpening || len(u.Again) == 0
	return u
}

// conflictOf returns the refusal of the input that brought what conflicts, nil
// for any other input.
func conflictOf(in Input, before State, c *core.ConflictError) *core.Error {
	id := before.Base.Config.SessionID
	switch in := in.(type) {
	case Prompt:
		switch {
		case c.Kind == "turn_id" && in.TurnID == c.ID:
			return TurnUsed(c.ID)
		case c.Kind == "key" && in.Key != nil && in.Key.Key == c.ID:
			return core.KeyTaken(c.ID)
		}
	case Opened:
		o := before.Opening
		switch {
		case o == nil || in.Err != nil || in.Refused != nil || in.Epoch != before.Epoch:
		case c.Kind == "session_id":
			return SessionInUse(id)
		case c.Kind == "seq": // a resume, and the session is not what it was
			return core.Errorf(core.CodeSessionInUse, "session %s was changed by another server while it opened", id).
				WithHint("inspect {id: %q} shows it.", id).Retry()
		case c.Kind == "key" && o.Key != nil && o.Key.Key == c.ID:
			return core.KeyTaken(c.ID)
		}
	}
	return nil
}

func TurnUsed(id string) *core.Error {
	return core.Errorf(core.CodeTurnUsed, "turn_id %s was used before, for another prompt or session", id).
		WithHint("Choose another turn_id, or leave it out.").WithDetail("turn_id", id)
}

func SessionInUse(id string) *core.Error {
	return core.Errorf(core.CodeSessionInUse, "session %s exists and is live", id).
		WithHint("Use it with send_message, or choose another session_id.")
}

// tokenOf returns the token of a caller's command, 0 for any other input.
func tokenOf(in Input) Token {
	switch in := in.(type) {
	case Start:
		return in.Token
	case Resume:
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
	}
	return 0
}
