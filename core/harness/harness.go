package harness

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/journal"
	"github.com/harness-mcp/harness-mcp/core/machine"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// Harness owns every session of one instance: it starts, finds, resumes and
// ends them, and reads their journals. All methods may be called concurrently.
// A caller's ctx ends its wait and never the work, with one exception: a start
// that has neither a key nor a chosen id is undone when its caller leaves
// before the session is ready.
type Harness struct {
	registry             // of the sessions hosted here
	orphans              // of dead servers
	keys     idempotency // of calls
	searches locks       // for patterns in output: one at a time of each owner
	probes   probes

	store     core.Store
	processes core.Processes // nil: this program runs none
	providers map[string]core.Provider
	names     []string // of the providers, sorted
	work      core.Workspace
	schemas   core.SchemaCheck
	limits    core.Limits
	environ   []string
	log       *slog.Logger
	telemetry core.Telemetry

	outage        journal.Outage // of the store, for sessions
	unstoredTurns unstoredTurns
	reviving      locks         // of sessions that are not live, while one is hosted again
	starting      sync.Map      // ids of processes that are being started
	changes       journal.Wakes // of any session hosted here
	asked         chan struct{} // has room for one: an agent asks something
	tokens        atomic.Uint64
	sharedRed     sync.Once
	shared        *redact.Redactor // has the server's own secrets

	quit   chan struct{}   // closed when no actor goes on
	ctx    context.Context // of all that the harness owns; ends after quit
	cancel context.CancelFunc
	wg     sync.WaitGroup // all goroutines of the harness
}

// Config is what a harness is made of.
type Config struct {
	Store     core.Store
	Providers []core.Provider
	Limits    core.Limits
	Logger    *slog.Logger // nil: no log
	// Environ is the server's own environment, for the secrets in it.
	Environ []string
	// Workspace observes what agents change; with nil only their reports count.
	Workspace core.Workspace
	// CheckSchema checks answers for which a schema was given; nil does not.
	CheckSchema core.SchemaCheck
	// Telemetry gets what is done; nil for none.
	Telemetry core.Telemetry
	// Processes runs managed processes; nil refuses them.
	Processes core.Processes
	// Reap ends what dead servers of the same store left running. It is called
	// at each look for them, and when one is found in between; nil ends nothing.
	Reap func(context.Context) error
}

// New returns a harness and starts its housekeeping. Shutdown ends it, and the
// processes with it; the store stays the caller's to close.
func New(cfg Config) *Harness {
	h := &Harness{
		registry: newRegistry(), orphans: orphans{reap: cfg.Reap},
		store: cfg.Store, processes: cfg.Processes, providers: map[string]core.Provider{}, work: cfg.Workspace, schemas: cfg.CheckSchema,
		limits: cfg.Limits.WithDefaults(), environ: cfg.Environ, log: cfg.Logger,
		asked: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	if h.telemetry = cfg.Telemetry; h.telemetry == nil {
		h.telemetry = noTelemetry{}
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	for _, p := range cfg.Providers {
		h.providers[p.Spec().Name] = guard(p, h.log)
	}
	h.names = slices.Sorted(maps.Keys(h.providers))
	h.wg.Go(h.housekeep)
	h.wg.Go(h.mail)
	return h
}

// Shutdown ends every session and process and waits until nothing is left of
// them, or until ctx ends, when the rest is killed and ctx's error is returned.
// New work is refused from its beginning. A second call waits for the first.
//
// The order: each actor gets Shutdown and ends its session; quit ends the loops
// that still run, and only then ctx ends commits and openings under way.
func (h *Harness) Shutdown(ctx context.Context) error {
	if !h.shut() {
		h.wg.Wait()
		return nil
	}
	actors := h.actorsOf(core.AllOwners)
	processes := make(chan error, 1)
	h.wg.Go(func() { processes <- h.endProcesses(ctx) })
	for _, a := range actors {
		_ = a.inbox.put(ctx, call{in: machine.Shutdown{}}) // or it has ended, or is killed below
	}
	var late error
	for _, a := range actors {
		select {
		case <-a.inbox.done:
		case <-ctx.Done():
			late = ctx.Err()
			a.killNow()
		}
	}
	if err := <-processes; late == nil {
		late = err
	}
	close(h.quit)
	h.cancel()
	h.wg.Wait()
	return late
}

// quitting reports whether no actor goes on.
func (h *Harness) quitting() bool {
	select {
	case <-h.quit:
		return true
	default:
		return false
	}
}

// token returns a new token for a command that waits for a reply.
func (h *Harness) token() machine.Token { return machine.Token(h.tokens.Add(1)) }

// seen returns what readers see of a hosted session: its last commit.
func (a *actor) seen() core.SessionView {
	p := a.view.Load()
	v := p.state.View()
	v.Session.LastSeq, v.Instance = p.seq, a.host.store.Instance()
	for _, t := range []*core.Turn{v.Current} {
		if t != nil {
			t.LastSeq = p.seq
		}
	}
	for i := range v.Queued {
		v.Queued[i].LastSeq = p.seq
	}
	return v
}

// redactor returns the redactor of the secrets that a session's agent may repeat.
// Sessions that bring none of their own share the server's.
func (h *Harness) redactor(cfg core.SessionConfig) *redact.Redactor {
	if len(cfg.Env)+len(cfg.MCPServers)+len(cfg.ProviderOptions) == 0 {
		h.sharedRed.Do(func() { h.shared = redact.New(h.secrets(cfg)) })
		return h.shared
	}
	return redact.New(h.secrets(cfg))
}

// secrets returns the values that an agent or a process of this configuration
// knows and that must be neither stored nor shown.
func (h *Harness) secrets(cfg core.SessionConfig) []string {
	env := slices.Clone(h.environ)
	for k, v := range cfg.Env {
		env = append(env, k+"="+v)
	}
	secrets := redact.SecretsOf(env)
	for _, given := range []map[string]json.RawMessage{cfg.MCPServers, cfg.ProviderOptions} {
		for _, raw := range given {
			secrets = append(secrets, redact.SecretsIn(raw)...)
		}
	}
	return secrets
}

// hash returns a keyed hash of parts, so that a stored one cannot be guessed
// offline.
func (h *Harness) hash(parts ...[]byte) string {
	m := hmac.New(sha256.New, h.store.Secret())
	for _, p := range parts {
		var n [8]byte
		for i := range n {
			n[i] = byte(len(p) >> (8 * i))
		}
		m.Write(n[:])
		m.Write(p)
	}
	return hex.EncodeToString(m.Sum(nil)[:16])
}

func (h *Harness) fingerprint(cfg core.SessionConfig) string {
	cfg.Fingerprint, cfg.SessionID = "", ""
	return h.hash(core.EncodeData(cfg), core.EncodeData(cfg.Unstored()))
}

// short returns ctx with the deadline of one read of the store.
func (h *Harness) short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, h.limits.StoreTimeout)
}
