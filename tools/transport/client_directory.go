package transport

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
)

// HeaderDirectory is the header with the client's own working directory on each
// request of Connect: an absolute path, percent-encoded as in a URL. Relative
// directories in a call are relative to it, and it is the default of an absent
// one. It grants no access: the server's own limits on directories apply to it.
const HeaderDirectory = "Harness-Mcp-Cwd"

// directoryKey is the context key of the directory of a remote client, "" if it
// has sent none.
type directoryKey struct{}

// Directory returns the working directory of the client on whose behalf a
// handler was called. On stdio the client started this process in the directory
// it wanted, and elsewhere is false. Over HTTP and sockets elsewhere is true,
// the server's own directory is unrelated to the client, and dir is what the
// client has sent, or "".
func Directory(ctx context.Context) (dir string, elsewhere bool) {
	dir, elsewhere = ctx.Value(directoryKey{}).(string)
	return dir, elsewhere
}

// withDirectory returns a context with the directory of the client of a
// request.
func withDirectory(ctx context.Context, header http.Header) context.Context {
	dir, _ := readDirectory(header.Get(HeaderDirectory)) // post has refused invalid values
	return context.WithValue(ctx, directoryKey{}, dir)
}

// readDirectory decodes the value of HeaderDirectory. It reports false if the
// value is not an absolute path.
func readDirectory(given string) (string, bool) {
	if given == "" {
		return "", true
	}
	dir, err := url.PathUnescape(given)
	return dir, err == nil && filepath.IsAbs(dir) && !strings.ContainsRune(dir, 0)
}

// writeDirectory encodes a directory for HeaderDirectory.
func writeDirectory(dir string) string { return (&url.URL{Path: dir}).EscapedPath() }
