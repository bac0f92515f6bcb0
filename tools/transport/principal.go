package transport

import (
	"context"
	"sync"
	"sync/atomic"
)

// LocalPrincipal is who calls on stdio and on a Unix socket, and the bearer of
// a token without a name.
const LocalPrincipal = "local"

type principalKey struct{}

// Principal returns on whose behalf a handler was called: the name of the
// bearer token over HTTP, LocalPrincipal everywhere else.
func Principal(ctx context.Context) string {
	if name, ok := ctx.Value(principalKey{}).(string); ok {
		return name
	}
	return LocalPrincipal
}

// principal is what a Handler holds for one bearer: its sessions, and the
// limits that all its connections share. Nothing here can be reached by
// another one's requests.
type principal struct {
	name  string
	ctx   context.Context // of everything done on its behalf; carries the name
	calls *calls

	reading atomic.Int64 // requests whose body is on its way

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
