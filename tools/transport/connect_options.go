package transport

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ConnectOptions say which server Connect stands in front of.
type ConnectOptions struct {
	// URL is the server's, with its path.
	URL string

	// Name is what messages call the server; "" means URL.
	Name string

	// Token is the bearer token; "" sends none.
	Token string

	// TokenFrom is where Token comes from, for the message that the server does
	// not know it.
	TokenFrom string

	// Directory is where the client works, as in HeaderDirectory; "" tells the
	// server nothing.
	Directory string

	// Transport makes the requests; nil means a plain one. It must neither
	// compress nor time out.
	Transport *http.Transport

	// Start is called when the server cannot be reached, by one goroutine at
	// a time, and returns when it should be; nil only waits, and says in Log
	// that it does.
	Start func(ctx context.Context) error

	// Patience is how long a request waits for a server that cannot be
	// reached; 0 means DefaultPatience.
	Patience time.Duration

	// FirstPatience is the same as long as the server has never been reached;
	// 0 means DefaultFirstPatience. Then Connect ends with ErrNoServer.
	FirstPatience time.Duration

	// Grace is as in Options.
	Grace time.Duration

	// Log receives what happens to the connection; nil means slog.Default().
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
