package transport

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
)

// HeaderDirectory names the client's own working directory on each request of
// a Connect: an absolute path, percent-encoded as in a URL. It is what a
// relative directory in a call is relative to, and the default of a missing
// one. It is a default and no right: what confines directories confines it.
const HeaderDirectory = "Harness-Mcp-Cwd"

// directoryKey is for the directory of a client elsewhere, "" if it has said
// none.
type directoryKey struct{}

// Directory returns the working directory of the client on whose behalf a
// handler was called. On stdio the client has started this process where it
// wanted it, and elsewhere is false; elsewhere, over HTTP and sockets, the
// server's own directory means nothing to the client: it is what the client has
// said, or "".
func Directory(ctx context.Context) (dir string, elsewhere bool) {
	dir, elsewhere = ctx.Value(directoryKey{}).(string)
	return dir, elsewhere
}

// inDirectory passes on where the client of a request works.
func withDirectory(ctx context.Context, header http.Header) context.Context {
	dir, _ := readDirectory(header.Get(HeaderDirectory)) // post has refused what is none
	return context.WithValue(ctx, directoryKey{}, dir)
}

// readDirectory gives the directory of a header. It reports false for what can
// be none.
func readDirectory(given string) (string, bool) {
	if given == "" {
		return "", true
	}
	dir, err := url.PathUnescape(given)
	return dir, err == nil && filepath.IsAbs(dir) && !strings.ContainsRune(dir, 0)
}

// writeDirectory gives a directory as it travels in a header.
func writeDirectory(dir string) string { return (&url.URL{Path: dir}).EscapedPath() }
