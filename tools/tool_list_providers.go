package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

type listProvidersArgs struct {
	Provider string `arg:"provider" doc:"only this one, with its models and options"`
	Refresh  bool   `arg:"refresh" doc:"probe again"`
}

var listProvidersTool = tool[listProvidersArgs, *providersObject]{
	name:  "list_providers",
	title: "List coding agents",
	description: "Which coding agents can be used here: ready or why not, version, sign-in, capabilities. " +
		"Call first if unsure of a provider's name, or after provider_not_ready. " +
		"Never sends a prompt. Next: start_session or delegate.",
	hints:  reads,
	output: providersOut,
	run: func(ctx context.Context, c *call, in listProvidersArgs) (*providersObject, error) {
		infos, err := c.h.Providers(ctx, in.Provider, in.Refresh)
		if err != nil {
			return nil, err
		}
		return newProviders(infos, in.Provider != ""), nil
	},
}

// providersObject is the list of coding agents.
type providersObject struct {
	nexts
	Note      string            `json:"note,omitempty"`
	Providers []*providerObject `json:"providers"`
}

// providerObject is one coding agent. Capabilities is short for the default
// transport's: only what is not native; the whole is in Transports.
type providerObject struct {
	Provider      string                  `json:"provider"`
	Name          string                  `json:"name"`
	Ready         bool                    `json:"ready"`
	Reason        string                  `json:"reason,omitempty"`
	Version       string                  `json:"version,omitempty"`
	Authenticated string                  `json:"authenticated"`
	Transport     string                  `json:"transport"`
	Capabilities  map[string]core.Support `json:"capabilities,omitempty"`
	Evidence      string                  `json:"evidence,omitempty"`
	Install       string                  `json:"install,omitempty"`
	Executable    string                  `json:"executable,omitempty"`
	Searched      []string                `json:"searched,omitempty"`
	Models        []string                `json:"models,omitempty"`
	Transports    []core.TransportSpec    `json:"transports,omitempty"`
	Options       []core.OptionSpec       `json:"options,omitempty"`

	caps  core.Capabilities // the default transport's
	login string
}

func newProviders(infos []core.ProviderInfo, whole bool) *providersObject {
	o := &providersObject{Providers: []*providerObject{}}
	var best *providerObject // of the real agents
	demo := false
	for _, in := range infos {
		p := newProvider(in, whole)
		o.Providers = append(o.Providers, p)
		if p.Provider == demoProvider {
			demo = true
		} else if best == nil || p.readiness() > best.readiness() {
			best = p
		}
	}
	switch {
	case best == nil:
		if whole && demo {
			o.suggest("delegate", "plays its script; it does no work", args{"provider": demoProvider, "prompt": "say hello"})
		}
	case best.readiness() == readyToWork:
		o.suggest("delegate", "one task, with your own prompt", args{"provider": best.Provider, "prompt": "<your prompt>"})
		o.suggest("start_session", "opens a conversation", args{"provider": best.Provider})
		if !whole {
			o.suggest("list_providers", "its models and options", args{"provider": best.Provider})
		}
	default:
		o.Note = best.problem()
		if !whole && demo {
			o.Note += " demo only plays a script."
		}
		again := args{"refresh": true}
		if whole || best.Ready {
			again["provider"] = best.Provider
		}
		o.suggest("list_providers", "looks again, once that is done", again)
	}
	return o
}

// How near a provider is to doing work.
const (
	notReady = iota
	notSignedIn
	readyToWork
)

// readiness returns how near the provider is to being usable.
func (p *providerObject) readiness() int {
	switch {
	case !p.Ready:
		return notReady
	case p.Authenticated == "no":
		return notSignedIn
	}
	return readyToWork
}

// problem returns why the best provider of a list is not usable.
func (p *providerObject) problem() string {
	if p.readiness() == notSignedIn {
		return p.Provider + " seems not to be signed in. " + proseSignIn(p.login)
	}
	return "No coding agent is ready: install one."
}

// demoProvider is the scripted agent that every build has. It is always ready
// and never suggested for real work.
const demoProvider = "demo"

func newProvider(in core.ProviderInfo, whole bool) *providerObject {
	def, _ := in.Spec.Transport("")
	p := &providerObject{
		Provider: in.Spec.Name, Name: in.Spec.Title, Ready: in.Status.Ready, Reason: oneLine(in.Status.Reason, maxWarning),
		Version: in.Status.Version, Authenticated: firstNonEmpty(in.Status.Authenticated, "unknown"), Transport: def.Name, caps: def.Capabilities,
		login: in.Spec.Login,
	}
	if !whole {
		p.setBrief(in)
		return p
	}
	if !p.Ready {
		p.Install = in.Spec.Install
	}
	p.Evidence, p.Executable = in.Status.Evidence, in.Status.Executable
	p.Searched, p.Models = in.Status.Searched, in.Status.Models
	p.Options = in.Spec.Options
	for _, t := range in.Spec.Transports {
		t.Capabilities = withAllSupport(t.Capabilities)
		p.Transports = append(p.Transports, t)
	}
	return p
}

// setBrief sets the fields of a provider in a list. One that is not installed
// shows only how to install it.
func (p *providerObject) setBrief(in core.ProviderInfo) {
	if p.Ready {
		p.Capabilities = notNative(p.caps)
		return
	}
	p.Install = in.Spec.Install
	if in.Status.Executable == "" && len(in.Status.Searched) > 0 {
		p.Reason = "not found" // the whole object lists where
	}
}

// notNative returns the capabilities that are not native.
func notNative(c core.Capabilities) map[string]core.Support {
	out := map[string]core.Support{}
	for _, x := range capabilitiesOf(c) {
		if x.support != core.Native {
			out[x.name] = x.support
		}
	}
	return out
}

// slots returns the searched places and the models, which may be shortened.
func (o *providersObject) slots() []slot {
	var out []slot
	for _, p := range o.Providers {
		out = append(out, &listSlot{dst: &p.Searched, src: p.Searched}, &listSlot{dst: &p.Models, src: p.Models})
	}
	return out
}

func (o *providersObject) links() []mcp.ResourceLink { return nil }

func (o *providersObject) prose() prose {
	ready := 0
	var lines []string
	for _, p := range o.Providers {
		if p.Ready {
			ready++
		}
		lines = append(lines, p.lines()...)
	}
	head := fmt.Sprintf("%d of %s ready.", ready, proseCount(len(o.Providers), "provider"))
	if o.Note != "" {
		head += " " + o.Note
	}
	return prose{lines: []string{head}, content: strings.Join(lines, "\n")}
}

func (p *providerObject) lines() []string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", p.Provider, p.Name)
	if !p.Ready && len(p.Transports) == 0 { // among others
		fmt.Fprintf(&b, ": not ready; %s", firstNonEmpty(p.Reason, "unusable"))
		if p.Install != "" {
			b.WriteString("; " + p.Install)
		}
		return []string{b.String()}
	}
	if p.Ready {
		b.WriteString(": ready")
	} else {
		b.WriteString(": not ready")
	}
	if p.Version != "" {
		fmt.Fprintf(&b, ", version %s", p.Version)
	}
	fmt.Fprintf(&b, ", signed in: %s, transport %s", p.Authenticated, p.Transport)
	if p.Reason != "" {
		fmt.Fprintf(&b, "; %s", p.Reason)
	}
	for _, s := range []core.Support{core.Unsupported, core.Emulated, core.Experimental} {
		if names := capabilityNames(p.caps, s); len(names) > 0 && p.Capabilities != nil {
			fmt.Fprintf(&b, "; %s: %s", s, strings.Join(names, ", "))
		}
	}
	lines := []string{b.String()}
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	add("install", p.Install)
	add("sign-in evidence", p.Evidence)
	add("executable", p.Executable)
	if !p.Ready {
		add("searched", strings.Join(p.Searched, ", "))
	}
	add("models", strings.Join(p.Models, ", "))
	for _, t := range p.Transports {
		add("transport "+t.Name, transportLine(t))
	}
	for _, o := range p.Options {
		enum := ""
		if len(o.Enum) > 0 {
			enum = ", one of " + strings.Join(o.Enum, ", ")
		}
		add("option "+o.Name, fmt.Sprintf("%s%s; %s", o.Type, enum, o.Description))
	}
	return lines
}

func transportLine(t core.TransportSpec) string {
	var parts []string
	if t.Default {
		parts = append(parts, "default")
	}
	for _, x := range capabilitiesOf(t.Capabilities) {
		parts = append(parts, x.name+" "+string(x.support))
	}
	words := func(what string, list []string) {
		if len(list) > 0 {
			parts = append(parts, what+" "+strings.Join(list, "|"))
		}
	}
	words("approval_mode", convertStrings[string](t.Approval))
	words("sandbox_mode", convertStrings[string](t.Sandbox))
	words("reasoning_effort", t.Efforts)
	return strings.Join(parts, ", ")
}
