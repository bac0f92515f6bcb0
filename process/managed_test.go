package process

import (
	"context"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// startOf asks for a program without input.
func startOf(path string, args ...string) core.ProcessStart {
	return core.ProcessStart{
		ID: core.NewID(core.PrefixProcess), Owner: "o",
		Spec: core.ProcessSpec{Executable: path, Argv: args, CWD: "/", EnvMode: core.EnvOverlay},
	}
}

// waitEnd waits until a process has ended and nothing is left of it.
func waitEnd(t testing.TB, s *Supervisor, store core.Store, id string) core.ProcessSnapshot {
	t.Helper()
	wake := make(chan struct{}, 1)
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		stop, hosted := s.Watch("o", id, wake)
		if !hosted {
			rec, err := store.Process(context.WithoutCancel(t.Context()), "o", id)
			if err != nil {
				t.Fatal(err)
			}
			return rec.Process
		}
		p, ok := s.Get("o", id)
		if ok && p.Status.Ended() {
			stop()
			return p
		}
		select {
		case <-wake:
		case <-limit.C:
			t.Fatalf("not in time: the end of %+v", p)
		}
		stop()
	}
}
