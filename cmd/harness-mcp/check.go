package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/core/redact"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers"
)

type checkCmd struct {
	Provider string `placeholder:"P" help:"Only this provider."`
	Probe    bool   `help:"Also drive the installed CLI through a turn, an approval and an interrupt on a built-in model: no account, no cost, no other host."`
	JSON     bool   `name:"json" help:"Print JSON."`
	Strict   bool   `help:"Fail if a checked provider is not ready."`
}

// checked is the result of check for one provider.
type checked struct {
	Provider string      `json:"provider"`
	Name     string      `json:"name"`
	Status   core.Status `json:"status"`
	Install  string      `json:"install,omitempty"`
	Probe    *probed     `json:"probe,omitempty"`
}

// Run prints which agents are installed and ready, or why not. It never sends a prompt
// to an account's model.
func (k checkCmd) Run(ctx context.Context, c *Common, std stdio) error {
	log := slog.New(slog.DiscardHandler)
	agents, err := c.agents()
	if err != nil {
		return err
	}
	runner := process.NewLocal(process.Options{PathDirs: c.PathDir, Logger: log})
	h := harness.New(harness.Config{Store: memstore.New(), Environ: os.Environ(),
		Providers: providers.All(providers.Options{Runner: runner, PathDirs: c.PathDir, Logger: log, Config: agents})})
	defer func() { _ = h.Shutdown(context.WithoutCancel(ctx)) }()
	infos, err := h.Providers(ctx, k.Provider, true)
	if err != nil {
		return err
	}
	var found []checked
	ok := true
	for _, i := range infos {
		f := checked{Provider: i.Spec.Name, Name: i.Spec.Title, Status: i.Status, Install: i.Spec.Install}
		if i.Status.Ready {
			f.Install = ""
		}
		if k.Probe && i.Status.Ready {
			f.Probe = probe(ctx, h, i.Spec.Name)
		}
		ok = ok && i.Status.Ready && (f.Probe == nil || f.Probe.Error == "")
		found = append(found, f)
	}
	if err := k.print(std, found); err != nil {
		return err
	}
	if k.Strict && !ok {
		return errSilent
	}
	return nil
}

func (k checkCmd) print(std stdio, found []checked) error {
	if k.JSON {
		enc := json.NewEncoder(std.out)
		enc.SetIndent("", "  ")
		return enc.Encode(found)
	}
	w := tabwriter.NewWriter(std.out, 0, 8, 2, ' ', 0)
	for _, f := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Provider, word(f.Status.Ready), redact.Plain(f.version()), redact.Plain(f.place()))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var searched []string
	for _, f := range found {
		for _, line := range f.details() {
			fmt.Fprintf(std.out, "\n%s: %s", f.Provider, redact.Plain(line))
		}
		// All search the same directories: print them once.
		if at := strings.Join(f.Status.Searched, ", "); !f.Status.Ready && at != "" && !slices.Contains(searched, at) {
			searched = append(searched, at)
		}
	}
	for _, at := range searched {
		fmt.Fprintf(std.out, "\nWhat is missing was looked for in %s", at)
	}
	_, err := fmt.Fprintln(std.out)
	return err
}

func word(ready bool) string {
	if ready {
		return "ready"
	}
	return "not ready"
}

// builtIn reports whether the provider is part of this program.
func (f checked) builtIn() bool { return f.Status.Ready && f.Status.Executable == "" }

// version returns the version of the executable.
func (f checked) version() string {
	if f.builtIn() {
		return ""
	}
	return f.Status.Version
}

// place returns the path of the executable, or how to install it.
func (f checked) place() string {
	if f.Status.Executable == "" && f.Install != "" {
		return "not found; to install it: " + f.Install
	}
	if f.builtIn() {
		return "built in"
	}
	return f.Status.Executable
}

// details returns the lines that are printed below the table.
func (f checked) details() []string {
	var out []string
	add := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	st := f.Status
	if st.Reason != "" && (st.Ready || st.Executable != "") { // else the table says it
		add("%s", st.Reason)
	}
	if st.Evidence != "" && st.Ready {
		add("signed in: %s (%s)", st.Authenticated, st.Evidence)
	}
	if f.Probe != nil {
		out = append(out, f.Probe.lines()...)
	}
	return out
}

// errNoLoopback means that a provider cannot be tried without an account.
var errNoLoopback = errors.New("this provider cannot be pointed at the built-in model")
