package harness_test

import (
	"context"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestAnAnswerReachesTheServerThatRunsTheSession(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		id := a.start().Session.ID
		for range 2 { // the server looks again when it is asked again
			turn := a.send(id, "ask")
			q := a.wait(turn.ID).Results[0].Pending()[0]
			time.Sleep(time.Hour / 10)
			_, err := b.LeaveAnswer(t.Context(), q.ID, core.Response{Action: core.ActionApprove, Scope: core.ScopeSession})
			wantCode(t, err, core.CodeScope)
			begin := time.Now()
			got, err := b.LeaveAnswer(t.Context(), q.ID, core.Response{Action: core.ActionApprove})
			if err != nil || got.Status != core.RequestDoneResolved || got.Resolution.By != core.ByUser {
				t.Fatalf("%+v, %v", got, err)
			}
			if d := time.Since(begin); d > 500*time.Millisecond {
				t.Errorf("the answer took %s", d)
			}
			if r := a.wait(turn.ID); r.Results[0].Turn.Text != "answered approve" {
				t.Errorf("text = %q", r.Results[0].Turn.Text)
			}
			_, err = b.LeaveAnswer(t.Context(), q.ID, core.Response{Action: core.ActionDeny})
			wantCode(t, err, core.CodeRequestNotPending)
		}
		_, err := b.LeaveAnswer(t.Context(), id, core.Response{Action: core.ActionDeny})
		wantCode(t, err, core.CodeInvalidArgument)
	})
}

func TestAnAnswerThatNobodyTakesIsWithdrawn(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		turn := a.send(a.start().Session.ID, "ask")
		q := a.wait(turn.ID).Results[0].Pending()[0]
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // before the server looks
		defer cancel()
		if _, err := b.LeaveAnswer(ctx, q.ID, core.Response{Action: core.ActionApprove}); !core.IsContext(err) {
			t.Errorf("err = %v", err)
		}
		time.Sleep(time.Minute)
		if got, err := a.Get(t.Context(), me.Owner, q.ID); err != nil || got.Request.Status != core.RequestPending {
			t.Errorf("request = %s, %v", got.Request.Status, err)
		}
	})
}

func TestAnAnswerForADeadServersRequestIsRefused(t *testing.T) {
	twoServers(t, func(t *testing.T, a, b *world) {
		turn := a.send(a.start().Session.ID, "ask")
		q := a.wait(turn.ID).Results[0].Pending()[0]
		a.die()
		_, err := b.LeaveAnswer(t.Context(), q.ID, core.Response{Action: core.ActionApprove})
		wantCode(t, err, core.CodeSessionUnavailable)
	})
}
