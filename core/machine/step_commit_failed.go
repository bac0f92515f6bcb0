package machine

import (
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// Unstored is what becomes of a batch of inputs that the store did not take. Unless
// Stands is set nothing of the batch has happened: the host goes back to the state
// before it, ends the session if Ends is set, answers Refused and then steps Again.
// What the provider has done outside stays true, so its reports are always stepped
// again.
type Unstored struct {
	// Stands is set when the batch is committed again, with Effects only.
	Stands  bool
	Effects []Effect

	// Again are the inputs to step again, in order.
	Again []Input
	// Refused are the replies to callers whose commands have not happened. They come
	// after the end of the session, so that readers see it by then.
	Refused []Reply
	// Ends is set when the host is to step StoreFailed with Stop.
	Ends bool
	// Taken is set when the stored session is another server's from now on: nothing
	// is written of this one any more.
	Taken bool
}

// refuse adds the reply to the caller of an input, if one waits.
func (u *Unstored) refuse(in Input, err *core.Error) {
	if t := in.token(); t != 0 {
		u.Refused = append(u.Refused, Reply{Token: t, Err: err})
	}
}

// OnConflict returns what becomes of a batch that conflicts with what another
// writer has stored. before is the state before the batch, out are its effects.
//
//	an input brought the id or     it is refused; the rest is stepped again
//	key that is taken
//	a key is taken whose call      the batch stands without the key
//	has had its effect outside
//	any other conflict             another server writes the session, or deleted it: it
//	                               ends here, since two agents must not run
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

// OnStop returns what becomes of a batch with which the session ends, because it
// could not be stored. Its callers are refused with err.
//
//	the opening succeeded          it is refused, and ends by that
//	the opening failed, or the     the report is stepped again, and ends it
//	link is gone
//	any other                      the session ends at once
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

// TurnUsed returns the refusal of a chosen turn id that another prompt or session
// has used.
func TurnUsed(id string) *core.Error {
	return core.Errorf(core.CodeTurnUsed, "turn_id %s was used before, for another prompt or session", id).
		WithHint("Choose another turn_id, or leave it out.").WithDetail("turn_id", id)
}

// SessionInUse returns the refusal of a session id whose session is live.
func SessionInUse(id string) *core.Error {
	return core.Errorf(core.CodeSessionInUse, "session %s exists and is live", id).
		WithHint("Use it with send_message, or choose another session_id.")
}
