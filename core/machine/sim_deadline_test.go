package machine

import "github.com/harness-mcp/harness-mcp/core"

// checkDeadlines holds that nothing waits without a bound: whatever the State
// waits for has its timer, and no timer is left of what is over.
func (h *simHost) checkDeadlines() {
	want := map[TimerID]bool{}
	must := func(id TimerID, why string) {
		want[id] = true
		if _, armed := h.timers[id]; !armed {
			h.fail("%s and no timer %v", why, id)
		}
	}
	may := func(id TimerID) { want[id] = true }
	s, bounds := h.s, h.s.Base.Config.Timeouts
	switch {
	case s.Link == LinkOpening && s.Closing == nil:
		must(TimerID{Kind: TimerStartup}, "it opens")
	case s.Closing != nil && s.Closing.HungUp:
		must(TimerID{Kind: TimerHangup}, "it hangs up")
	case s.Status() == core.StatusIdle:
		must(TimerID{Kind: TimerSessionIdle}, "it is idle")
	}
	for _, p := range s.Ops {
		must(TimerID{Kind: TimerCommand, Op: p.ID}, "an op is on its way")
	}
	for _, t := range []*ActiveTurn{s.Turn, s.ProviderTurn} {
		if t == nil {
			continue
		}
		id := t.Rec.ID
		waits := t == s.Turn && s.ProviderTurn != nil
		if t.Intent != IntentNone {
			must(TimerID{Kind: TimerInterrupt, ID: id}, "a turn is being stopped")
		}
		switch start := (TimerID{Kind: TimerTurnStart, ID: id}); {
		case t.Phase == PhaseStarting && t.Intent == IntentNone && !waits:
			must(start, "a turn is starting")
		case t.Phase == PhaseStarting:
			may(start)
		}
		if bounds.TurnRuntime > 0 && t.Intent == IntentNone {
			must(TimerID{Kind: TimerTurnRuntime, ID: id}, "a turn has a runtime bound")
		}
		may(TimerID{Kind: TimerTurnRuntime, ID: id})
		if bounds.TurnIdle > 0 && t.Intent == IntentNone && !waits && len(t.Requests) == 0 {
			must(TimerID{Kind: TimerTurnIdle, ID: id}, "a turn has an idle bound")
		}
		for _, q := range t.Requests {
			timer := TimerID{Kind: TimerRequest, ID: q.Rec.ID}
			if asked := (TimerID{Kind: TimerAsk, ID: q.Rec.ID}); q.Rec.AskedUser == core.AskedNow && q.Claim == nil {
				must(asked, "a person is asked")
			} else if q.Rec.AskedUser == core.AskedNow {
				may(asked)
			}
			switch {
			case q.Claim != nil:
				must(TimerID{Kind: TimerCommand, Op: q.Claim.Op}, "an answer is on its way")
				may(timer)
			case bounds.Request > 0:
				must(timer, "a request is pending")
			}
		}
	}
	for id := range h.timers {
		if !want[id] {
			h.fail("%s with a timer of nothing: %v", s.Status(), id)
		}
	}
}
