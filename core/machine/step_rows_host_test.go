package machine

import (
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

func timerIn(id TimerID) func(*rig) Input { return func(*rig) Input { return TimerDue{Timer: id} } }

func othersDo(base string, cells map[string]string, other string) map[string]string {
	named := map[string]bool{}
	for k := range cells {
		for _, n := range strings.Fields(k) {
			named[n] = true
		}
	}
	for _, n := range strings.Fields(base) {
		if !named[n] {
			cells[n] = other
		}
	}
	return cells
}

func hostRows() []tableRow {
	nothingElse := func(cells map[string]string) map[string]string { return othersDo(tableStates, cells, "nothing") }
	stop := "; hangup 0s; arm hangup"
	return []tableRow{
		{name: "link lost, one turn queued", with: []string{"trn_q1"},
			input: func(r *rig) Input {
				return LinkLost{Epoch: r.s.Epoch, Err: &core.TurnError{Code: core.TurnTransportLost, Message: "eof"}}
			},
			cells: nothingElse(map[string]string{
				"K":     "unavailable: transport_error{transport_lost} request_expired{transport_lost} turn_failed{transport_lost} turn_interrupted{queue_cleared} queue_changed; reply session_unavailable",
				"Ck":    "unavailable: transport_error{transport_lost} request_expired{transport_lost} turn_interrupted{transport_lost} turn_interrupted{queue_cleared} queue_changed; reply session_unavailable",
				"I":     "unavailable: transport_error{transport_lost}",
				"S R P": "unavailable: transport_error{transport_lost} turn_failed{transport_lost} turn_interrupted{queue_cleared} queue_changed",
				"W":     "unavailable: transport_error{transport_lost} turn_failed{transport_lost} turn_failed{transport_lost} turn_interrupted{queue_cleared} queue_changed",
				"A":     "unavailable: transport_error{transport_lost} request_expired{transport_lost} turn_failed{transport_lost} turn_interrupted{queue_cleared} queue_changed",
				"Cs C":  "unavailable: transport_error{transport_lost} turn_interrupted{transport_lost} turn_interrupted{queue_cleared} queue_changed",
				"X":     "closed: turn_interrupted{transport_lost} session_closed; reply ok",
				"Xh":    "closed: session_closed; reply ok",
			})},
		{name: "hung up", input: func(r *rig) Input { return HungUp{Epoch: r.s.Epoch} },
			cells: nothingElse(map[string]string{"Xh": "closed: session_closed; reply ok"})},
		{name: "recovery after a server died", input: func(r *rig) Input { return Recover{Reason: core.ReasonServerRestarted} },
			with: []string{"trn_q1"},
			cells: map[string]string{
				"K Ck":       "unavailable: transport_error{server_restarted} request_expired{response_uncertain} turn_interrupted{server_restarted} turn_interrupted{server_restarted} queue_changed; reply response_uncertain",
				"I Xh":       "unavailable: transport_error{server_restarted}",
				"S R P Cs C": "unavailable: transport_error{server_restarted} turn_interrupted{server_restarted} turn_interrupted{server_restarted} queue_changed",
				"X":          "unavailable: transport_error{server_restarted} turn_interrupted{server_restarted}",
				"W":          "unavailable: transport_error{server_restarted} turn_interrupted{server_restarted} turn_interrupted{server_restarted} turn_interrupted{server_restarted} queue_changed",
				"A":          "unavailable: transport_error{server_restarted} request_expired{server_restarted} turn_interrupted{server_restarted} turn_interrupted{server_restarted} queue_changed",
				"O":          "unavailable: transport_error{server_restarted}",
				"U E":        "nothing",
			}},
		{name: "startup timer", input: timerIn(TimerID{Kind: TimerStartup}),
			cells: nothingElse(map[string]string{"O": "opening: reply start_timeout retryable; cancel open"})},
		{name: "turn_start timer", input: timerIn(TimerID{Kind: TimerTurnStart, ID: "trn_1"}),
			cells: nothingElse(map[string]string{"S Cs": "closing: turn_failed{uncertain}" + stop})},
		{name: "command timer of Respond", input: func(r *rig) Input { return TimerDue{Timer: TimerID{Kind: TimerCommand, Op: claimOp(r)}} },
			cells: nothingElse(map[string]string{
				"K Ck": "closing: request_expired{response_uncertain} turn_failed{uncertain}; reply response_uncertain" + stop})},
		{name: "interrupt timer", input: timerIn(TimerID{Kind: TimerInterrupt, ID: "trn_1"}), with: []string{"trn_q1"},
			cells: nothingElse(map[string]string{
				"Ck":   "closing: request_expired{no_provider_verdict} turn_interrupted{no_provider_verdict} turn_interrupted{queue_cleared} queue_changed; reply request_not_pending{expired}; hangup 0s; arm hangup",
				"Cs C": "closing: turn_interrupted{no_provider_verdict} turn_interrupted{queue_cleared} queue_changed" + stop,
				"X":    "closing: turn_interrupted{session_closed}; hangup 10s; arm hangup",
			})},
		{name: "turn_runtime timer", input: timerIn(TimerID{Kind: TimerTurnRuntime, ID: "trn_1"}),
			cells: nothingElse(map[string]string{
				"K": "cancelling: cancel_requested; arm interrupt; send Interrupt",
				"S": "cancelling: cancel_requested; arm interrupt",
				"W": "running: cancel_requested; arm interrupt",
				"R": "cancelling: cancel_requested; arm interrupt; send Interrupt",
				"A": "cancelling: request_expired{interrupted} cancel_requested; arm interrupt; send Interrupt(ask_1)",
			})},
		{name: "turn_idle timer", input: timerIn(TimerID{Kind: TimerTurnIdle, ID: "trn_1"}),
			cells: nothingElse(map[string]string{
				"S": "cancelling: cancel_requested; arm interrupt",
				"R": "cancelling: cancel_requested; arm interrupt; send Interrupt",
			})},
		{name: "session_idle timer", input: timerIn(TimerID{Kind: TimerSessionIdle}),
			cells: nothingElse(map[string]string{"I": "closing: hangup 10s; arm hangup"})},
		{name: "request timer", input: timerIn(TimerID{Kind: TimerRequest, ID: "req_1"}),
			cells: nothingElse(map[string]string{
				"K": "nothing",
				"A": "running: request_expired{no_answer}; send Respond(deny); arm command"})},
		{name: "hangup timer", input: timerIn(TimerID{Kind: TimerHangup}),
			cells: nothingElse(map[string]string{"Xh": "closed: session_closed; hangup 0s; reply ok"})},
		{name: "store failed, degrade", input: func(*rig) Input { return StoreFailed{Message: "disk full"} },
			cells: map[string]string{
				"O": "opening: store_failed", "I": "idle: store_failed", "S": "starting: store_failed", "R P W": "running: store_failed",
				"A": "awaiting_input: store_failed", "Cs C": "cancelling: store_failed", "X Xh": "closing: store_failed",
				"U": "unavailable: store_failed", "E": "closed: store_failed", "Ef": "failed: store_failed", "Ek": "killed: store_failed",
			}},
		{name: "store failed, stop, one turn queued", with: []string{"trn_q1"},
			input: func(*rig) Input { return StoreFailed{Message: "disk full", Stop: true} },
			cells: map[string]string{
				"K Ck":       "closing: store_failed request_expired{turn_ended} turn_failed{store_failed} turn_interrupted{queue_cleared} queue_changed; reply store_failed; hangup 0s; arm hangup",
				"O":          "opening: reply store_failed; cancel open",
				"I":          "closing: store_failed" + stop,
				"S R Cs C P": "closing: store_failed turn_failed{store_failed} turn_interrupted{queue_cleared} queue_changed" + stop,
				"W":          "closing: store_failed turn_failed{store_failed} turn_failed{store_failed} turn_interrupted{queue_cleared} queue_changed" + stop,
				"A":          "closing: store_failed request_expired{turn_ended} turn_failed{store_failed} turn_interrupted{queue_cleared} queue_changed" + stop,
				"X":          "closing: store_failed turn_failed{store_failed}" + stop,
				"Xh":         "closing: store_failed" + stop,
				"U":          "unavailable: nothing", "E": "closed: nothing", "Ef": "failed: nothing", "Ek": "killed: nothing",
			}},
		{name: "store recovered", input: func(*rig) Input { return StoreRecovered{LostFrom: 3, LostTo: 5} },
			cells: map[string]string{tableStates: "nothing"}},
	}
}
