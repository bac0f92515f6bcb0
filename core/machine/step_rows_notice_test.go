package machine

import (
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

func startOp(r *rig) core.OpID {
	if t := r.s.Turn; t != nil {
		return t.Op
	}
	return 99 // of a turn that has ended
}

func rejection() *core.Error { return core.Errorf(core.CodeCapability, "no") }

func noticeRows() []tableRow {
	late := func(e string) map[string]string { // an event and nothing else, wherever the link is up
		return map[string]string{"I S R A Cs C X Xh P W": "=: " + e, "O U E": "nothing"}
	}
	but := func(base, own map[string]string) map[string]string {
		out := map[string]string{}
		names := map[string]string{}
		for k, v := range base {
			for _, n := range strings.Fields(k) {
				names[n] = v
			}
		}
		for k, v := range own {
			for _, n := range strings.Fields(k) {
				names[n] = v
			}
		}
		for n, v := range names {
			out[n] = v
		}
		return out
	}
	lateOp := late("provider_event{late_op_done}")
	return []tableRow{
		{name: "opened", input: func(r *rig) Input { return Opened{Epoch: r.s.Epoch, Ready: core.Ready{ProviderSessionID: "conv"}} },
			cells: map[string]string{
				"O":                         "idle: session_started session_ready session_idle; arm session_idle; reply ok",
				"I S R A Cs C X Xh P W U E": "=: hangup 0s",
			}},
		{name: "opening failed", input: func(r *rig) Input {
			return Opened{Epoch: r.s.Epoch, Err: core.Errorf(core.CodeStartFailed, "no such command")}
		}, cells: map[string]string{"O": "closed: reply start_failed; discard", "I S R A Cs C X Xh P W U E": "nothing"}},
		{name: "opened, and it cannot be stored", input: func(r *rig) Input {
			return Opened{Epoch: r.s.Epoch, Ready: core.Ready{ProviderSessionID: "conv"}, Refused: SessionInUse("ses_test")}
		}, cells: map[string]string{
			"O":                         "opening: reply session_id_in_use; cancel open; hangup 0s; arm hangup",
			"I S R A Cs C X Xh P W U E": "=: hangup 0s",
		}},
		{name: "OpDone of StartTurn", input: noticeIn(func(r *rig) core.Notice { return core.OpDone{Op: startOp(r), Ref: "ref_1"} }),
			cells: but(lateOp, map[string]string{
				"S": "running: turn_started", "Cs": "cancelling: turn_started; send Interrupt",
				"W": "running: nothing",
			})},
		{name: "OpDone of StartTurn, refused", input: noticeIn(func(r *rig) core.Notice { return core.OpDone{Op: startOp(r), Err: rejection()} }),
			cells: but(lateOp, map[string]string{
				"S Cs": "idle: turn_failed{rejected} session_idle; arm session_idle",
				"W":    "running: turn_failed{rejected}",
			})},
		{name: "OpDone of StartTurn, refused, one turn queued", with: []string{"trn_q1"},
			input: noticeIn(func(r *rig) core.Notice { return core.OpDone{Op: startOp(r), Err: rejection()} }),
			cells: but(lateOp, map[string]string{
				"S Cs": "starting: turn_failed{rejected} queue_changed turn_accepted; send StartTurn; arm turn_start",
				"W":    "running: turn_failed{rejected}",
			})},
		{name: "TurnBegan of our turn", input: noticeIn(func(r *rig) core.Notice { return core.TurnBegan{Turn: "trn_1", Ref: "ref_1"} }),
			cells: but(late("provider_event{turn_began}"), map[string]string{
				"S": "running: turn_started", "Cs": "cancelling: turn_started; send Interrupt",
				"W": "running: nothing",
				// Nothing of that name is known here: it is the provider's own.
				"I": "running: turn_accepted turn_started",
			})},
		{name: "TurnBegan, by the provider itself", input: noticeIn(func(r *rig) core.Notice { return core.TurnBegan{Turn: "auto2", Ref: "auto2"} }),
			cells: but(late("provider_event{turn_began}"), map[string]string{
				"I S": "running: turn_accepted turn_started",
			})},
		{name: "Content of our turn", input: noticeIn(func(r *rig) core.Notice {
			return core.Content{Turn: "trn_1", Payload: core.MessageDelta{Item: "i", Text: "x"}}
		}), cells: but(late("message_delta"), map[string]string{
			"I Xh P": "=: message_delta(late)", "R W": "running: message_delta", "A": "awaiting_input: message_delta",
			"C": "cancelling: message_delta", "X": "closing: message_delta",
			"S": "running: turn_started message_delta", "Cs": "cancelling: turn_started message_delta; send Interrupt",
		})},
		{name: "Content of the session", input: noticeIn(func(r *rig) core.Notice {
			return core.Content{Payload: core.Warning{Message: "w"}}
		}), cells: late("warning")},
		{name: "TurnEnded of our turn, completed", input: noticeIn(func(r *rig) core.Notice { return core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted} }),
			cells: but(late("provider_event{late_turn_ended}(late)"), map[string]string{
				"K Ck": "idle: request_expired{turn_ended} turn_completed session_idle; reply request_not_pending{expired}; arm session_idle",
				"S Cs": "idle: turn_started turn_completed session_idle; arm session_idle",
				"R C":  "idle: turn_completed session_idle; arm session_idle",
				"A":    "idle: request_expired{turn_ended} turn_completed session_idle; arm session_idle",
				"X":    "closing: turn_completed; hangup 10s; arm hangup",
				"W":    "running: turn_started turn_completed",
			})},
		{name: "TurnEnded of our turn, cancelled, one turn queued", with: []string{"trn_q1"},
			input: noticeIn(func(r *rig) core.Notice { return core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCancelled} }),
			cells: but(late("provider_event{late_turn_ended}(late)"), map[string]string{
				"K Ck": "starting: request_expired{turn_ended} turn_cancelled queue_changed turn_accepted; reply request_not_pending{expired}; send StartTurn; arm turn_start",
				"S Cs": "starting: turn_started turn_cancelled queue_changed turn_accepted; send StartTurn; arm turn_start",
				"R C":  "starting: turn_cancelled queue_changed turn_accepted; send StartTurn; arm turn_start",
				"A":    "starting: request_expired{turn_ended} turn_cancelled queue_changed turn_accepted; send StartTurn; arm turn_start",
				"X":    "closing: turn_cancelled; hangup 10s; arm hangup",
				"W":    "running: turn_started turn_cancelled",
			})},
		{name: "TurnEnded of the provider's turn", input: noticeIn(func(r *rig) core.Notice { return core.TurnEnded{Turn: "auto", Verdict: core.VerdictCompleted} }),
			cells: but(late("provider_event{late_turn_ended}(late)"), map[string]string{
				"P": "idle: turn_completed session_idle; arm session_idle",
				"W": "starting: turn_completed; arm turn_start",
			})},
		{name: "RequestRaised in our turn", input: noticeIn(func(r *rig) core.Notice {
			return core.RequestRaised{Turn: "trn_1", Ref: "ask_2", Spec: askApproval()}
		}), cells: map[string]string{
			"O U E": "nothing",
			"I":     "idle: provider_event{request_declined}(late); send Respond(deny); arm command",
			"P":     "running: provider_event{request_declined}(late); send Respond(deny); arm command",
			"Xh":    "closing: provider_event{request_declined}(late); send Respond(deny); arm command",
			"S":     "awaiting_input: turn_started request_created; arm request",
			"R A":   "awaiting_input: request_created; arm request",
			"W":     "running: request_created; arm request",
			"Cs":    "cancelling: provider_event{request_declined} turn_started; send Respond(cancel); arm command; send Interrupt",
			"C":     "cancelling: provider_event{request_declined}; send Respond(cancel); arm command",
			"X":     "closing: provider_event{request_declined}; send Respond(cancel); arm command",
		}},
		{name: "RequestWithdrawn of the open request", input: noticeIn(func(r *rig) core.Notice { return core.RequestWithdrawn{Ref: "ask_1"} }),
			cells: but(late("provider_event{request_withdrawn}"), map[string]string{
				"K":  "running: request_resolved; reply ok",
				"Ck": "cancelling: request_resolved; reply ok",
				"A":  "running: request_expired{provider_resolved}",
			})},
		{name: "OpDone of Respond", input: noticeIn(func(r *rig) core.Notice { return core.OpDone{Op: claimOp(r)} }),
			cells: but(lateOp, map[string]string{
				"K": "running: request_resolved; reply ok", "Ck": "cancelling: request_resolved; reply ok"})},
		{name: "OpDone of Respond, refused", input: noticeIn(func(r *rig) core.Notice { return core.OpDone{Op: claimOp(r), Err: rejection()} }),
			cells: but(lateOp, map[string]string{
				"K":  "awaiting_input: reply response_rejected",
				"Ck": "cancelling: request_expired{interrupted}; reply response_rejected"})},
		{name: "OpDone of Interrupt", input: noticeIn(func(r *rig) core.Notice { return core.OpDone{Op: interruptOp(r)} }),
			cells: but(lateOp, map[string]string{"C X": "nothing"})},
		{name: "OpDone of Interrupt, refused", input: noticeIn(func(r *rig) core.Notice { return core.OpDone{Op: interruptOp(r), Err: rejection()} }),
			cells: but(lateOp, map[string]string{"C X": "=: warning"})},
		{name: "SessionChanged", input: noticeIn(func(r *rig) core.Notice { return core.SessionChanged{Model: "m9"} }),
			cells: map[string]string{"O U E": "nothing", "I": "idle: session_updated", "S": "starting: session_updated",
				"R P W": "running: session_updated", "A": "awaiting_input: session_updated",
				"Cs C": "cancelling: session_updated", "X Xh": "closing: session_updated"}},
		{name: "a notice of another epoch", input: func(r *rig) Input {
			return Notice{Epoch: r.s.Epoch + 1, Notice: core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted}}
		}, cells: map[string]string{tableStates: "nothing"}},
	}
}

func interruptOp(r *rig) core.OpID {
	if t := r.s.Turn; t != nil && t.IntOp != 0 {
		return t.IntOp
	}
	return 98
}

func claimOp(r *rig) core.OpID {
	if t := r.s.Turn; t != nil && len(t.Requests) > 0 && t.Requests[0].Claim != nil {
		return t.Requests[0].Claim.Op
	}
	return 97
}
