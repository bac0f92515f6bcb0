package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

type connectCmd struct {
	Start     bool   `help:"Start a server in the background when none runs there. It goes on when this ends. One that runs keeps its own flags: those given here that differ are named."`
	TokenFile string `placeholder:"FILE" help:"File whose first token is sent (token, beside the journal)."`
	Address   string `arg:"" help:"Where the server is: HOST:PORT, unix:PATH, or a URL."`
}

// Run connects standard input and output to a running server, so that work outlives
// the client that asked for it.
func (k *connectCmd) Run(ctx context.Context, c *Common, std stdio, kctx *kong.Context) error {
	remote, err := k.remote(c)
	if err != nil {
		return err
	}
	h, err := logger(c, std.err)
	if err != nil {
		return err
	}
	if remote.isPlaintext() {
		h.Warn("the token is sent unencrypted: give an https URL", "server", remote.url)
	}
	opts := transport.ConnectOptions{URL: remote.url + transport.PathMCP, Name: k.Address, Token: remote.token, TokenFrom: remote.file, Transport: remote.transport, Log: h}
	if remote.isLocal() {
		if opts.Directory, err = os.Getwd(); err != nil {
			h.Warn("the server is not told in which folder the client is", "err", err)
		}
	}
	if k.Start {
		if err := c.dirsExist(); err != nil {
			return err
		}
		own := settings(kctx)
		k.compare(ctx, remote, own, std)
		b := &background{
			remote: remote,
			argv:   slices.Concat([]string{"serve", "--http", k.Address}, argvOf(kctx, k)),
			log:    serverLog(c),
		}
		if !strings.HasPrefix(k.Address, unixScheme) {
			b.argv = append(b.argv, "--token-file", tokenFile(k.TokenFile, c))
		}
		opts.Start = func(ctx context.Context) error {
			if err := b.start(ctx); err != nil {
				return err
			}
			k.compare(ctx, remote, own, std) // another client may have started its server first
			return nil
		}
	} else if own := settingsOnCommandLine(settings(kctx), kctx); len(own) > 0 {
		k.compare(ctx, remote, own, std)
	}
	ctx, stop := transport.WatchParent(ctx)
	defer stop()
	err = transport.Connect(ctx, std.in, std.out, opts)
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case errors.Is(err, transport.ErrNoServer) && !k.Start:
		return &hintedError{err, "Give --start to have one started, or the address at which one runs."}
	case errors.Is(err, transport.ErrNoServer):
		return err
	}
	return fmt.Errorf("serving MCP: %w", err)
}

// remote is the server that connect calls.
type remote struct {
	url       string // without a path
	token     string
	file      string // where the token is from
	transport *http.Transport
}

// isPlaintext reports whether the token is sent unencrypted over a network.
func (r *remote) isPlaintext() bool {
	return r.token != "" && !strings.HasPrefix(r.url, "https://") && !r.isLocal()
}

// isLocal reports whether the server is on this machine, where paths mean the same.
func (r *remote) isLocal() bool {
	at, err := url.Parse(r.url)
	if err != nil || at.Hostname() == "localhost" {
		return err == nil
	}
	ip := net.ParseIP(at.Hostname())
	return ip != nil && ip.IsLoopback()
}

func (k *connectCmd) remote(c *Common) (*remote, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	if path, ok := strings.CutPrefix(k.Address, unixScheme); ok {
		return &remote{url: "http://localhost", transport: &http.Transport{DialContext: dialPrivateSocket(path)}}, ownSocket(path)
	}
	r := &remote{url: "http://" + k.Address, transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	if strings.Contains(k.Address, "://") {
		r.url = strings.TrimSuffix(strings.TrimSuffix(k.Address, "/"), transport.PathMCP)
	}
	file := tokenFile(k.TokenFile, c)
	if k.Start { // the server reads what is there
		if _, err := transport.OpenTokenFile(file); err != nil {
			return nil, err
		}
	}
	var err error
	r.file = file
	if r.token, err = transport.FirstToken(file); err != nil {
		err = &hintedError{err, "Name a file with your token: --token-file FILE. The server says at its start where its tokens are."}
	}
	return r, err
}

// dialPrivateSocket connects to a socket that belongs to this user; it checks that at
// each dial.
func dialPrivateSocket(path string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := ownSocket(path); err != nil {
			return nil, &net.OpError{Op: "dial", Net: "unix", Err: err}
		}
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
}

// check returns a usageError if Address is no address of a server.
func (k *connectCmd) check() error {
	_, socket, err := socketPath(k.Address)
	scheme, _, isURL := strings.Cut(k.Address, "://")
	switch {
	case err != nil || socket:
		return err
	case isURL && !k.Start && (scheme == "http" || scheme == "https"):
		return nil
	}
	if _, _, err := net.SplitHostPort(k.Address); err != nil || isURL {
		return usageErrorf("Give HOST:PORT, unix:PATH, or without --start an http or https URL.", "%q is no address of a server", k.Address)
	}
	return nil
}

// flagsOnCommandLine returns the flags of this command line, without those of a file.
func flagsOnCommandLine(kctx *kong.Context) (flags []*kong.Flag) {
	for _, p := range kctx.Path {
		if p.Flag != nil && !p.Resolved {
			flags = append(flags, p.Flag)
		}
	}
	return flags
}

// settingsOnCommandLine returns the settings that this command line sets. Those of a
// file or a variable are for all commands and do not describe a server that this
// command does not start.
func settingsOnCommandLine(all map[string]string, kctx *kong.Context) map[string]string {
	own := map[string]string{}
	for _, flag := range flagsOnCommandLine(kctx) {
		if digest, ok := all[flag.Name]; ok {
			own[flag.Name] = digest
		}
	}
	return own
}

// argvOf returns the common flags of this command line, for another command.
func argvOf(kctx *kong.Context, own any) (argv []string) {
	skip := map[string]bool{}
	t := reflect.TypeOf(own).Elem()
	for i := range t.NumField() {
		skip[strings.ToLower(t.Field(i).Name)] = true
	}
	for _, flag := range flagsOnCommandLine(kctx) {
		if skip[strings.ReplaceAll(flag.Name, "-", "")] {
			continue
		}
		values := reflect.ValueOf(kctx.FlagValue(flag))
		if values.Kind() != reflect.Slice {
			argv = append(argv, fmt.Sprintf("--%s=%v", flag.Name, values))
			continue
		}
		for i := range values.Len() {
			argv = append(argv, fmt.Sprintf("--%s=%v", flag.Name, values.Index(i)))
		}
	}
	return slices.Compact(argv)
}

// background starts servers that outlive this process.
type background struct {
	remote *remote
	argv   []string
	log    string
}

// start runs a server in the background and waits until one answers. Of
// several that start at once, one gets the address and the others end.
func (b *background) start(ctx context.Context) error {
	if b.ready(ctx) {
		return nil
	}
	if process.Depth(os.Environ()) > 0 {
		// The guard above this process ends all below it, and so the server.
		return &hintedError{errors.New("no server runs, and one that is started below an agent would end with the agent"),
			"Start it outside of the agent: harness-mcp serve --http ADDRESS."}
	}
	ended, err := b.spawn()
	if err != nil {
		return err
	}
	deadline := time.NewTimer(startTime)
	defer deadline.Stop()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for !b.ready(ctx) {
		select {
		case <-ended:
			ended = nil // perhaps another one got the address: it has some time
			deadline.Reset(startTime / 10)
		case <-deadline.C:
			return fmt.Errorf("the server did not become ready: %s", b.stderrTail())
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (b *background) spawn() (ended <-chan struct{}, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(b.log), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(b.log); err == nil && info.Size() > maxLog {
		if err := os.Rename(b.log, b.log+".old"); err != nil {
			return nil, err
		}
	}
	log, err := os.OpenFile(b.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(exe, b.argv...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() { // until it ends, or this process does
		defer close(done)
		_ = cmd.Wait() // it says why in its log
	}()
	return done, nil
}

// ready reports whether a server answers and takes calls.
func (b *background) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.remote.url+transport.PathReady, nil)
	if err != nil {
		return false
	}
	response, err := b.remote.transport.RoundTrip(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// stderrTail returns the end of the background server's log, at most logTail bytes.
func (b *background) stderrTail() string {
	text, err := os.ReadFile(b.log)
	if err != nil {
		return errors.Join(errors.New("it left no log"), err).Error()
	}
	text = text[max(0, len(text)-logTail):]
	return fmt.Sprintf("%s (%s)", strings.TrimSpace(string(text)), b.log)
}

// serverLog returns the path of the log of a server that connect starts.
func serverLog(c *Common) string { return filepath.Join(filepath.Dir(c.DB), "server.log") }
