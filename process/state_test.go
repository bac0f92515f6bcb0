package process

import (
	"errors"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestStatusFollowsFromTheFacts(t *testing.T) {
	begun := state{started: time.Unix(1, 0)}
	with := func(change ...func(*state)) state {
		f := begun
		for _, c := range change {
			c(&f)
		}
		return f
	}
	exited := func(f *state) { f.exited = true }
	drained := func(f *state) { f.drained = true }
	stop := func(c stopCause, r core.Reason) func(*state) {
		return func(f *state) { f.stop = &stopRequest{cause: c, reason: r} }
	}
	code := func(n int) func(*state) { return func(f *state) { f.exit.Code = n } }
	for _, tt := range []struct {
		name   string
		state  state
		status core.ProcessStatus
		reason core.Reason
		code   int // -1 for none
		signal string
	}{
		{"not begun", state{}, "starting", "", -1, ""},
		{"could not begin", state{failure: &core.TurnError{}}, "failed", "", -1, ""},
		{"begun", begun, "running", "", -1, ""},
		{"exited, output still comes", with(exited), "running", "", -1, ""},
		{"exited well", with(exited, drained), "exited", "", 0, ""},
		{"exited badly is exited", with(exited, drained, code(3)), "exited", "", 3, ""},
		{"killed by another", with(exited, drained, func(f *state) { f.exit = Exit{Code: -1, Signal: "SIGKILL"} }), "exited", "", -1, "SIGKILL"},
		{"its guard was killed", with(exited, drained, func(f *state) { f.exit = Exit{Code: -1, Err: errors.New("x")} }), "failed", "", -1, ""},
		{"being closed", with(stop(causeClosed, "")), "stopping", "", -1, ""},
		{"closed, output still comes", with(stop(causeClosed, ""), exited), "stopping", "", -1, ""},
		{"closed and ended well", with(stop(causeClosed, ""), exited, drained), "cancelled", "", 0, ""},
		{"closed by force", with(stop(causeClosed, core.ReasonForcedStop), exited, drained), "cancelled", core.ReasonForcedStop, 0, ""},
		{"too long", with(stop(causeRuntime, ""), exited, drained), "timed_out", "", 0, ""},
		{"too quiet", with(stop(causeIdle, core.ReasonIdleTimeout), exited, drained), "timed_out", core.ReasonIdleTimeout, 0, ""},
		{"the server ends", with(stop(causeShutdown, core.ReasonSessionShutdown), exited, drained), "cancelled", core.ReasonSessionShutdown, 0, ""},
		{"no journal", with(stop(causeStore, ""), exited, drained), "failed", "", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.state.snapshot(7, core.Durable)
			got := -1
			if p.ExitCode != nil {
				got = *p.ExitCode
			}
			if p.Status != tt.status || p.Reason != tt.reason || got != tt.code || p.Signal != tt.signal || p.LastSeq != 7 {
				t.Errorf("%s (%s), code %d, signal %q, cursor %d", p.Status, p.Reason, got, p.Signal, p.LastSeq)
			}
			if (p.Status == core.ProcessDoneFailed) != (p.Error != nil) {
				t.Errorf("%s with error %v", p.Status, p.Error)
			}
			if p.Status.Ended() != (p.Status.Terminal() != "") {
				t.Errorf("%s has the terminal event %q", p.Status, p.Status.Terminal())
			}
		})
	}
}
