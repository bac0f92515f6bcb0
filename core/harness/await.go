package harness

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Await waits until the resources have ended or are idle, or one of them asks
// something, or r.Wait is over, which is no error. It ends no work. When ctx ends it
// returns ctx's error. r.Progress is called every progressEvery.
//
// With a Pattern a process counts as finished when its output matches, or when it
// has ended without.
//
// Errors: CodeInvalidArgument for a wrong number of ids or a pattern that cannot be
// used, CodeNotFound, CodeStoreFailed.
func (h *Harness) Await(ctx context.Context, c core.Caller, r core.AwaitRequest) (core.AwaitResult, error) {
	ids := distinct(r.IDs)
	if len(ids) == 0 || len(ids) > maxAwaitIDs {
		return core.AwaitResult{}, core.Errorf(core.CodeInvalidArgument, "await takes 1 to %d ids, not %d", maxAwaitIDs, len(ids)).
			WithHint("Give turn, session, process or request ids.")
	}
	w, err := h.newWaiter(c.Owner, ids, r)
	if err != nil {
		return core.AwaitResult{}, err
	}
	defer w.end()
	w.until = time.Now().Add(r.Wait)
	deadline := time.NewTimer(r.Wait)
	defer deadline.Stop()
	var tick <-chan time.Time
	if r.Progress != nil {
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		tick = t.C
	}
	over := false
	for {
		res, again, err := w.at(ctx)
		if ctx.Err() != nil {
			return core.AwaitResult{}, ctx.Err()
		}
		if err != nil {
			return core.AwaitResult{}, err
		}
		over = over || w.late(again)
		if out, done := judge(r, res); done || over {
			return inOrder(out, res), nil
		}
		var poll <-chan time.Time
		if again > 0 {
			poll = time.After(again)
		}
		for waiting := true; waiting; {
			select {
			case <-w.wake:
				waiting = r.Progress == nil && w.busy()
			case <-poll:
				waiting = false
			case <-deadline.C:
				over, waiting = true, false
			case <-tick:
				r.Progress(resources(res))
				waiting = false // what is shown depends on the time too
			case <-ctx.Done():
				return core.AwaitResult{}, ctx.Err()
			}
		}
	}
}

// distinct returns ids without repetitions.
func distinct(ids []string) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// awaited is a resource that is waited for. searching is set while not all of its
// output was searched for the pattern.
type awaited struct {
	core.Resource
	searching bool
}

// over reports whether there is nothing to wait for any more.
func (a awaited) over() bool { return a.Matched != nil || a.Done() && !a.searching }

func resources(res []awaited) (out []core.Resource) {
	for _, a := range res {
		out = append(out, a.Resource)
	}
	return out
}

// waiter is the state of one Await.
type waiter struct {
	h        *Harness
	owner    string
	ids      []string
	until    time.Time // when the wait is over
	wake     chan struct{}
	watched  map[any]func()    // by actor, or id of a process
	hosts    map[string]*actor // where a turn or request was met last
	matchers map[string]*matcher
}

// newWaiter checks the pattern of a wait and prepares the wait.
func (h *Harness) newWaiter(owner string, ids []string, r core.AwaitRequest) (*waiter, error) {
	w := &waiter{h: h, owner: owner, ids: ids, wake: make(chan struct{}, 1), watched: map[any]func(){}, hosts: map[string]*actor{}, matchers: map[string]*matcher{}}
	if r.Pattern == "" {
		return w, nil
	}
	for _, id := range ids {
		if !strings.HasPrefix(id, core.PrefixProcess) {
			continue
		}
		m, err := newMatcher(r.Pattern, r.After)
		if err != nil {
			return nil, err
		}
		w.matchers[id] = m
	}
	switch n := len(w.matchers); {
	case n == 0:
		return nil, core.Errorf(core.CodeInvalidArgument, "pattern needs a process, and none is among the ids").WithDetail("field", "pattern")
	case n > 1 && r.After > 0:
		return nil, core.Errorf(core.CodeInvalidArgument, "after is a cursor of one process, and %d are among the ids", n).
			WithHint("Leave after out, or await one process.").WithDetail("field", "after")
	}
	return w, nil
}

// end takes back what watch has registered.
func (w *waiter) end() {
	for _, stop := range w.watched {
		stop()
	}
}

// at reads the resources. It registers for the wakes of those hosted here first, so
// that no change is missed. again is when to read them again though nothing wakes,
// 0 for never: some are run by other servers, or have output to search.
func (w *waiter) at(ctx context.Context) (res []awaited, again time.Duration, err error) {
	for _, id := range w.ids {
		r, err := w.get(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		hosted, fresh := w.watch(r)
		if fresh {
			if r, err = w.get(ctx, id); err != nil {
				return nil, 0, err
			}
		}
		if !hosted && !r.Done() {
			again = sooner(again, pollOthers)
		}
		var wait time.Duration
		if m := w.matchers[id]; m != nil {
			if wait, err = w.search(ctx, m, r); err != nil {
				return nil, 0, err
			}
			again = sooner(again, wait)
			r.Matched = m.found
		}
		res = append(res, awaited{r, wait > 0})
	}
	return res, again, nil
}

// sooner returns the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// search looks for the pattern in the output of a process for about matchSlice. It
// returns when to go on, 0 when all output was searched.
func (w *waiter) search(ctx context.Context, m *matcher, r core.Resource) (again time.Duration, err error) {
	if m.found != nil || m.searched(r.Process.LastSeq) || m.giveUp(r.Process) {
		return 0, nil
	}
	wait, cancel := context.WithDeadline(ctx, w.until)
	defer cancel()
	unlock, err := w.h.searches.lock(wait, key{owner: w.owner})
	if err != nil {
		return atOnce, nil
	}
	defer unlock()
	return m.read(ctx, func(ctx context.Context, after uint64) ([]core.Event, error) {
		return w.h.events(ctx, core.EventQuery{Owner: w.owner, Resource: r.ID, After: after, Limit: core.MaxPage, MaxBytes: matchPage,
			Types: []core.EventType{core.TypeStdout, core.TypeStderr}})
	}, r.Process.LastSeq, w.until)
}

// late reports whether time ran out while there is output to search.
func (w *waiter) late(again time.Duration) bool {
	return len(w.matchers) > 0 && again > 0 && !time.Now().Before(w.until)
}

// get is Harness.Get, but looks first where the resource was found last.
func (w *waiter) get(ctx context.Context, id string) (core.Resource, error) {
	if a := w.hosts[id]; a != nil && w.h.liveActor(a.owner, a.id) == a {
		if r, ok := a.find(id); ok {
			return r, nil
		}
	}
	r, err := w.h.Get(ctx, w.owner, id)
	if err == nil && r.Session != nil && r.Kind != core.KindSession {
		w.hosts[id] = w.h.liveActor(w.owner, r.Session.Session.ID)
	}
	return r, err
}

// busy reports whether all turns still run and ask nothing. A wait is woken by every
// commit of its sessions and nearly always finds only this, which takes a sixth of
// the time of making their views.
func (w *waiter) busy() bool {
	for _, id := range w.ids {
		a := w.hosts[id]
		if a == nil || w.h.liveActor(a.owner, a.id) != a || !a.view.Load().state.Works(id) {
			return false
		}
	}
	return true
}

// watch registers once for the wakes of a resource that is hosted here. fresh is set
// when it did so now, and the resource is to be read again.
func (w *waiter) watch(r core.Resource) (hosted, fresh bool) {
	if r.Kind == core.KindProcess {
		if w.watched[r.ID] != nil {
			return true, false
		}
		if w.h.processes == nil || r.Done() {
			return false, false
		}
		stop, ok := w.h.processes.Watch(w.owner, r.ID, w.wake)
		if ok {
			w.watched[r.ID] = stop
		}
		// One that is not there any more has ended between the two looks.
		return ok, true
	}
	if r.Session == nil {
		return false, false
	}
	a := w.h.liveActor(w.owner, r.Session.Session.ID)
	if a == nil {
		return false, false
	}
	if w.watched[a] == nil {
		w.watched[a] = a.wakes.Watch(w.wake)
		return true, true
	}
	return true, false
}

// judge returns the outcome of a wait, and whether the wait is over.
func judge(r core.AwaitRequest, res []awaited) (core.Outcome, bool) {
	done, asks, matched := 0, false, false
	for _, x := range res {
		if x.over() {
			done++
			matched = matched || x.Matched != nil
			continue
		}
		asks = asks || r.WakeOnRequest && slices.ContainsFunc(x.Pending(), func(q core.Request) bool {
			return !slices.Contains(r.IgnoreRequests, q.ID) && (r.HoldRequest == nil || !r.HoldRequest(q))
		})
	}
	switch {
	case (done == len(res) || r.Any) && matched:
		return core.OutcomeMatched, true
	case done == len(res) || r.Any && done > 0:
		return core.OutcomeDone, true
	case asks:
		return core.OutcomeRequest, true
	}
	return core.OutcomeTimeout, false
}

// inOrder returns the result of a wait. What has ended comes first, in the order
// in which it ended, then what a pattern was found in.
func inOrder(o core.Outcome, res []awaited) core.AwaitResult {
	rank := func(r awaited) int {
		switch {
		case r.Done():
			return 0
		case r.Matched != nil:
			return 1
		}
		return 2
	}
	res = slices.Clone(res)
	slices.SortStableFunc(res, func(x, y awaited) int {
		if n := cmp.Compare(rank(x), rank(y)); n != 0 || !x.Done() {
			return n
		}
		return cmp.Or(endedAt(x.Resource).Compare(endedAt(y.Resource)), cmp.Compare(lastSeq(x.Resource), lastSeq(y.Resource)))
	})
	out := core.AwaitResult{Outcome: o, Results: resources(res)}
	for _, x := range res {
		if !x.over() {
			out.WaitingOn = append(out.WaitingOn, x.ID)
		}
	}
	return out
}

// lastSeq orders what ended at the same instant: in one session the earlier turn has
// the lower one.
func lastSeq(r core.Resource) uint64 {
	switch r.Kind {
	case core.KindTurn:
		return r.Turn.LastSeq
	case core.KindProcess:
		return r.Process.LastSeq
	case core.KindSession:
		return r.Session.Session.LastSeq
	}
	return 0
}

// endedAt returns when a resource ended or became idle.
func endedAt(r core.Resource) time.Time {
	switch r.Kind {
	case core.KindTurn:
		return r.Turn.FinishedAt
	case core.KindRequest:
		if r.Request.Resolution != nil {
			return r.Request.Resolution.At
		}
		return r.Request.CreatedAt
	case core.KindProcess:
		return r.Process.FinishedAt
	}
	return r.Session.Session.UpdatedAt
}
