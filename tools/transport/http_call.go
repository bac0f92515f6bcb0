package transport

import (
	"context"
	"net/http"
)

// serve runs one request and answers it. The call is in the principal's table
// under key, and its context comes from ctx.
func (h *Handler) serve(ctx context.Context, w http.ResponseWriter, p *principal, x exchange) {
	call, refused := p.calls.admit(ctx, x.key, h.opts.callClass(x.envelope), 0)
	switch refused {
	case nil:
	case errEnding:
		http.Error(w, refused.message, http.StatusServiceUnavailable)
		return
	default:
		writeReply(w, http.StatusOK, errorReply(x.envelope.ID, refused.code, refused.message))
		return
	}
	defer call.end()
	a := newHTTPResponse(w, x.only, h.opts.KeepAlive, x.onWriteError(call))
	defer a.close()
	if x.begin != nil {
		defer x.begin(call, a)()
	}
	if !call.waitTurn() {
		if !call.cancelled.Load() {
			_ = a.finish(http.StatusOK, errorReply(x.envelope.ID, codeBusy, "the call ended before it could run"))
		}
		return
	}
	h.handle(call.ctx, x.client, x.envelope, x.body, a, func(response any) error {
		if call.cancelled.Load() {
			return nil
		}
		return a.finish(x.status(response), response)
	})
}

// exchange is a request, with what differs between the eras in serving it.
type exchange struct {
	client       *client
	envelope     *envelope
	body         []byte
	key          string
	only         string                                  // the one content type that the client accepts, or ""
	status       func(response any) int                  // HTTP status of the response; may set headers
	onWriteError func(*call) func()                      // what to do after a failed write; may return nil
	begin        func(*call, *httpResponse) (end func()) // called before the call, end after it; may be nil
}
