package core

import "context"

// Harness owns every session of one instance: it starts, finds, resumes and
// ends them, and reads their journals. All methods may be called concurrently.
// A caller's ctx ends its wait and never the work, with one exception: a start
// that has neither a key nor a chosen id is undone when its caller leaves
// before the session is ready.
type Harness struct{}

// StartSession opens a session and returns when it is ready, or resumes one.
func (h *Harness) StartSession(ctx context.Context, c Caller, r StartRequest) (SessionView, error) {
	panic("skeleton")
}

// SendMessage starts a turn in an idle session and returns its handle before
// any provider I/O.
func (h *Harness) SendMessage(ctx context.Context, c Caller, r SendRequest) (Turn, error) {
	panic("skeleton")
}

// FollowUp queues a turn, or starts it when the session is idle.
func (h *Harness) FollowUp(ctx context.Context, c Caller, r SendRequest) (Turn, error) {
	panic("skeleton")
}

// Steer adds to the running turn and returns when the provider took it.
func (h *Harness) Steer(ctx context.Context, c Caller, r SteerRequest) (Turn, error) {
	panic("skeleton")
}

// Respond answers a request and returns when the provider took the answer.
func (h *Harness) Respond(ctx context.Context, c Caller, r RespondRequest) (Request, error) {
	panic("skeleton")
}

// Interrupt asks for the end of the running turn, or removes a queued one.
func (h *Harness) Interrupt(ctx context.Context, c Caller, r InterruptRequest) (InterruptResult, error) {
	panic("skeleton")
}

// Configure changes a live session from its next turn on.
func (h *Harness) Configure(ctx context.Context, c Caller, r ConfigureRequest) (SessionView, error) {
	panic("skeleton")
}

// Close ends a session or process and returns it in its terminal state.
func (h *Harness) Close(ctx context.Context, c Caller, r CloseRequest) (Resource, error) {
	panic("skeleton")
}

// Get gives what an id stands for, as it is now.
func (h *Harness) Get(ctx context.Context, owner, id string) (Resource, error) { panic("skeleton") }

// TurnText gives a part of a turn's answer: at most max bytes from offset, cut
// on character borders, and the whole length.
func (h *Harness) TurnText(ctx context.Context, t Turn, offset, max int) (text string, total int, err error) {
	panic("skeleton")
}

// Await waits for resources.
func (h *Harness) Await(ctx context.Context, c Caller, r AwaitRequest) (AwaitResult, error) {
	panic("skeleton")
}

// Replay reads a page of a journal.
func (h *Harness) Replay(ctx context.Context, owner string, r ReplayRequest) (ReplayPage, error) {
	panic("skeleton")
}

// List gives a page of resources, newest first.
func (h *Harness) List(ctx context.Context, owner string, r ListRequest) (ListResult, error) {
	panic("skeleton")
}

// Prune deletes ended resources: one by id, or all that ended longer ago.
func (h *Harness) Prune(ctx context.Context, c Caller, r PruneRequest) ([]string, error) {
	panic("skeleton")
}

// Providers gives the named provider, or all for "", with what a probe found.
// Probes run side by side and are remembered for a while; refresh asks anew.
func (h *Harness) Providers(ctx context.Context, name string, refresh bool) ([]ProviderInfo, error) {
	panic("skeleton")
}
