package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/harness-mcp/harness-mcp/tools"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// httpFlags holds the flags of a server over HTTP.
type httpFlags struct {
	HTTP        string `name:"http" placeholder:"ADDR" help:"Serve streamable HTTP at /mcp of this address (127.0.0.1:7333) or socket (unix:PATH), not stdin and stdout."`
	TokenFile   string `placeholder:"FILE" help:"Who may call: lines of NAME TOKEN; a token alone is the name local. Made with one token if it is not there (token, beside the journal)."`
	TLSCert     string `name:"tls-cert" placeholder:"FILE" help:"Certificate, for HTTPS."`
	TLSKey      string `name:"tls-key" placeholder:"FILE" help:"Its key."`
	SharedUser  bool   `help:"Tokens of several names are served although every process that one of them starts runs as this user and can read the tokens and the journal of all."`
	BehindProxy bool   `help:"A proxy in front terminates TLS: any Host is served, and other addresses than loopback without TLS."`
}

// check refuses flags on the command line that would silently do nothing:
// a token or a certificate without --http would protect nothing. A file or a variable
// may set them for other commands.
func (f *httpFlags) check(typed []*kong.Flag) error {
	socket := strings.HasPrefix(f.HTTP, unixScheme)
	for _, flag := range typed {
		switch flag.Name {
		case "token-file", "tls-cert", "tls-key", "behind-proxy", "shared-user":
			if f.HTTP == "" {
				return usageErrorf("Give --http ADDR too.", "--%s is for a server on HTTP", flag.Name)
			}
			if socket {
				return usageErrorf("Its mode keeps others away. Leave the flag out, or give --http HOST:PORT.", "--%s does nothing on a socket", flag.Name)
			}
		}
	}
	return nil
}

// unixScheme is the prefix of an address that is the path of a socket.
const unixScheme = "unix:"

// socketPath returns the path in the address of a socket; ok is false for another kind
// of address. It refuses an empty path and one that begins with @: the kernel takes
// them for an abstract name, which every user of the machine may open.
func socketPath(address string) (path string, ok bool, err error) {
	path, ok = strings.CutPrefix(address, unixScheme)
	if ok && (path == "" || path[0] == '@') {
		err = usageErrorf("Give "+unixScheme+"PATH, with the path of a file that is yours, as unix:/home/me/harness.sock.", "%s is no path of a socket", address)
	}
	return path, ok, err
}

// addressError means that an address cannot be read.
func addressError(given string, err error) error {
	return usageErrorf("Give HOST:PORT, as 127.0.0.1:7333, or unix:PATH.", "--http %q is no address: %w", given, err)
}

// tokenFile returns the path of the tokens.
func tokenFile(given string, c *Common) string {
	if given != "" {
		return given
	}
	return filepath.Join(filepath.Dir(c.DB), "token")
}

// listener is an address that is served, with its tokens.
type listener struct {
	net.Listener
	url    string
	tokens *transport.Tokens // nil: whoever can open the socket
	hosts  []string          // nil: any
	file   string            // where the tokens are
}

// listen opens the address of the flags, after the checks of checkExposure.
func (f *httpFlags) listen(c *Common) (*listener, error) {
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return nil, usageErrorf("Give both, or neither.", "--tls-cert and --tls-key go together")
	}
	path, ok, err := socketPath(f.HTTP)
	if err != nil {
		return nil, err
	}
	if ok {
		l, err := listenUnix(path)
		if err != nil {
			return nil, fmt.Errorf("listening on %s: %w", f.HTTP, err)
		}
		return &listener{Listener: l, url: f.HTTP}, nil
	}
	addr, err := net.ResolveTCPAddr("tcp", f.HTTP)
	if err != nil {
		return nil, addressError(f.HTTP, err)
	}
	if !addr.IP.IsLoopback() {
		if err := f.checkExposure(c); err != nil {
			return nil, err
		}
	}
	l := &listener{url: "http://", file: tokenFile(f.TokenFile, c)}
	if l.tokens, err = transport.OpenTokenFile(l.file); err != nil {
		return nil, err
	}
	if err := f.checkOwners(c, l.tokens.Owners()); err != nil {
		return nil, err
	}
	var tlsConfig *tls.Config
	if f.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
		if err != nil {
			return nil, usageErrorf("--tls-cert and --tls-key name files in PEM form; the key must not be encrypted.", "reading the certificate: %w", err)
		}
		tlsConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
		l.url = "https://"
	}
	tcp, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", f.HTTP, err)
	}
	bound := tcp.Addr().(*net.TCPAddr)
	if bound.IP.IsLoopback() && !f.BehindProxy {
		l.hosts = transport.LoopbackHosts(bound)
	}
	l.url += bound.String() + transport.PathMCP
	l.Listener = tcp
	if tlsConfig != nil {
		l.Listener = tls.NewListener(tcp, tlsConfig)
	}
	return l, nil
}

// checkExposure returns a usageError if a server that other machines can reach is not
// confined to directories and executables, or would receive tokens without TLS.
func (f *httpFlags) checkExposure(c *Common) error {
	var lacks []string
	if len(c.AllowDir) == 0 {
		lacks = append(lacks, "--allow-dir")
	}
	if len(c.AllowExec) == 0 {
		lacks = append(lacks, "--allow-exec")
	}
	if f.TLSCert == "" && !f.BehindProxy {
		lacks = append(lacks, "--tls-cert and --tls-key (or --behind-proxy)")
	}
	if len(lacks) == 0 {
		return nil
	}
	return usageErrorf("Give them, or serve this machine only: --http 127.0.0.1:PORT, or --http unix:PATH.",
		"%s can be reached from other machines: that needs %s", f.HTTP, strings.Join(lacks, " and "))
}

// checkOwners returns a usageError if several owners would be served who can start any
// program: as processes of one user of the system they reach each other's tokens and
// journals, so that the names keep nobody apart.
func (f *httpFlags) checkOwners(c *Common, owners []string) error {
	if len(owners) < 2 || len(c.AllowExec) > 0 || f.SharedUser {
		return nil
	}
	return usageErrorf("Confine the programs with --allow-exec, serve each from a server under a user of their own, or accept it with --shared-user.",
		"the token file names %s, and any of them could start a program that reads the tokens and journals of the others", joinNames(owners))
}

// joinNames lists up to three names.
func joinNames(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// serveHTTP serves MCP to callers with a token until ctx ends.
func (f *httpFlags) serveHTTP(ctx context.Context, c *Common, errw io.Writer, own map[string]string) (err error) {
	if err := c.dirsExist(); err != nil {
		return err
	}
	l, err := f.listen(c)
	if err != nil {
		return err
	}
	h, err := newApp(ctx, c, errw)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if l.tokens != nil {
		for _, name := range l.tokens.Guessable() {
			h.log.Warn("a token is so short that it can be guessed: take one of 16 characters or more", "name", name)
		}
	}
	handler := transport.NewHandler(h.server(c), transport.HTTPOptions{
		Options: transport.Options{Control: tools.IsControl, Log: h.log},
		Tokens:  l.tokens, Hosts: l.hosts, About: about{os.Getpid(), own},
	})
	fmt.Fprintf(errw, "harness-mcp: process %d serves MCP on %s\n", os.Getpid(), l.url)
	if l.file != "" {
		fmt.Fprintf(errw, "harness-mcp: tokens are in %s\n", l.file)
	}
	return transport.ServeHTTP(ctx, l, handler)
}

// listenUnix listens on a socket that only its owner can open. The socket
// of a server that is gone is replaced, that of a running one is not.
func listenUnix(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	unlock, err := lockFile(path + ".lock") // of several servers that start, one looks at a time
	if err != nil {
		return nil, err
	}
	defer unlock()
	if info, err := os.Lstat(path); err == nil {
		switch conn, err := net.Dial("unix", path); {
		case info.Mode().Type() != os.ModeSocket:
			return nil, errors.New("there is something else than a socket")
		case err == nil:
			_ = conn.Close()
			return nil, errors.New("a server is running there already")
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return listenPrivate(path)
}
