package harness

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// housekeep puts to rest what dead servers left, from time to time, and drops
// what is kept too long. It ends with the harness.
func (h *Harness) housekeep() {
	look := time.NewTicker(lookEvery)
	sweep := time.NewTicker(sweepEvery)
	defer look.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-h.quit:
			return
		case <-look.C:
			h.Recover(h.ctx)
		case <-sweep.C:
			h.sweep()
		}
	}
}

// Prune deletes ended resources and their journals for good: one by id, or all
// of the owner's that ended longer ago. An id that is not there is an error,
// since it may be mistyped, unless the call has a key: then it may be the second
// of its kind, and gone is what was asked.
//
// Errors: CodeResourceActive for a live one, CodeNotFound, CodeInvalidArgument.
func (h *Harness) Prune(ctx context.Context, c core.Caller, r core.PruneRequest) ([]string, error) {
	if r.ID == "" {
		if r.OlderThan < 0 {
			return nil, core.Errorf(core.CodeInvalidArgument, "older_than_ms is negative")
		}
		before := time.Now().Add(-r.OlderThan)
		ids, err := h.prune(ctx, c.Owner, before, r.DryRun)
		if err != nil {
			return ids, err
		}
		more, err := h.pruneProcesses(ctx, c.Owner, before, r.DryRun)
		return append(ids, more...), err
	}
	res, err := h.Get(ctx, c.Owner, r.ID)
	if core.CodeOf(err) == core.CodeNotFound && r.Once.Key != "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if res.Kind == core.KindProcess {
		return h.pruneProcess(ctx, c, *res.Process, r.DryRun)
	}
	if res.Kind != core.KindSession {
		return nil, core.Errorf(core.CodeInvalidArgument, "%s is a %s; only whole sessions and processes are pruned", r.ID, res.Kind)
	}
	if st := res.Session.Session.Status; st.Live() {
		return nil, core.Errorf(core.CodeResourceActive, "session %s is %s", r.ID, st).WithHint("close {id: %q} ends it first.", r.ID)
	}
	if !r.DryRun {
		v := res.Session
		ok, err := h.deleteEnded(ctx, core.EndedResource{Owner: c.Owner, ID: v.Session.ID, Kind: core.KindSession, Instance: v.Instance, LastSeq: v.Session.LastSeq})
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, core.Errorf(core.CodeResourceActive, "session %s is being used", r.ID).WithHint("inspect {id: %q} shows by what.", r.ID).Retry()
		}
	}
	return []string{r.ID}, nil
}

func (h *Harness) prune(ctx context.Context, owner string, before time.Time, dry bool) ([]string, error) {
	live := false
	var ids []string
	for cursor := ""; ; {
		recs, err := h.store.Sessions(ctx, core.ListQuery{Owner: owner, Live: &live, EndedBefore: before, Before: cursor, Limit: core.DefaultPage})
		if err != nil {
			return ids, core.StoreError(err)
		}
		for _, rec := range recs {
			s := rec.Session
			cursor = core.Cursor(s.CreatedAt, s.ID)
			ok := dry && h.liveActor(s.Owner, s.ID) == nil
			if !dry {
				last, err := h.store.LastSeq(ctx, s.Owner, s.ID)
				if err != nil {
					return ids, core.StoreError(err)
				}
				ok, err = h.deleteEnded(ctx, core.EndedResource{Owner: s.Owner, ID: s.ID, Kind: core.KindSession, Instance: rec.Instance, LastSeq: last})
				if err != nil {
					return ids, err
				}
			}
			if ok {
				ids = append(ids, s.ID)
			}
		}
		if len(recs) < core.DefaultPage {
			return ids, nil
		}
	}
}

// probes remembers what providers' probes found, for a while.
type probes struct {
	mu sync.Mutex
	at map[string]time.Time
	is map[string]core.Status
}

// ProviderSpec is what a provider says of itself, without a probe; of one that
// there is not, its name.
func (h *Harness) ProviderSpec(name string) core.Spec {
	if p := h.providers[name]; p != nil {
		return p.Spec()
	}
	return core.Spec{Name: name}
}

// Providers gives the named provider, or all for "", with what a probe found.
// Probes run side by side and are remembered for a while; refresh asks anew.
//
// Errors: CodeProviderUnknown.
func (h *Harness) Providers(ctx context.Context, name string, refresh bool) ([]core.ProviderInfo, error) {
	names := h.names
	if name != "" {
		if h.providers[name] == nil {
			return nil, core.Errorf(core.CodeProviderUnknown, "there is no provider %q", name).
				WithHint("Providers: %s.", strings.Join(h.names, ", ")).WithDetail("providers", h.names)
		}
		names = []string{name}
	}
	out := make([]core.ProviderInfo, len(names))
	var wg sync.WaitGroup
	for i, n := range names {
		wg.Go(func() {
			p := h.providers[n]
			out[i] = core.ProviderInfo{Spec: p.Spec(), Status: h.probe(ctx, n, p, refresh)}
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

func (h *Harness) probe(ctx context.Context, name string, p core.Provider, refresh bool) core.Status {
	h.probes.mu.Lock()
	st, ok := h.probes.is[name]
	ok = ok && !refresh && time.Since(h.probes.at[name]) < probeMemory
	h.probes.mu.Unlock()
	if ok {
		return st
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	st = p.Status(ctx)
	h.probes.mu.Lock()
	defer h.probes.mu.Unlock()
	if h.probes.is == nil {
		h.probes.is, h.probes.at = map[string]core.Status{}, map[string]time.Time{}
	}
	h.probes.is[name], h.probes.at[name] = st, time.Now()
	return st
}
