package transport

import (
	"context"
	"sync"
	"sync/atomic"
)

// LocalPrincipal is the principal on stdio and on a Unix socket, and of a token
// without a name.
const LocalPrincipal = "local"

type principalKey struct{}

// Principal returns on whose behalf a handler was called: the name of the
// bearer token over HTTP, LocalPrincipal otherwise.
func Principal(ctx context.Context) string {
	if name, ok := ctx.Value(principalKey{}).(string); ok {
		return name
	}
	return LocalPrincipal
}

// principal is the state of a Handler for one bearer: its sessions, and the
// limits that all its connections share. Requests of other principals cannot
// reach it.
type principal struct {
	name  string
	ctx   context.Context // of all its calls; carries the name
	calls *calls

	reading atomic.Int64 // requests whose body is being read

	mu       sync.Mutex
	sessions map[string]*httpSession
}

func newPrincipal(ctx context.Context, name string, maxCalls int) *principal {
	return &principal{
		name:     name,
		ctx:      context.WithValue(ctx, principalKey{}, name),
		calls:    newCalls(maxCalls, maxHTTPStreams),
		sessions: make(map[string]*httpSession),
	}
}

func (p *principal) session(id string) *httpSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sessions[id]
}
