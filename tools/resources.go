package tools

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/core"
)

const (
	mimeJSON     = "application/json"
	mimeMarkdown = "text/markdown"
	mimePlain    = "text/plain"
)

// resourceURI is the URI that a client reads, with the variables of its
// template.
type resourceURI struct {
	text string
	vars map[string]any
}

func (u resourceURI) word(name string) string {
	switch v := u.vars[name].(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, ",")
	}
	return ""
}

// number returns a parameter, nil if it is absent.
func (u resourceURI) number(name string) (*int64, error) {
	s := u.word(name)
	if s == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return nil, core.Errorf(core.CodeInvalidArgument, "%s must be a whole number, not %q", name, clip(s, maxShownValue))
	}
	return &n, nil
}

// resource is a readable resource: a fixed one, or one per id where its address
// has a variable.
type resource struct {
	address, name, title, mime string
	read                       func(c *call, u resourceURI) (string, error)
}

func resources() []resource {
	return []resource{
		{"harness://providers", "providers", "Coding agents", mimeJSON, readProviders},
		{"harness://sessions", "sessions", "Sessions", mimeJSON, readList("sessions")},
		{"harness://requests", "requests", "Requests", mimeJSON, readList("requests")},
		{"harness://processes", "processes", "Processes", mimeJSON, readList("processes")},
		{"harness://sessions/{session_id}", "session", "A session", mimeJSON, readObject("session_id", core.KindSession)},
		{"harness://sessions/{session_id}/events{?after,limit}", "session_events", "A session's events", mimeJSON, readEvents("session_id")},
		{"harness://turns/{turn_id}", "turn", "A turn", mimeJSON, readObject("turn_id", core.KindTurn)},
		{"harness://turns/{turn_id}/text", "turn_text", "A turn's answer", mimeMarkdown, readText},
		{"harness://requests/{request_id}", "request", "A request", mimeJSON, readObject("request_id", core.KindRequest)},
		{"harness://processes/{process_id}", "process", "A process", mimeJSON, readObject("process_id", core.KindProcess)},
		{"harness://processes/{process_id}/events{?after,limit}", "process_events", "A process's events", mimeJSON, readEvents("process_id")},
		{"harness://processes/{process_id}/output", "process_output", "A process's last output", mimePlain, readOutput},
	}
}

// addResources registers the resources. Live sessions and processes are listed
// by listLive.
func (s *surface) addResources(srv *server.MCPServer) {
	for _, r := range resources() {
		handler := s.reader(r)
		if strings.Contains(r.address, "{") {
			srv.AddResourceTemplate(mcp.NewResourceTemplate(r.address, r.name, mcp.WithTemplateTitle(r.title),
				mcp.WithTemplateDescription(r.title+"."), mcp.WithTemplateMIMEType(r.mime)), server.ResourceTemplateHandlerFunc(handler))
			continue
		}
		srv.AddResource(mcp.NewResource(r.address, r.name, mcp.WithResourceTitle(r.title),
			mcp.WithResourceDescription(r.title+"."), mcp.WithMIMEType(r.mime)), handler)
	}
}

// reader runs a read as handle runs a call. Its errors are protocol errors with
// our code at the beginning of the message.
func (s *surface) reader(r resource) server.ResourceHandlerFunc {
	return func(ctx context.Context, req mcp.ReadResourceRequest) (_ []mcp.ResourceContents, err error) {
		c := s.newCall(ctx, "resources/read")
		c.budget, c.contentBudget = maxBudget, maxBudget
		defer func() {
			if p := recover(); p != nil {
				err = errors.New(c.panicked(p).Content[0].(mcp.TextContent).Text)
			}
		}()
		text, err := r.read(c, resourceURI{req.Params.URI, req.Params.Arguments})
		if err != nil {
			return nil, errors.New(c.failure(err).Content[0].(mcp.TextContent).Text)
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: r.mime, Text: text}}, nil
	}
}

func readProviders(c *call, _ resourceURI) (string, error) {
	infos, err := c.h.Providers(c.ctx, "", false)
	if err != nil {
		return "", err
	}
	return string(encode(map[string]any{"items": newProviders(infos, false).Providers})), nil
}

func readList(kind string) func(*call, resourceURI) (string, error) {
	return func(c *call, _ resourceURI) (string, error) {
		res, err := c.h.List(c.ctx, c.caller.Owner, core.ListRequest{Kind: listKinds[kind]})
		if err != nil {
			return "", err
		}
		return string(encode(c.listed(res))), nil
	}
}

// readObject reads a resource of one kind. An id of another kind is not found.
func readObject(name string, kind core.ResourceKind) func(*call, resourceURI) (string, error) {
	return func(c *call, u resourceURI) (string, error) {
		r, err := c.h.Get(c.ctx, c.caller.Owner, u.word(name))
		if err != nil {
			return "", err
		}
		if r.Kind != kind {
			return "", core.Errorf(core.CodeNotFound, "%s is a %s, not a %s", r.ID, r.Kind, kind)
		}
		o := c.resourceObject(r)
		*o.nextCalls() = nil // resources have no suggestions
		return string(fit(o.slots(), c.budget, func() []byte { return encode(o) })), nil
	}
}

func readText(c *call, u resourceURI) (string, error) {
	r, err := c.h.Get(c.ctx, c.caller.Owner, u.word("turn_id"))
	if err != nil {
		return "", err
	}
	if r.Kind != core.KindTurn {
		return "", core.Errorf(core.CodeNotFound, "%s is a %s, not a turn", r.ID, r.Kind)
	}
	o := c.turn(*r.Turn, nil)
	text, _ := o.text.truncate(maxBudget)
	return text, nil
}

func readEvents(name string) func(*call, resourceURI) (string, error) {
	return func(c *call, u resourceURI) (string, error) {
		in := replayArgs{ID: u.word(name)}
		var err error
		if in.After, err = u.number("after"); err != nil {
			return "", err
		}
		if in.Limit, err = u.number("limit"); err != nil {
			return "", err
		}
		c.budget, c.contentBudget = defaultBudget, defaultBudget
		o, err := c.eventPage(c.ctx, in)
		if err != nil {
			return "", err
		}
		return string(encode(o)), nil
	}
}

// readOutput returns the newest output of both streams.
func readOutput(c *call, u resourceURI) (string, error) {
	page, err := c.h.Replay(c.ctx, c.caller.Owner, core.ReplayRequest{
		ID: u.word("process_id"), Types: []core.EventType{core.TypeStdout, core.TypeStderr}, Tail: windowEvents, MaxBytes: windowBytes,
	})
	if err != nil {
		return "", err
	}
	var out []byte
	for _, e := range page.Events {
		out = append(out, deltaBytes(e)...)
	}
	text := strings.ToValidUTF8(string(out), "\uFFFD")
	return text[runeCeil(text, len(text)-outputTail):], nil
}

// listLive adds live sessions and processes to the first page of the list of
// resources.
func (s *surface) listLive(ctx context.Context, _ any, req *mcp.ListResourcesRequest, res *mcp.ListResourcesResult) {
	if req.Params.Cursor != "" || res == nil {
		return // they are on the first page
	}
	live, _ := s.liveResources(ctx, s.newCall(ctx, "resources/list").caller.Owner) // the fixed ones are valid without them
	for _, r := range live {
		res.Resources = append(res.Resources, listedResource(r))
	}
}

// liveResources returns the live sessions and processes of an owner, at most
// listedResources of each kind, and the errors of those that cannot be read.
func (s *surface) liveResources(ctx context.Context, owner string) (live []core.Resource, _ error) {
	var errs []error
	yes := true
	for _, kind := range []core.ResourceKind{core.KindSession, core.KindProcess} {
		found, err := s.h.List(ctx, owner, core.ListRequest{Kind: kind, Live: &yes, Limit: listedResources})
		live, errs = append(live, found.Items...), append(errs, err)
	}
	return live, errors.Join(errs...)
}

func listedResource(r core.Resource) mcp.Resource {
	row := newListRow(r)
	path := "harness://sessions/"
	if r.Kind == core.KindProcess {
		path = "harness://processes/"
	}
	return mcp.NewResource(path+r.ID, r.ID, mcp.WithResourceTitle(firstNonEmpty(row.Title, row.Command, r.ID)),
		mcp.WithResourceDescription(strings.TrimSpace(row.Provider+" "+row.Status)), mcp.WithMIMEType(mimeJSON))
}
