package core

import (
	"context"
	"slices"
	"time"
)

// Await waits until resources have come to rest, or one of them asks
// something, or time runs out, which is no error. It ends no work. When ctx
// ends it returns ctx's error.
//
// Errors: CodeInvalidArgument for a wrong number of ids, CodeNotFound.
func (h *Harness) Await(ctx context.Context, c Caller, r AwaitRequest) (AwaitResult, error) {
	ids := slices.Compact(slices.Clone(r.IDs))
	if len(ids) == 0 || len(ids) > maxAwaitIDs {
		return AwaitResult{}, Errorf(CodeInvalidArgument, "await takes 1 to %d ids, not %d", maxAwaitIDs, len(ids)).
			WithHint("Give turn, session, process or request ids.")
	}
	wake := make(chan struct{}, 1)
	deadline := time.NewTimer(r.Wait)
	defer deadline.Stop()
	var tick <-chan time.Time
	if r.Progress != nil {
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		tick = t.C
	}
	watched := map[*actor]func(){}
	defer func() {
		for _, stop := range watched {
			stop()
		}
	}()
	over := false
	for {
		res, others, err := h.look(ctx, c.Owner, ids, wake, watched)
		if err != nil {
			return AwaitResult{}, err
		}
		if out, done := judge(r, res); done || over {
			return settleOrder(out, res), nil
		}
		var poll <-chan time.Time
		if others {
			t := time.NewTimer(pollOthers)
			defer t.Stop()
			poll = t.C
		}
		for waiting := true; waiting; {
			select {
			case <-wake:
				waiting = false
			case <-poll:
				waiting = false
			case <-deadline.C:
				over, waiting = true, false
			case <-tick:
				r.Progress(res)
				// Time passes for what is shown even when nothing happens.
				res, others, err = h.look(ctx, c.Owner, ids, wake, watched)
				if err != nil {
					return AwaitResult{}, err
				}
				if out, done := judge(r, res); done {
					return settleOrder(out, res), nil
				}
			case <-ctx.Done():
				return AwaitResult{}, ctx.Err()
			}
		}
	}
}

// look reads the resources, after it has registered for the wakes of those
// hosted here, so that no change falls between. others says that some live
// elsewhere and must be looked at again.
func (h *Harness) look(ctx context.Context, owner string, ids []string, wake chan struct{}, watched map[*actor]func()) (res []Resource, others bool, err error) {
	for _, id := range ids {
		r, err := h.Get(ctx, owner, id)
		if err != nil {
			return nil, false, err
		}
		if r.Session != nil {
			a := h.liveActor(owner, r.Session.Session.ID)
			if a != nil && watched[a] == nil {
				watched[a] = a.wakes.watch(wake)
				if r, err = h.Get(ctx, owner, id); err != nil {
					return nil, false, err
				}
			}
			others = others || a == nil && !r.Done()
		} else {
			others = others || !r.Done()
		}
		res = append(res, r)
	}
	return res, others, nil
}

// judge says whether a wait is over, and why.
func judge(r AwaitRequest, res []Resource) (Outcome, bool) {
	done, asks := 0, false
	for _, x := range res {
		if x.Done() {
			done++
			continue
		}
		asks = asks || r.WakeOnRequest && slices.ContainsFunc(x.Pending(), func(q Request) bool {
			return !slices.Contains(r.IgnoreRequests, q.ID) && (r.HoldRequest == nil || !r.HoldRequest(q))
		})
	}
	switch {
	case done == len(res) || r.Any && done > 0:
		return OutcomeDone, true
	case asks:
		return OutcomeRequest, true
	}
	return OutcomeTimeout, false
}

// settleOrder puts what has finished first, in order of finishing.
func settleOrder(o Outcome, res []Resource) AwaitResult {
	out := AwaitResult{Outcome: o, Results: slices.Clone(res)}
	slices.SortStableFunc(out.Results, func(x, y Resource) int {
		dx, dy := x.Done(), y.Done()
		switch {
		case dx && dy:
			return x.finishedAt().Compare(y.finishedAt())
		case dx:
			return -1
		case dy:
			return 1
		}
		return 0
	})
	for _, x := range out.Results {
		if !x.Done() {
			out.WaitingOn = append(out.WaitingOn, x.ID)
		}
	}
	return out
}

// finishedAt says when a resource came to rest.
func (r Resource) finishedAt() time.Time {
	switch r.Kind {
	case KindTurn:
		return r.Turn.FinishedAt
	case KindRequest:
		if r.Request.Resolution != nil {
			return r.Request.Resolution.At
		}
		return r.Request.CreatedAt
	case KindProcess:
		return r.Process.FinishedAt
	}
	return r.Session.Session.UpdatedAt
}
