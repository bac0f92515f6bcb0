package providertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/harness-mcp/harness-mcp/core"
)

var basicChecks = []Check{
	{"the spec is whole", checkWholeSpec},
	{"the status says ready in time", checkStatus},
	{"open and close", checkOpenClose},
	{"an opening ends with its context", checkOpenContext},
	{"ready facts do not change", checkReady},
}

// checkWholeSpec proves that Spec is constant and complete: a name and a title,
// transports with unique names, exactly one default, at least one approval and one
// sandbox mode each, and a known value for every capability.
func checkWholeSpec(e *Env) error {
	s := e.Provider.Spec()
	if s.Name == "" || s.Title == "" {
		return fmt.Errorf("no name or no title: %q, %q", s.Name, s.Title)
	}
	if !reflect.DeepEqual(s, e.Provider.Spec()) {
		return errors.New("two calls of Spec differ")
	}
	defaults, names := 0, make(map[string]bool)
	for _, t := range s.Transports {
		if t.Name == "" || names[t.Name] {
			return fmt.Errorf("a transport without a name, or two called %q", t.Name)
		}
		names[t.Name] = true
		if t.Default {
			defaults++
		}
		if len(t.Approval) == 0 || len(t.Sandbox) == 0 {
			return fmt.Errorf("transport %s lists no approval or no sandbox mode", t.Name)
		}
		if err := checkSupport(t.Capabilities); err != nil {
			return fmt.Errorf("transport %s: %w", t.Name, err)
		}
	}
	if defaults != 1 {
		return fmt.Errorf("%d default transports", defaults)
	}
	_, err := e.capabilities()
	return err
}

// checkSupport wants one of the four words for each capability.
func checkSupport(c core.Capabilities) error {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		switch s := v.Field(i).Interface().(core.Support); s {
		case core.Native, core.Emulated, core.Experimental, core.Unsupported:
		default:
			return fmt.Errorf("capability %s is %q", v.Type().Field(i).Name, s)
		}
	}
	return nil
}

// checkStatus proves that Status returns in time, reports the provider ready, and has
// one of the three values of Authenticated.
func checkStatus(e *Env) error {
	ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
	defer cancel()
	var s core.Status
	if err := within(2*e.Timeout, "Status", func() error { s = e.Provider.Status(ctx); return nil }); err != nil {
		return err
	}
	if !s.Ready {
		return fmt.Errorf("the provider under test is not ready: %s", s.Reason)
	}
	switch s.Authenticated {
	case "yes", "no", "unknown":
		return nil
	}
	return fmt.Errorf("authenticated is %q", s.Authenticated)
}

// checkOpenClose proves that a Conn without a turn can be closed, and closed again
// without an error.
func checkOpenClose(e *Env) error {
	l, err := e.open(nil)
	if err != nil {
		return err
	}
	if err := l.close(); err != nil {
		return err
	}
	if err := l.shut(); err != nil {
		return fmt.Errorf("the second time: %w", err)
	}
	return nil
}

// checkOpenContext proves that Open with an ended context returns an error in time.
func checkOpenContext(e *Env) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var conn core.Conn
	var opened error
	if err := within(e.Timeout, "Open with an ended context", func() error {
		conn, opened = e.Provider.Open(ctx, e.Launch)
		return nil
	}); err != nil {
		return err
	}
	if opened == nil {
		return errors.Join(errors.New("Open succeeded with an ended context"),
			(&link{env: e, conn: conn}).shut())
	}
	return nil
}

// checkReady proves that Ready is the same before and after a turn, and that a
// provider that can resume has reported its session id by the end of one.
func checkReady(e *Env) error {
	return e.with(func(l *link) error {
		before := l.conn.Ready()
		if err := l.fence(); err != nil {
			return err
		}
		if after := l.conn.Ready(); !reflect.DeepEqual(before, after) {
			return fmt.Errorf("Ready was %+v and is %+v", before, after)
		}
		resume := e.able("resume", resuming)
		if resume == nil && l.watch.id == "" {
			return errors.New("a provider that can resume gave no provider session id, at the opening or in a turn")
		}
		return nil
	})
}
