package providertest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

var closeChecks = []Check{
	{"send never blocks", checkSendNeverBlocks},
	{"close in the middle of a turn", checkCloseMidTurn},
	{"close with a request pending", checkCloseWithRequest},
	{"close unblocks recv", checkCloseUnblocks},
	{"a hundred closes at once", checkManyCloses},
	{"send after close is refused", checkSendAfterClose},
}

// flood is how many ops are sent while nobody reads.
const flood = 1000

// checkSendNeverBlocks sends without reading until the adapter has enough.
// Every op that was taken is still answered once.
func checkSendNeverBlocks(e *Env) error {
	if e.able("approvals", approvals) != nil && e.able("questions", questions) != nil {
		return skip{"the provider declares neither approvals nor questions, and other ops come one at a time"}
	}
	return e.with(func(l *link) error {
		turn, _, err := l.start(e.Prompts.Say("patience"))
		if err != nil {
			return err
		}
		for range flood {
			op := core.Respond{
				ID: l.op(), Ref: "nobody-asked-this",
				Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce},
			}
			l.watch.Sending(op)
			var refused error
			if err := within(e.Timeout, "Send", func() error { refused = l.conn.Send(op); return nil }); err != nil {
				return err
			}
			if refused != nil {
				l.watch.Refused(op)
				break
			}
		}
		over := false
		return l.until("the outcome of every op", func(n core.Notice) bool {
			if end, ok := n.(core.TurnEnded); ok && end.Turn == turn {
				over = true
			}
			return over && l.watch.Unanswered() == nil
		})
	})
}

// checkCloseMidTurn proves that Close returns and ends Recv while a turn runs that
// would not end by itself in time.
func checkCloseMidTurn(e *Env) error {
	prompt := ""
	switch {
	case e.Prompts.Slow != nil:
		prompt = e.Prompts.Slow(tooSlow * e.Timeout)
	case e.Prompts.Stream != nil:
		prompt = e.Prompts.Stream(streamed)
	default:
		return noPrompt("Slow and Prompts.Stream")
	}
	l, err := e.open(nil)
	if err != nil {
		return err
	}
	_, err = l.begin(prompt)
	return l.end(err)
}

// checkCloseWithRequest proves that Close does not wait for the answer to a pending
// request.
func checkCloseWithRequest(e *Env) error {
	if e.Prompts.Approve == "" {
		return noPrompt("Approve")
	}
	l, err := e.open(nil)
	if err != nil {
		return err
	}
	if _, err = l.begin(e.Prompts.Approve); err == nil {
		err = l.until("a request", func(n core.Notice) bool {
			_, ok := n.(core.RequestRaised)
			return ok
		})
	}
	return l.end(err)
}

// checkCloseUnblocks closes while Recv is being called. Whether it waits
// already then does not matter: it must end either way.
func checkCloseUnblocks(e *Env) error {
	l, err := e.open(nil)
	if err != nil {
		return err
	}
	calling, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		close(calling)
		for {
			if _, err := l.conn.Recv(context.Background()); err != nil {
				ended <- err
				return
			}
		}
	}()
	<-calling
	if err := l.shut(); err != nil {
		return err
	}
	return within(e.Timeout, "Recv in Close", func() error {
		if err := <-ended; core.IsContext(err) {
			return fmt.Errorf("Recv ended with %v, though its context did not", err)
		}
		return nil
	})
}

// closers is how many goroutines close at once.
const closers = 100

// checkManyCloses proves that Close is safe for concurrent use: every call returns in
// time without an error, and Recv ends.
func checkManyCloses(e *Env) error {
	l, err := e.open(nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
	defer cancel()
	var all sync.WaitGroup
	errs := make(chan error, closers)
	for range closers {
		all.Go(func() {
			if err := l.conn.Close(ctx); err != nil {
				errs <- err
			}
		})
	}
	if err := within(2*e.Timeout, "Close", func() error { all.Wait(); return nil }); err != nil {
		return err
	}
	close(errs)
	if err := <-errs; err != nil {
		return fmt.Errorf("one of %d closes: %w", closers, err)
	}
	return l.drain()
}

// checkSendAfterClose proves that Send refuses an op after Close. An op that it took
// would never have an OpDone.
func checkSendAfterClose(e *Env) error {
	l, err := e.open(nil)
	if err != nil {
		return err
	}
	if err := l.close(); err != nil {
		return err
	}
	if _, _, err := l.start(e.Prompts.Say("too late")); err == nil {
		return errors.New("Send took a turn after Close")
	}
	return nil
}

// checkRecvContext ends the context of a Recv, before and while it waits. No
// notice may be lost by it.
func checkRecvContext(e *Env) error {
	return e.with(func(l *link) error {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := l.quiet(ended); err != nil {
			return err
		}
		brief, cancel := context.WithTimeout(context.Background(), e.Timeout/100)
		defer cancel()
		return l.quiet(brief)
	})
}

// quiet reads until ctx ends Recv.
func (l *link) quiet(ctx context.Context) error {
	for range maxLeft {
		n, err := l.recv(ctx)
		switch {
		case errors.Is(err, ctx.Err()) && ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("Recv whose context ended gave %w", err)
		}
		if err := l.see(n); err != nil {
			return err
		}
	}
	return fmt.Errorf("an idle Conn gave %d notices and did not heed the end of the context", maxLeft)
}
