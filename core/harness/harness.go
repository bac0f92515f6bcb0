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
	store     core.Store
	log       *slog.Logger
	limits    core.Limits
	environ   []string
	schemas   core.SchemaCheck
	telemetry core.Telemetry
	work      Workspace
	ctx       context.Context // ends after Shutdown: of everything that the harness owns
	cancel    context.CancelFunc
	quit      chan struct{}
	wg        sync.WaitGroup
	tokens    atomic.Uint64
	probes    probes
	changes   journal.Wakes // of any session hosted here
	clock     *clock

	processes core.Processes // nil: this program runs none

	reviving    locks
	settling    locks // of what dead servers left, while it is put to rest
	lostKeys    lostKeys
	missedTurns unstoredTurns
	outage      journal.Outage // of the store, for sessions
	turnHosts   turnHosts
	reap        func(context.Context) error
	reaped      reaped
	starting    sync.Map // ids of processes that are being started
	takenOver   sync.Map // keys of rows of dead servers that this one has claimed and not put to rest yet

	sharedRed sync.Once
	shared    *redact.Redactor // knows the server's own secrets
	asked     chan struct{}    // an agent asks something

	providers map[string]core.Provider
	names     []string

	searches searches // for patterns in output, by owner

	mu      sync.Mutex // guards what follows
	actors  map[key]*actor
	turnIDs map[key]int    // chosen turn ids that are being admitted
	convs   map[string]key // open provider conversations
	calls   map[callKey]*joined
	fading  map[*actor]struct{} // forgotten, and not ended yet
	down    bool
}

// key names a resource: ids are unique per owner.
type key struct{ owner, id string }

// Config is what a harness is made of.
type Config struct {
	Store     core.Store
	Providers []core.Provider
	Limits    core.Limits
	Logger    *slog.Logger // nil: no log
	// Environ is the server's own environment, for the secrets in it.
	Environ []string
	// Workspace sees what agents change; nil believes what they report.
	Workspace Workspace
	// CheckSchema checks answers for which a schema was given; nil does not.
	CheckSchema core.SchemaCheck
	// Telemetry hears what is done; nil for nobody.
	Telemetry core.Telemetry
	// Processes runs managed processes; nil refuses them.
	Processes core.Processes
	// Reap ends what dead servers of the same store left running. It is called
	// at each look for them, and when one is met in between; nil ends nothing.
	Reap func(context.Context) error
}

// New makes a harness and begins its housekeeping. Shutdown ends it, and the
// processes with it; the store stays the caller's to close.
func New(cfg Config) *Harness {
	h := &Harness{
		store: cfg.Store, log: cfg.Logger, limits: cfg.Limits.WithDefaults(), environ: cfg.Environ, schemas: cfg.CheckSchema, work: cfg.Workspace, quit: make(chan struct{}), processes: cfg.Processes, reap: cfg.Reap,
		providers: map[string]core.Provider{}, actors: map[key]*actor{}, turnIDs: map[key]int{},
		convs: map[string]key{}, calls: map[callKey]*joined{}, fading: map[*actor]struct{}{},
	}
	if h.telemetry = cfg.Telemetry; h.telemetry == nil {
		h.telemetry = noTelemetry{}
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	for _, p := range cfg.Providers {
		h.providers[p.Spec().Name] = p
	}
	h.names = slices.Sorted(maps.Keys(h.providers))
	h.asked, h.clock = make(chan struct{}, 1), newClock()
	h.wg.Go(h.housekeep)
	h.wg.Go(func() { h.clock.run(h.quit) })
	h.wg.Go(h.mail)
	return h
}

// Shutdown ends every session and process and waits until nothing is left of them, or
// until ctx ends, when the rest is ended by force. New work is refused from
// its beginning.
func (h *Harness) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	first := !h.down
	h.down = true
	actors := slices.Collect(maps.Values(h.actors))
	h.mu.Unlock()
	if !first {
		h.wg.Wait()
		return nil
	}
	processes := make(chan error, 1)
	h.wg.Go(func() { processes <- h.endProcesses(ctx) })
	for _, a := range actors {
		_ = a.put(ctx, call{in: machine.Shutdown{}}) // or it has ended, or is killed below
	}
	var late error
	for _, a := range actors {
		select {
		case <-a.ended():
		case <-ctx.Done():
			late = ctx.Err()
			a.killNow()
		}
	}
	if err := <-processes; late == nil {
		late = err
	}
	close(h.quit)
	h.pokeAll()
	h.cancel()
	h.wg.Wait()
	return late
}

// quitting says that no host goes on.
func (h *Harness) quitting() bool {
	select {
	case <-h.quit:
		return true
	default:
		return false
	}
}

// pokeAll has every host see that the server ends.
func (h *Harness) pokeAll() {
	h.mu.Lock()
	actors := slices.AppendSeq(slices.Collect(maps.Values(h.actors)), maps.Keys(h.fading))
	h.mu.Unlock()
	for _, a := range actors {
		a.poke()
	}
}

// down refuses new work while the server ends.
func (h *Harness) refuseIfDown() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		return core.Errorf(core.CodeShuttingDown, "the server is shutting down").WithHint("Connect again and retry.").Retry()
	}
	return nil
}

func (h *Harness) token() machine.Token { return machine.Token(h.tokens.Add(1)) }

// forget takes an actor out of the table that has ended or is about to.
func (h *Harness) forget(a *actor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fading[a] = struct{}{}
	k := key{a.owner, a.id}
	if h.actors[k] != a {
		return // its place may be another's by now
	}
	delete(h.actors, k)
	for _, conv := range a.convs {
		delete(h.convs, conv)
	}
}

// ended takes leave of an actor that is forgotten, with all that it had started.
func (h *Harness) ended(a *actor) {
	h.mu.Lock()
	delete(h.fading, a)
	h.mu.Unlock()
	h.wg.Done() // of serve
}

// liveActor gives the actor of a session, if this instance hosts it now.
func (h *Harness) liveActor(owner, id string) *actor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.actors[key{owner, id}]
}

// actorsOf gives the hosted sessions of an owner.
func (h *Harness) actorsOf(owner string) []*actor {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*actor
	for k, a := range h.actors {
		if k.owner == owner || owner == core.AllOwners {
			out = append(out, a)
		}
	}
	return out
}

// seen gives what readers see of a hosted session.
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

// redactor knows the secrets that a session's agent may repeat. Sessions that
// bring none of their own share the server's.
func (h *Harness) redactor(cfg core.SessionConfig) *redact.Redactor {
	if len(cfg.Env)+len(cfg.MCPServers)+len(cfg.ProviderOptions) == 0 {
		h.sharedRed.Do(func() { h.shared = redact.NewRedactor(redact.SecretsOf(h.environ)) })
		return h.shared
	}
	return redact.NewRedactor(h.secrets(cfg))
}

// secrets returns the values that must not be shown: those of the server's
// environment and those that a configuration brings.
func (h *Harness) secrets(cfg core.SessionConfig) []string {
	env := slices.Clone(h.environ)
	for k, v := range cfg.Env {
		env = append(env, k+"="+v)
	}
	secrets := redact.SecretsOf(env)
	for _, raw := range cfg.MCPServers {
		secrets = append(secrets, redact.SecretsIn(raw)...)
	}
	for _, raw := range cfg.ProviderOptions {
		secrets = append(secrets, redact.SecretsIn(raw)...)
	}
	return secrets
}

// hash is a keyed hash, so that a stored one cannot be tried out offline.
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
	secret, _ := json.Marshal(map[string]any{
		"env": cfg.Env, "mcp": cfg.MCPServers, "skills": cfg.Skills, "options": cfg.ProviderOptions,
	})
	cfg.Fingerprint, cfg.SessionID = "", ""
	return h.hash(core.EncodeData(cfg), secret)
}

// short bounds a look-up in the store by the store's own deadline.
func (h *Harness) short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, h.limits.StoreTimeout)
}
