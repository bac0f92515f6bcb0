package harness

import (
	"context"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// A session at rest belongs to nobody, though its row names the instance that
// had it last. Whoever wants to open it again holds it first: the row names its
// instance with OpeningMark, by compare-and-set, until the first commit of the
// opened session or until the opening has failed. So two servers never open one
// conversation at a time, and the hold of a server that dies is free.

// hold takes a session at rest for an opening, and gives its row as it is then
// and the way to give it back.
//
// Errors: CodeOtherInstance when another server was faster, CodeSessionInUse
// when it lives, CodeStoreFailed.
func (h *Harness) hold(ctx context.Context, rec core.SessionRecord) (held core.SessionRecord, giveBack func(), err error) {
	ctx, cancel := h.short(ctx)
	defer cancel()
	owner, id, me := rec.Session.Owner, rec.Session.ID, h.store.Instance()
	prior := core.InstanceOf(rec.Instance)
	if prior != rec.Instance && prior != me && h.store.Alive(prior) {
		return rec, nil, beingOpened(id)
	}
	won, err := h.store.Claim(ctx, owner, id, rec.Instance, me+core.OpeningMark)
	if err != nil {
		return rec, nil, core.StoreError(err)
	}
	if !won {
		return rec, nil, beingOpened(id)
	}
	giveBack = func() { h.giveBack(owner, id, prior) }
	if held, err = h.store.Session(ctx, owner, id); err != nil {
		giveBack()
		return rec, nil, core.StoreError(err)
	}
	if held.Session.Status.Live() { // it was opened and its server named itself before the first read
		giveBack()
		return rec, nil, sessionInUse(id)
	}
	return held, giveBack, nil
}

func beingOpened(id string) *core.Error {
	return core.Errorf(core.CodeOtherInstance, "session %s is being opened by another server", id).
		WithHint("inspect {id: %q} shows it in a moment.", id).Retry()
}

// giveBack frees a session whose opening has failed.
func (h *Harness) giveBack(owner, id, prior string) {
	ctx, cancel := h.short(h.ctx)
	defer cancel()
	if _, err := h.store.Claim(ctx, owner, id, h.store.Instance()+core.OpeningMark, prior); err != nil {
		h.log.Warn("giving a session back", "session", id, "err", err)
	}
}

// locks lets one call at a time bring a resting session back to life.
type locks struct {
	mu   sync.Mutex
	held map[key]chan struct{}
}

// lock waits for k. The caller unlocks it.
func (l *locks) lock(ctx context.Context, k key) (unlock func(), err error) {
	for {
		l.mu.Lock()
		wait, taken := l.held[k]
		if !taken {
			mine := make(chan struct{})
			if l.held == nil {
				l.held = map[key]chan struct{}{}
			}
			l.held[k] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, k)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lostKeys are the idempotency keys of effects that the store did not take: a
// repeated call must find them although they are not stored.
type lostKeys struct {
	mu     sync.Mutex
	keys   map[callKey]core.KeyRecord
	claims map[callKey]bool // those that the store did not even take as claims
}

// claim keeps a key that the store did not take, unless there are too many.
// Those that have had their time make room.
func (l *lostKeys) claim(k core.KeyRecord) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.claims) >= maxClaims {
		for c := range l.claims {
			if time.Since(l.keys[c].At) >= keyLife {
				delete(l.keys, c)
				delete(l.claims, c)
			}
		}
	}
	if len(l.claims) >= maxClaims {
		return false
	}
	if l.keys == nil {
		l.keys = map[callKey]core.KeyRecord{}
	}
	if l.claims == nil {
		l.claims = map[callKey]bool{}
	}
	c := callKey{k.Owner, k.Tool, k.Key}
	l.keys[c], l.claims[c] = k, true
	return true
}

// settle ends a claim that is only here, and says whether it was: what was made
// takes its place. Otherwise, what the effect's own journal keeps for the store
// stays, and the rest goes.
func (l *lostKeys) settle(k core.KeyRecord, done bool, made []core.KeyRecord) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := callKey{k.Owner, k.Tool, k.Key}
	switch {
	case !l.claims[c]:
		return false
	case done && len(made) > 0:
		l.keys[c] = made[0]
		return true
	case !done || l.keys[c].Resource == "":
		delete(l.keys, c)
	}
	delete(l.claims, c)
	return true
}

func (l *lostKeys) put(k core.KeyRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		l.keys = map[callKey]core.KeyRecord{}
	}
	l.keys[callKey{k.Owner, k.Tool, k.Key}] = k
}

func (l *lostKeys) get(k core.KeyRecord) (core.KeyRecord, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept, ok := l.keys[callKey{k.Owner, k.Tool, k.Key}]
	return kept, ok
}

func (l *lostKeys) drop(keys []core.KeyRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		delete(l.keys, callKey{k.Owner, k.Tool, k.Key})
		delete(l.claims, callKey{k.Owner, k.Tool, k.Key})
	}
}

// unstoredTurns are the turns of sessions that go on without their store: the
// session shows the running one and the last, these are all that it missed.
type unstoredTurns struct {
	mu    sync.Mutex
	turns map[key]core.Turn // by owner and turn id
}

func (l *unstoredTurns) put(owner string, t core.Turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns == nil {
		l.turns = map[key]core.Turn{}
	}
	l.turns[key{owner, t.ID}] = t
}

func (l *unstoredTurns) get(owner, id string) (core.Turn, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.turns[key{owner, id}]
	return t, ok
}

func (l *unstoredTurns) drop(owner, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.turns, key{owner, id})
}
