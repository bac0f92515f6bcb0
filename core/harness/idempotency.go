package harness

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// callKey names a call by its idempotency key.
type callKey struct{ owner, tool, key string }

// keyOf returns the call that a record belongs to.
func keyOf(k core.KeyRecord) callKey { return callKey{k.Owner, k.Tool, k.Key} }

// idempotency holds the state of one server about calls with a key: those that run, and
// the keys that the store did not take.
type idempotency struct {
	mu       sync.Mutex
	running  map[callKey]*runningCall
	unstored unstoredKeys
}

// runningCall is a call that others with the same key wait for. val and err are
// set when done is closed.
type runningCall struct {
	hash string
	done chan struct{}
	val  any
	err  error
}

// begin returns the call under a key and whether the caller has to run it. Then
// the caller ends it.
func (i *idempotency) begin(k callKey, hash string) (c *runningCall, run bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c = i.running[k]; c != nil {
		return c, false
	}
	if i.running == nil {
		i.running = map[callKey]*runningCall{}
	}
	c = &runningCall{hash: hash, done: make(chan struct{})}
	i.running[k] = c
	return c, true
}

// end releases those that wait for a call. By then its key is stored, or free.
// The entry is deleted before done is closed: a caller that was released and
// repeats the call must find the stored key, not this entry.
func (i *idempotency) end(k callKey, c *runningCall, val any, err error) {
	c.val, c.err = val, err
	i.mu.Lock()
	delete(i.running, k)
	i.mu.Unlock()
	close(c.done)
}

// once makes a call idempotent. A key that is stored is answered for the same
// resource as it is now; one whose call still runs joins it; another call's
// arguments under the same key are a conflict. The key is stored by the commit
// that makes the effect, so a call that started nothing leaves it free.
func once[T any](ctx context.Context, h *Harness, c core.Caller, o core.Once,
	now func(context.Context, core.KeyRecord) (T, error), run func(context.Context, *core.KeyRecord) (T, error)) (T, error) {
	var zero T
	if o.Key == "" {
		return run(ctx, nil)
	}
	if len(o.Key) > maxKey {
		return zero, core.Errorf(core.CodeInvalidArgument, "idempotency_key is longer than %d characters", maxKey)
	}
	rec := core.KeyRecord{Owner: c.Owner, Tool: o.Tool, Key: o.Key, ArgsHash: h.hash([]byte(o.Tool), o.Args), At: time.Now().UTC()}
	k := keyOf(rec)
	call, mine := h.keys.begin(k, rec.ArgsHash)
	if !mine {
		return joinCall(ctx, h, call, rec, now)
	}
	// The harness owns this goroutine and waits for it when it closes. The first
	// call is not ended by its caller's ctx: a repeated call can join it.
	h.wg.Go(func() {
		v, err := runOnce(context.WithoutCancel(ctx), h, rec, now, run)
		h.keys.end(k, call, v, err)
	})
	return result[T](ctx, call)
}

// result waits for the outcome of a call.
func result[T any](ctx context.Context, c *runningCall) (T, error) {
	var zero T
	select {
	case <-c.done:
		if c.err != nil {
			return zero, c.err
		}
		return c.val.(T), nil
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}

// joinCall waits for the running call and answers for its resource as it is then.
func joinCall[T any](ctx context.Context, h *Harness, c *runningCall, rec core.KeyRecord, now func(context.Context, core.KeyRecord) (T, error)) (T, error) {
	if c.hash != rec.ArgsHash {
		var zero T
		return zero, keyConflict(rec.Key)
	}
	v, err := result[T](ctx, c)
	if err != nil {
		return v, err
	}
	if stored, kerr := h.storedKey(ctx, rec); kerr == nil && stored.Resource != "" {
		return now(ctx, stored)
	}
	return v, nil
}

// runOnce runs a call unless its key is stored: then now answers it.
//
// Errors: those of run and now; CodeIdempotency for other arguments under the
// key; CodeResponseUncertain for a claim whose call never ended.
func runOnce[T any](ctx context.Context, h *Harness, rec core.KeyRecord,
	now func(context.Context, core.KeyRecord) (T, error), run func(context.Context, *core.KeyRecord) (T, error)) (T, error) {
	var zero T
	stored, err := h.settledKey(ctx, rec)
	switch {
	case core.CodeOf(err) == core.CodeNotFound:
		return run(ctx, &rec)
	case err != nil:
		return zero, core.StoreError(err)
	case stored.ArgsHash != rec.ArgsHash:
		return zero, keyConflict(rec.Key)
	case stored.Resource == "":
		return zero, core.Errorf(core.CodeResponseUncertain, "an earlier call with this idempotency_key was cut off, and it is unknown whether it took effect").
			WithHint("replay the session to see; then use a new key.")
	}
	return now(ctx, stored)
}

// settledKey looks a key up. It waits, up to claimWait, for a claim younger than
// claimYoung: another server may be running that call.
func (h *Harness) settledKey(ctx context.Context, rec core.KeyRecord) (core.KeyRecord, error) {
	for began := time.Now(); ; {
		stored, err := h.storedKey(ctx, rec)
		running := err == nil && stored.Resource == "" && stored.ArgsHash == rec.ArgsHash && time.Since(stored.At).Abs() < claimYoung
		if !running || time.Since(began) >= claimWait {
			return stored, err
		}
		select {
		case <-time.After(claimPoll):
		case <-ctx.Done():
			return stored, ctx.Err()
		case <-h.ctx.Done():
			return stored, err
		}
	}
}

// storedKey looks a key up, in memory first. One older than keyLife is free, and
// is deleted.
//
// Errors: CodeNotFound for a free key.
func (h *Harness) storedKey(ctx context.Context, rec core.KeyRecord) (core.KeyRecord, error) {
	if kept, ok := h.keys.unstored.get(rec); ok && time.Since(kept.At) < keyLife {
		return kept, nil
	}
	ctx, cancel := h.short(ctx)
	defer cancel()
	stored, err := h.store.Key(ctx, rec.Owner, rec.Tool, rec.Key)
	if err != nil || time.Since(stored.At) < keyLife {
		return stored, err
	}
	if err := h.store.DeleteKey(ctx, rec.Owner, rec.Tool, rec.Key); err != nil {
		return stored, err
	}
	return stored, core.Errorf(core.CodeNotFound, "the key has expired")
}

// keyConflict returns the error of a key that is used again for another call:
// CodeIdempotency.
func keyConflict(key string) *core.Error {
	return core.Errorf(core.CodeIdempotency, "idempotency_key %q was used with other arguments", key).
		WithHint("Use a new key for a new call; a repeated call must be the same to the letter, waits aside.")
}

// claimKey stores a key before an effect that cannot be undone or stored in the
// same commit. While the store fails the key is kept in memory, where it holds
// for calls to this server, until the effect is stored. With StopOnStoreFailure
// the call is refused instead.
//
// Errors: CodeIdempotency when another call has the key, CodeStoreFailed.
func (h *Harness) claimKey(ctx context.Context, k *core.KeyRecord) error {
	if k == nil {
		return nil
	}
	ctx, cancel := h.short(ctx)
	defer cancel()
	var conflict *core.ConflictError
	err := h.store.PutKey(ctx, *k)
	switch {
	case errors.As(err, &conflict):
		return core.KeyTaken(k.Key)
	case err == nil, h.limits.StopOnStoreFailure, !h.keys.unstored.claim(*k):
		return core.StoreError(err)
	}
	h.log.Warn("an idempotency key is kept in memory only", "tool", k.Tool, "err", err)
	return nil
}

// freeKey ends the claim of a key after its call ended with err. The key is free
// if the call was definitely refused. made is what the key answers for from now
// on, when no commit stores that.
func (h *Harness) freeKey(k *core.KeyRecord, err error, made ...core.KeyRecord) {
	if k == nil || core.IsContext(err) || core.CodeOf(err) == core.CodeResponseUncertain {
		return
	}
	if h.keys.unstored.settle(*k, err == nil, made) || err == nil {
		return
	}
	ctx, cancel := h.short(h.ctx)
	defer cancel()
	if err := h.store.DeleteKey(ctx, k.Owner, k.Tool, k.Key); err != nil {
		h.log.Warn("freeing an idempotency key", "err", err)
	}
}

// What a stored key answers for, as it is now.

// keyedSession returns the session that k was used to start or change.
func (h *Harness) keyedSession(ctx context.Context, k core.KeyRecord) (core.SessionView, error) {
	return h.sessionView(ctx, k.Owner, k.Resource)
}

// keyedTurn returns the turn of k.
func (h *Harness) keyedTurn(ctx context.Context, k core.KeyRecord) (core.Turn, error) {
	res, err := h.getTurn(ctx, k.Owner, k.TurnID)
	if err != nil {
		return core.Turn{}, err
	}
	return *res.Turn, nil
}

// keyedRequest returns the request of k.
func (h *Harness) keyedRequest(ctx context.Context, k core.KeyRecord) (core.Request, error) {
	res, err := h.getRequest(ctx, k.Owner, k.Request)
	if err != nil {
		return core.Request{}, err
	}
	return *res.Request, nil
}

// keyedInterrupt returns the turn of k and the present length of the session's
// queue, which may differ from that of the first answer.
func (h *Harness) keyedInterrupt(ctx context.Context, k core.KeyRecord) (core.InterruptResult, error) {
	if k.TurnID == "" { // there was no turn to stop
		v, err := h.sessionView(ctx, k.Owner, k.Resource)
		return core.InterruptResult{Turn: core.Turn{SessionID: k.Resource}, QueuedTurns: len(v.Session.Queue)}, err
	}
	res, err := h.getTurn(ctx, k.Owner, k.TurnID)
	if err != nil {
		return core.InterruptResult{}, err
	}
	return core.InterruptResult{Turn: *res.Turn, QueuedTurns: len(res.Session.Session.Queue)}, nil
}

// keyedResource returns the resource of k, whatever its kind.
func (h *Harness) keyedResource(ctx context.Context, k core.KeyRecord) (core.Resource, error) {
	return h.Get(ctx, k.Owner, k.Resource)
}
