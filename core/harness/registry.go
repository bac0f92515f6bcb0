package harness

import (
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// registry is the table of the sessions hosted here, with what must be unique
// among them. Its methods may be called concurrently. No method waits for an
// actor.
type registry struct {
	mu      sync.Mutex // guards what follows
	actors  map[key]*actor
	turnIDs map[key]bool   // chosen turn ids that are being admitted
	convs   map[string]key // open provider conversations
	down    bool           // the server ends: no actor is added
}

// key names a resource: ids are unique per owner.
type key struct{ owner, id string }

// newRegistry returns an empty table that accepts actors.
func newRegistry() registry {
	return registry{actors: map[key]*actor{}, turnIDs: map[key]bool{}, convs: map[string]key{}}
}

// add puts the actor of a session that starts into the table and starts it. All
// limits are checked and the actor is added under one hold of mu, so that
// concurrent calls cannot exceed a limit together. The conversation is reserved
// last: a refused actor leaves nothing behind.
//
// Errors: CodeShuttingDown; CodeSessionInUse for an id or a provider
// conversation that is open here; CodeCapacity.
func (r *registry) add(a *actor, cfg core.SessionConfig, limits core.Limits) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.refused(a)
	if err == nil {
		err = r.noPlace(a.owner, limits)
	}
	if err != nil {
		return err
	}
	return r.put(a, cfg)
}

// host puts the actor of a session that is not live into the table and starts it.
// Such a session takes no place: see admit.
//
// Errors: CodeShuttingDown, CodeSessionInUse.
func (r *registry) host(a *actor, cfg core.SessionConfig) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.put(a, cfg)
}

// admit gives a hosted session that is not live a place, before it is opened
// again. The caller frees it once the session is live, and so has the place by
// itself, or has not become live.
//
// Errors: CodeCapacity.
func (r *registry) admit(a *actor, limits core.Limits) (free func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.noPlace(a.owner, limits); err != nil {
		return nil, err
	}
	a.admitted++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		a.admitted--
	}, nil
}

// noPlace returns CodeCapacity when an owner, or the server, has as many live
// sessions as the limits allow. The caller holds mu.
func (r *registry) noPlace(owner string, limits core.Limits) error {
	switch {
	case limits.MaxSessionsPerOwner > 0 && r.liveCount(owner, limits.MaxSessions) >= limits.MaxSessionsPerOwner:
		return core.Errorf(core.CodeCapacity, "you have %d live sessions here, as many as one caller may (max_sessions_per_owner)", limits.MaxSessionsPerOwner).
			WithHint("Close one (list {kind: \"sessions\", live: true}).").WithDetail("limit", "max_sessions_per_owner").Retry()
	case r.liveCount(core.AllOwners, limits.MaxSessions) >= limits.MaxSessions:
		return core.Errorf(core.CodeCapacity, "this server runs its %d sessions (max_sessions)", limits.MaxSessions).
			WithHint("Close one (list {kind: \"sessions\", live: true}), or raise --max-sessions.").WithDetail("limit", "max_sessions").Retry()
	}
	return nil
}

// refused returns why an actor cannot be put into the table now. The caller holds
// mu.
//
// Errors: CodeShuttingDown, CodeSessionInUse.
func (r *registry) refused(a *actor) error {
	switch {
	case r.down:
		return shuttingDown()
	case r.actors[key{a.owner, a.id}] != nil:
		return machine.SessionInUse(a.id)
	}
	return nil
}

// put puts an actor into the table and starts it. The caller holds mu.
//
// Errors: CodeShuttingDown, CodeSessionInUse.
func (r *registry) put(a *actor, cfg core.SessionConfig) error {
	if err := r.refused(a); err != nil {
		return err
	}
	k := key{a.owner, a.id}
	if conv := conversation(cfg.Provider, cfg.ProviderSesID); conv != "" && !cfg.Fork {
		if other, ok := r.convs[conv]; ok && other != k {
			return core.Errorf(core.CodeSessionInUse, "the provider conversation %s is open in another session", cfg.ProviderSesID).
				WithHint("Close that session first, or use fork: true.")
		}
		r.convs[conv] = k
		a.convs = append(a.convs, conv)
	}
	r.actors[k] = a
	a.serve()
	return nil
}

// forget removes an actor that has ended or is about to. Another actor that has
// its place by then stays.
func (r *registry) forget(a *actor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{a.owner, a.id}
	if r.actors[k] != a {
		return
	}
	delete(r.actors, k)
	for _, conv := range a.convs {
		delete(r.convs, conv)
	}
}

// conversation names a provider conversation, "" for none.
func conversation(provider, id string) string {
	if id == "" {
		return ""
	}
	return provider + "\x00" + id
}

// converse records which conversation a session has open, so that no other
// session opens it meanwhile.
func (r *registry) converse(a *actor, conv string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{a.owner, a.id}
	if _, taken := r.convs[conv]; conv == "" || taken || r.actors[k] != a {
		return
	}
	r.convs[conv] = k
	a.convs = append(a.convs, conv)
}

// liveCount counts the sessions of an owner, or all, that are live or about to be.
// Of those that are closing only what exceeds maxClosing counts. The caller holds
// mu.
func (r *registry) liveCount(owner string, maxClosing int) (n int) {
	closing := 0
	for k, a := range r.actors {
		if owner != core.AllOwners && k.owner != owner {
			continue
		}
		switch st := a.view.Load().state.Status(); {
		case st == core.StatusClosing:
			closing++
		case st.Live() || a.admitted > 0:
			n++
		}
	}
	return n + max(0, closing-maxClosing)
}

// closingCount counts the sessions that are closing.
func (r *registry) closingCount() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.actors {
		if a.view.Load().state.Status() == core.StatusClosing {
			n++
		}
	}
	return n
}

// liveActor returns the actor of a session, nil when it is not hosted here now.
func (r *registry) liveActor(owner, id string) *actor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actors[key{owner, id}]
}

// actorsOf returns the hosted sessions of an owner, or all.
func (r *registry) actorsOf(owner string) []*actor {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*actor
	for k, a := range r.actors {
		if owner == core.AllOwners || k.owner == owner {
			out = append(out, a)
		}
	}
	return out
}

// actorWith returns a hosted session by its state, nil for none. It makes no
// view of the others: there may be a thousand.
func (r *registry) actorWith(owner string, is func(*machine.State) bool) *actor {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, a := range r.actors {
		if (owner == core.AllOwners || k.owner == owner) && is(&a.view.Load().state) {
			return a
		}
	}
	return nil
}

// reserveTurnID keeps a chosen turn id for one call while it is admitted. It is
// not ok while another call has it.
func (r *registry) reserveTurnID(k key) (free func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turnIDs[k] {
		return nil, false
	}
	r.turnIDs[k] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.turnIDs, k)
	}, true
}

// refuseIfDown refuses new work while the server ends.
//
// Errors: CodeShuttingDown.
func (r *registry) refuseIfDown() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return shuttingDown()
	}
	return nil
}

// shuttingDown returns the error of a call to a server that ends. A client can
// repeat the call at the next server.
func shuttingDown() *core.Error {
	return core.Errorf(core.CodeShuttingDown, "the server is shutting down").WithHint("Connect again and retry.").Retry()
}

// shut refuses new actors from now on. It reports whether it was the first call.
func (r *registry) shut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.down
	r.down = true
	return first
}
