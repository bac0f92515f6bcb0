package machine

import "github.com/harness-mcp/harness-mcp/core"

// Restore returns the state of a session as a store has it. last is the turn that
// ended last, or nil.
//
//	closed, failed, killed         with that end, and no link
//	unavailable                    with a broken link
//	any live status                as its dead server left it, with the turns and requests
//	                               that are open; to be given an Recover
func Restore(rec core.SessionRecord, caps core.Capabilities, turns []core.TurnRecord, requests []core.Request, last *core.Turn) State {
	s := rec.Session
	st := NewState(rec.Launch, caps, s.Durability, s.UpdatedAt)
	st.Base.CreatedAt = s.CreatedAt
	st.Epoch, st.TurnsBegun, st.ProviderSessionID = s.Epoch, s.TurnsBegun, s.ProviderSessionID
	st.Model, st.ReasoningEffort, st.ApprovalMode, st.SandboxMode = s.Model, s.ReasoningEffort, s.ApprovalMode, s.SandboxMode
	st.Usage, st.CostUSD, st.Warnings, st.Reason, st.Err = s.Usage, s.CostUSD, s.Warnings, s.Reason, s.Error
	st.Last, st.Link = last, LinkDown
	switch s.Status {
	case core.StatusClosed:
		st.End = EndClosed
	case core.StatusFailed:
		st.End = EndFailed
	case core.StatusKilled:
		st.End = EndKilled
	case core.StatusUnavailable:
		st.Link = LinkBroken
	default:
		st.Link = LinkUp
		restoreWork(&st, s, turns, requests)
	}
	return st
}

// restoreWork restores the turns and requests that a dead server left open. A
// request that was claimed has a Claim without a caller.
func restoreWork(st *State, s core.Session, turns []core.TurnRecord, requests []core.Request) {
	byID := map[string]core.TurnRecord{}
	for _, t := range turns {
		byID[t.Turn.ID] = t
		if t.Turn.Status.Ended() || t.Turn.Status == core.TurnIsQueued {
			continue
		}
		a := &ActiveTurn{Rec: t.Turn, Name: t.Turn.ID, Phase: PhaseRunning, Accepted: true}
		if t.Turn.StartedAt.IsZero() {
			a.Phase, a.Accepted = PhaseStarting, false
		}
		for _, r := range requests {
			if r.TurnID == t.Turn.ID && !r.Status.Ended() {
				q := OpenRequest{Rec: r}
				if r.Status == core.RequestClaimed {
					q.Claim = &Claim{}
				}
				a.Requests = append(a.Requests, q)
			}
		}
		if t.Turn.Origin == core.OriginProvider {
			st.ProviderTurn = a
		} else {
			st.Turn = a
		}
	}
	for _, id := range s.Queue {
		if t, ok := byID[id]; ok && t.Turn.Status == core.TurnIsQueued {
			st.Queue = append(st.Queue, QueuedTurn{Rec: t.Turn})
		}
	}
}
