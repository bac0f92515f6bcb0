package harness

import (
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// unstoredKeys are the idempotency keys of effects that the store did not take:
// a repeated call must find them although they are not stored. The zero value is
// ready. It is safe for concurrent use.
type unstoredKeys struct {
	mu     sync.Mutex
	keys   map[callKey]core.KeyRecord
	claims map[callKey]bool // those that the store did not even take as claims
}

// claim keeps a key that the store did not take. It is false when there are
// maxClaims of them that are younger than keyLife.
func (u *unstoredKeys) claim(k core.KeyRecord) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.claims) >= maxClaims {
		for c := range u.claims {
			if time.Since(u.keys[c].At) >= keyLife {
				delete(u.keys, c)
				delete(u.claims, c)
			}
		}
	}
	if len(u.claims) >= maxClaims {
		return false
	}
	u.set(k)
	if u.claims == nil {
		u.claims = map[callKey]bool{}
	}
	u.claims[keyOf(k)] = true
	return true
}

// settle ends a claim that is only in memory, and reports whether it was. After
// a call that is done, made replaces it, or what the journal of the effect keeps
// for the store; else the key is free.
func (u *unstoredKeys) settle(k core.KeyRecord, done bool, made []core.KeyRecord) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := keyOf(k)
	switch {
	case !u.claims[c]:
		return false
	case done && len(made) > 0:
		u.keys[c] = made[0]
		return true
	case !done || u.keys[c].Resource == "":
		delete(u.keys, c)
	}
	delete(u.claims, c)
	return true
}

// put keeps the key of an effect that is not stored yet. The session bounds how
// many it keeps here.
func (u *unstoredKeys) put(k core.KeyRecord) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.set(k)
}

// set keeps a key. The caller holds mu.
func (u *unstoredKeys) set(k core.KeyRecord) {
	if u.keys == nil {
		u.keys = map[callKey]core.KeyRecord{}
	}
	u.keys[keyOf(k)] = k
}

// get returns the record in memory for the call of k, and whether there is one.
func (u *unstoredKeys) get(k core.KeyRecord) (core.KeyRecord, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	kept, ok := u.keys[keyOf(k)]
	return kept, ok
}

// drop forgets keys that are stored now.
func (u *unstoredKeys) drop(keys []core.KeyRecord) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, k := range keys {
		delete(u.keys, keyOf(k))
		delete(u.claims, keyOf(k))
	}
}
