package harness

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// probes has what the probes of providers found, for probeMemory.
type probes struct {
	mu sync.Mutex
	at map[string]time.Time
	is map[string]core.Status
}

// ProviderSpec returns the Spec of a provider, without a probe. For an unknown
// provider only its name is set.
func (h *Harness) ProviderSpec(name string) core.Spec {
	if p := h.providers[name]; p != nil {
		return p.Spec()
	}
	return core.Spec{Name: name}
}

// Providers returns the named provider, or all for "", with what a probe found.
// Probes run concurrently, each for at most probeTimeout, and are remembered for
// probeMemory; refresh probes again.
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

// probe returns what a provider's probe finds, or found less than probeMemory ago.
// Concurrent calls may each probe; the last result is kept.
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
