package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/core"
)

// resourceUpdates notifies clients that resources to which they have subscribed
// have changed, and that the list of live ones has. It keeps the last state of
// each and compares after every change: so updates merge, the last state is
// never skipped, and no client is notified of another owner's work.
//
// Its one goroutine runs while any client is connected: the first addClient
// starts it, the last removeClient stops it.
type resourceUpdates struct {
	*surface
	srv *server.MCPServer

	mu      sync.Mutex
	clients map[string]*subscriber // by session id
	stop    chan struct{}          // not nil while the goroutine runs
	wake    chan struct{}
}

// subscriber is a client that is notified of changes.
type subscriber struct {
	ctx       context.Context // of the connection; identifies the owner
	owner     string
	liveStamp string // the stamp of the list of live resources
	watched   map[string]*subscription
}

// subscription is a resource that a client has subscribed to.
type subscription struct {
	stamp     stamp
	uses      int
	stopWatch func() // of the watch of a process
}

// stamp identifies the state of a resource, as far as subscribers see it.
type stamp struct {
	state string
	final bool // it is not expected to change
}

func newResourceUpdates(s *surface) *resourceUpdates {
	return &resourceUpdates{surface: s, clients: map[string]*subscriber{}, wake: make(chan struct{}, 1)}
}

// addHooks registers for clients and their subscriptions, of both protocol
// eras.
func (u *resourceUpdates) addHooks(h *server.Hooks) {
	h.AddOnRegisterSession(func(ctx context.Context, s server.ClientSession) { u.addClient(ctx, s.SessionID()) })
	h.AddOnUnregisterSession(func(_ context.Context, s server.ClientSession) { u.removeClient(s.SessionID()) })
	h.AddBeforeSubscribe(func(ctx context.Context, _ any, r *mcp.SubscribeRequest) {
		u.refuseUnknown(ctx, r.Params.URI)
	})
	h.AddAfterSubscribe(func(ctx context.Context, _ any, r *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		if s := server.ClientSessionFromContext(ctx); s != nil {
			u.subscribe(ctx, s.SessionID(), r.Params.URI)
		}
	})
	h.AddAfterUnsubscribe(func(ctx context.Context, _ any, r *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		if s := server.ClientSessionFromContext(ctx); s != nil {
			u.unsubscribe(s.SessionID(), r.Params.URI)
		}
	})
	h.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, r *mcp.SubscriptionsListenRequest) {
		s := server.ClientSessionFromContext(ctx)
		if s == nil {
			return
		}
		id, uris := s.SessionID(), slices.Clone(r.Params.Notifications.ResourceSubscriptions)
		for _, uri := range uris {
			u.refuseUnknown(ctx, uri)
			u.subscribe(ctx, id, uri)
		}
		context.AfterFunc(ctx, func() {
			for _, uri := range uris {
				u.unsubscribe(id, uri)
			}
		})
	})
}

// subscriptionRefuser is a session whose subscriptions can be refused before
// they are made.
type subscriptionRefuser interface {
	RefuseSubscription(uri string, err error)
}

// refuseUnknown refuses the subscription to a resource that does not exist, as
// a read of it would be.
func (u *resourceUpdates) refuseUnknown(ctx context.Context, uri string) {
	s, ok := server.ClientSessionFromContext(ctx).(subscriptionRefuser)
	if !ok {
		return
	}
	if err := u.find(ctx, uri); core.CodeOf(err) == core.CodeNotFound {
		s.RefuseSubscription(uri, errors.New(u.newCall(ctx, "resources/subscribe").failure(err).Content[0].(mcp.TextContent).Text))
	}
}

// find returns CodeNotFound if there is no resource with a URI.
func (u *resourceUpdates) find(ctx context.Context, uri string) error {
	kind, id, part := parseURI(uri)
	address := "harness://" + kind
	if id != "" {
		address += fmt.Sprintf("/{%s_id}", listKinds[kind])
	}
	if part != "" {
		address += "/" + part
	}
	if !slices.ContainsFunc(resources(), func(r resource) bool {
		path, _, _ := strings.Cut(r.address, "{?")
		return path == address
	}) {
		return core.Errorf(core.CodeNotFound, "there is no resource %s", clip(uri, maxErrorText))
	}
	if id == "" {
		return nil
	}
	r, err := u.h.Get(ctx, u.opts.Owner(ctx).Owner, id)
	if err == nil && r.Kind != listKinds[kind] {
		return core.Errorf(core.CodeNotFound, "%s is a %s, not a %s", r.ID, r.Kind, listKinds[kind])
	}
	return err
}

func (u *resourceUpdates) addClient(ctx context.Context, id string) {
	a := &subscriber{ctx: context.WithoutCancel(ctx), owner: u.opts.Owner(ctx).Owner, watched: map[string]*subscription{}}
	a.liveStamp = u.liveStamp(a.ctx, a.owner)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clients[id] = a
	if u.stop == nil {
		u.stop = make(chan struct{})
		go u.run(u.stop)
	}
}

func (u *resourceUpdates) removeClient(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a := u.clients[id]; a != nil {
		for _, w := range a.watched {
			w.close()
		}
	}
	delete(u.clients, id)
	if len(u.clients) == 0 && u.stop != nil {
		close(u.stop)
		u.stop = nil
	}
}

func (w *subscription) close() {
	if w.stopWatch != nil {
		w.stopWatch()
	}
}

// subscribe records the state of a resource before the client has the response
// to its subscription: every later change is then noticed.
func (u *resourceUpdates) subscribe(ctx context.Context, id, uri string) {
	owner := u.opts.Owner(ctx).Owner
	st := u.stampOf(ctx, owner, uri)
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.clients[id]
	if a == nil {
		return
	}
	if w := a.watched[uri]; w != nil {
		w.uses++
		return
	}
	if u.watchedBy(owner) >= maxWatched {
		u.opts.Logger.Warn("a client subscribes to too many resources", slog.Int("limit", maxWatched))
		return
	}
	w := &subscription{stamp: st, uses: 1}
	if kind, id, _ := parseURI(uri); kind == "processes" && id != "" {
		w.stopWatch, _ = u.h.WatchProcess(owner, id, u.wake)
	}
	a.watched[uri] = w
}

// watchedBy returns the number of subscriptions of the clients of an owner.
// u.mu is held.
func (u *resourceUpdates) watchedBy(owner string) (n int) {
	for _, a := range u.clients {
		if a.owner == owner {
			n += len(a.watched)
		}
	}
	return n
}

func (u *resourceUpdates) unsubscribe(id, uri string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.clients[id]
	if a == nil || a.watched[uri] == nil {
		return
	}
	if w := a.watched[uri]; w.uses > 1 {
		w.uses--
	} else {
		w.close()
		delete(a.watched, uri)
	}
}

// run compares after changes, at most once per updateInterval, until stop is
// closed.
func (u *resourceUpdates) run(stop <-chan struct{}) {
	changed := make(chan struct{}, 1)
	end := u.h.Watch(changed)
	defer end()
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for n := 0; ; {
		all := false
		select {
		case <-stop:
			return
		case <-changed:
		case <-u.wake:
		case <-look.C:
			n++
			all = n%finalPollFactor == 0
			u.notifyListChanged()
		}
		u.notifyUpdated(all)
		pause.Reset(updateInterval)
		select {
		case <-stop:
			return
		case <-pause.C:
		}
	}
}

// notifyUpdated reads what clients have subscribed to and notifies them of what
// has changed. Resources in a final state are read only if all is set.
func (u *resourceUpdates) notifyUpdated(all bool) {
	seen := map[[2]string]stamp{}
	for id, a := range u.clientsCopy() {
		for _, uri := range u.dueURIs(a, all) {
			key := [2]string{a.owner, uri}
			now, ok := seen[key]
			if !ok {
				now = u.stampOf(a.ctx, a.owner, uri)
				seen[key] = now
			}
			if u.setStamp(a, uri, now) {
				u.send(id, mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
			}
		}
	}
}

func (u *resourceUpdates) clientsCopy() map[string]*subscriber {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.clients)
}

func (u *resourceUpdates) dueURIs(a *subscriber, all bool) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var uris []string
	for uri, w := range a.watched {
		if all || !w.stamp.final {
			uris = append(uris, uri)
		}
	}
	return uris
}

func (u *resourceUpdates) setStamp(a *subscriber, uri string, now stamp) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	w := a.watched[uri]
	if w == nil || w.stamp.state == now.state {
		return false
	}
	w.stamp = now
	return true
}

// notifyListChanged notifies clients whose list of live resources has changed.
func (u *resourceUpdates) notifyListChanged() {
	seen := map[string]string{}
	for id, a := range u.clientsCopy() {
		now, ok := seen[a.owner]
		if !ok {
			now = u.liveStamp(a.ctx, a.owner)
			seen[a.owner] = now
		}
		if u.setLiveStamp(a, now) {
			u.send(id, mcp.MethodNotificationResourcesListChanged, nil)
		}
	}
}

func (u *resourceUpdates) setLiveStamp(a *subscriber, now string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now == "" || a.liveStamp == now {
		return false
	}
	a.liveStamp = now
	return true
}

func (u *resourceUpdates) send(id, method string, params map[string]any) {
	// A client that has disconnected or has not initialized yet misses nothing.
	_ = u.srv.SendNotificationToSpecificClient(id, method, params)
}

// parseURI splits the URI of a resource: harness://kind/id/part?query.
func parseURI(uri string) (kind, id, part string) {
	path, ok := strings.CutPrefix(uri, "harness://")
	if !ok {
		return "", "", ""
	}
	path, _, _ = strings.Cut(path, "?")
	kind, path, _ = strings.Cut(path, "/")
	id, part, _ = strings.Cut(path, "/")
	return kind, id, part
}

// stampOf reads the present state of a resource.
func (u *resourceUpdates) stampOf(ctx context.Context, owner, uri string) stamp {
	kind, id, part := parseURI(uri)
	switch {
	case id == "" && listKinds[kind] != "":
		return stamp{state: u.listStamp(ctx, owner, core.ListRequest{Kind: listKinds[kind]})}
	case id == "":
		return stamp{final: true} // the providers, or an unknown URI
	}
	r, err := u.h.Get(ctx, owner, id)
	if err != nil {
		return stamp{state: string(core.CodeOf(err)), final: true}
	}
	if part == "text" && r.Turn != nil {
		return stamp{state: fmt.Sprint(r.Turn.Status.Ended(), r.Turn.TextBytes), final: r.Turn.Status.Ended()}
	}
	return stamp{state: resourceStamp(r), final: r.Done() && r.Kind != core.KindSession}
}

// resourceStamp returns a short text that differs between the states of a
// resource.
func resourceStamp(r core.Resource) string {
	switch r.Kind {
	case core.KindTurn:
		s := fmt.Sprint(r.Turn.Status, r.Turn.QueuePosition, r.Turn.LastSeq)
		return s + requestStamps(r.Pending())
	case core.KindRequest:
		return requestStamps([]core.Request{*r.Request})
	case core.KindProcess:
		return fmt.Sprint(r.Process.Status, r.Process.LastSeq, r.Process.Leftover)
	}
	return fmt.Sprint(r.Session.Session.Status, r.Session.Session.LastSeq) + requestStamps(r.Session.Requests)
}

func requestStamps(rs []core.Request) string {
	var b strings.Builder
	for _, q := range rs {
		fmt.Fprint(&b, " ", q.ID, q.Status, q.AskedUser)
	}
	return b.String()
}

// listStamp returns which resources a list shows, with their status.
func (u *resourceUpdates) listStamp(ctx context.Context, owner string, r core.ListRequest) string {
	res, err := u.h.List(ctx, owner, r)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, x := range res.Items {
		fmt.Fprint(&b, " ", x.ID)
		switch {
		case x.Kind == core.KindRequest:
			b.WriteString(requestStamps([]core.Request{*x.Request}))
		case x.Kind == core.KindProcess:
			b.WriteString(string(x.Process.Status))
		case x.Kind == core.KindSession:
			b.WriteString(string(x.Session.Session.Status))
		}
	}
	return b.String()
}

// liveStamp returns which resources resources/list names, "" if that cannot be
// read now.
func (u *resourceUpdates) liveStamp(ctx context.Context, owner string) string {
	live, err := u.liveResources(ctx, owner)
	if err != nil {
		return ""
	}
	out := "live:"
	for _, r := range live {
		out += " " + r.ID
	}
	return out
}
