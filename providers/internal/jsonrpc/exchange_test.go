package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

func TestAskTakesTheResponseInItsPlace(t *testing.T) {
	wrong := errors.New("not as it should be")
	for name, c := range map[string]struct {
		response string
		take     error
		want     func(error) bool
	}{
		"a result":        {response: `"result":{"x":1}`, want: func(err error) bool { return err == nil }},
		"a wrong result":  {response: `"result":{"x":1}`, take: wrong, want: func(err error) bool { return errors.Is(err, wrong) }},
		"an error answer": {response: `"error":{"code":7,"message":"no"}`, want: func(err error) bool { var e *Error; return errors.As(err, &e) && e.Code == 7 }},
	} {
		t.Run(name, func(t *testing.T) {
			p, lines, say := pair(t, Options{})
			taken := ""
			go func() {
				read(t, lines)
				say(`{"method":"before"}` + "\n" + `{"id":1,` + c.response + `}`)
			}()
			order := make(chan string, 2)
			go func() {
				for range 2 {
					m, err := p.Recv()
					if err != nil {
						t.Error(err)
					}
					if !Answered(m) {
						order <- m.Method
						continue
					}
					order <- "answered"
				}
			}()
			err := p.Ask(t.Context(), nil, "ask", nil, func(raw json.RawMessage) error { taken = string(raw); return c.take })
			if !c.want(err) {
				t.Errorf("got %v", err)
			}
			if first, second := <-order, <-order; first != "before" || second != "answered" {
				t.Errorf("the reader saw %s, %s", first, second)
			}
			if (taken == `{"x":1}`) != (c.response[1] == 'r') {
				t.Errorf("took %q", taken)
			}
		})
	}
}

func TestAskEndsWithThePeerOrItsContext(t *testing.T) {
	p, _, _ := pair(t, Options{})
	gone := make(chan struct{})
	close(gone)
	if err := p.Ask(t.Context(), gone, "ask", nil, nil); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Ask(ctx, nil, "ask", nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
