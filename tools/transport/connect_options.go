package transport

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ConnectOptions configure Connect.
type ConnectOptions struct {
	// URL is the server's, with its path.
	URL string

	// Name is the name of the server in messages; "" means URL.
	Name string

	// Token is the bearer token; "" sends none.
	Token string

	// TokenFrom is the source of Token, for the message that the server does not
	// know it.
	TokenFrom string

	// Directory is the client's working directory, as in HeaderDirectory; ""
	// sends none.
	Directory string

	// Transport makes the requests; nil means a default one. It must neither
	// compress nor time out.
	Transport *http.Transport

	// Start is called when the server cannot be reached, by one goroutine at
	// a time, and returns when it should be reachable; nil means to wait and
	// to log that.
	Start func(ctx context.Context) error

	// Patience is how long a request waits for a server that cannot be
	// reached; 0 means DefaultPatience.
	Patience time.Duration

	// FirstPatience applies instead until the server was reached once; after
	// it Connect ends with ErrNoServer. 0 means DefaultFirstPatience.
	FirstPatience time.Duration

	// Grace is as in Options.
	Grace time.Duration

	// Log receives events of the connection; nil means slog.Default().
	Log *slog.Logger
}

func (o ConnectOptions) withDefaults() ConnectOptions {
	if o.Transport == nil {
		o.Transport = &http.Transport{}
	}
	if o.Transport.DialContext == nil {
		o.Transport.DialContext = (&net.Dialer{Timeout: dialTime}).DialContext
	}
	if o.Name == "" {
		o.Name = o.URL
	}
	o.Transport.MaxIdleConnsPerHost = maxIdle
	o.Transport.DisableCompression = true
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	if o.FirstPatience <= 0 {
		o.FirstPatience = DefaultFirstPatience
	}
	common := Options{Grace: o.Grace, Log: o.Log}.withDefaults()
	o.Grace, o.Log = common.Grace, common.Log
	return o
}
