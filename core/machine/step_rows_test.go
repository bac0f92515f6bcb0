package machine

import "github.com/harness-mcp/harness-mcp/core"

const tableStates = "O I S R A Cs C X Xh P W U E"

// stateTable lists every input. A cell that belongs to another layer
// (a request of a session that is opening is not found by the registry) shows
// what the machine does all the same.
func stateTable() []tableRow { return append(append(commandRows(), noticeRows()...), hostRows()...) }

func noticeIn(f func(*rig) core.Notice) func(*rig) Input {
	return func(r *rig) Input {
		return Notice{Epoch: r.s.Epoch, Notice: f(r), TurnID: "trn_new", RequestID: "req_new"}
	}
}

func commandRows() []tableRow {
	const (
		opening     = "=: reply session_unavailable{opening} retryable"
		unavailable = "=: reply session_unavailable{unavailable}"
		closing     = "=: reply session_closed{closing}"
		closed      = "=: reply session_closed{closed}"
		failed      = "=: reply session_closed{failed}"
		killed      = "=: reply session_closed{killed}"
		starts      = "starting: turn_accepted; send StartTurn; arm turn_start; reply ok"
	)
	gone := func(cells map[string]string) map[string]string {
		for k, v := range map[string]string{"O": opening, "U": unavailable, "X Xh": closing, "E": closed, "Ef": failed, "Ek": killed} {
			if _, own := cells[k]; !own {
				cells[k] = v
			}
		}
		return cells
	}
	send := func(queue bool) func(*rig) Input {
		return func(r *rig) Input {
			return Prompt{Token: r.tok(), TurnID: "trn_2", Input: core.TurnInput{Prompt: "more"}, Queue: queue}
		}
	}
	notPending := "=: reply request_not_pending{expired}"
	return []tableRow{
		{name: "send_message", input: send(false), cells: gone(map[string]string{
			"I": starts,
			"S": "=: reply turn_in_progress{starting}", "R P W": "=: reply turn_in_progress{running}",
			"A": "=: reply turn_in_progress{awaiting_input}", "Cs C": "=: reply turn_in_progress{cancelling}",
		})},
		{name: "follow_up", input: send(true), cells: gone(map[string]string{
			"I": starts,
			"S": "starting: turn_queued queue_changed; reply ok", "R P W": "running: turn_queued queue_changed; reply ok",
			"A":    "awaiting_input: turn_queued queue_changed; reply ok",
			"Cs C": "cancelling: turn_queued queue_changed; reply ok",
		})},
		{name: "steer", input: func(r *rig) Input { return Steer{Token: r.tok(), Input: core.TurnInput{Prompt: "left"}} },
			cells: gone(map[string]string{
				"I": "=: reply no_active_turn", "S": "=: reply turn_not_active retryable",
				"R P W": "running: arm command; send Steer", "A": "awaiting_input: arm command; send Steer",
				"Cs C": "=: reply turn_not_active",
			})},
		{name: "respond to the open request", input: func(r *rig) Input {
			return Respond{Token: r.tok(), RequestID: "req_1", Response: core.Response{Action: core.ActionApprove}, By: core.ByCaller}
		}, cells: map[string]string{
			"K Ck":                      "=: reply request_not_pending{claimed}",
			"A":                         "awaiting_input: send Respond(approve); arm command",
			"O I S R Cs C X Xh P W U E": notPending,
		}},
		{name: "respond with an action that is not offered", input: func(r *rig) Input {
			return Respond{Token: r.tok(), RequestID: "req_1", Response: core.Response{Action: core.ActionAnswer, Answer: "yes"}}
		}, cells: map[string]string{
			"K Ck": "=: reply request_not_pending{claimed}",
			"A":    "=: reply action_unsupported", "O I S R Cs C X Xh P W U E": notPending,
		}},
		{name: "respond as a caller where only a person may", input: func(r *rig) Input {
			return Respond{Token: r.tok(), RequestID: "req_1", Response: core.Response{Action: core.ActionApprove}, By: core.ByCaller, OnlyUser: true}
		}, cells: map[string]string{
			"A K Ck": "=: reply not_supported_by_client", "O I S R Cs C X Xh P W U E": notPending,
		}},
		{name: "send_message with an image that the provider cannot take", input: func(r *rig) Input {
			return Prompt{Token: r.tok(), TurnID: "trn_2", Input: core.TurnInput{Prompt: "look", Content: []core.ContentBlock{{Type: "image"}}}}
		}, cells: map[string]string{tableStates: "=: reply capability_unsupported"}},
		{name: "steer with an attachment that the provider cannot take", input: func(r *rig) Input {
			return Steer{Token: r.tok(), Input: core.TurnInput{Prompt: "look", Attachments: []string{"/pictures/a.png"}}}
		}, cells: map[string]string{tableStates: "=: reply capability_unsupported"}},
		{name: "follow_up with an output_schema that the provider cannot follow", input: func(r *rig) Input {
			return Prompt{Token: r.tok(), TurnID: "trn_2", Input: core.TurnInput{Prompt: "sum", OutputSchema: []byte("{}")}, Queue: true}
		}, cells: map[string]string{tableStates: "=: reply capability_unsupported"}},
		{name: "interrupt", input: func(r *rig) Input { return Interrupt{Token: r.tok()} }, cells: map[string]string{
			"K": "cancelling: cancel_requested; arm interrupt; send Interrupt; reply ok",
			"O": "=: reply no_active_turn{opening}", "I": "=: reply no_active_turn{idle}",
			"S":         "cancelling: cancel_requested; arm interrupt; reply ok",
			"R P W":     "cancelling: cancel_requested; arm interrupt; send Interrupt; reply ok",
			"A":         "cancelling: request_expired{interrupted} cancel_requested; arm interrupt; send Interrupt(ask_1); reply ok",
			"Cs C X Xh": "=: reply ok",
			"U":         "=: reply no_active_turn{unavailable}", "E": "=: reply no_active_turn{closed}",
			"Ef": "=: reply no_active_turn{failed}", "Ek": "=: reply no_active_turn{killed}",
		}},
		{name: "interrupt of the first queued turn, two wait", with: []string{"trn_q1", "trn_q2"},
			input: func(r *rig) Input { return Interrupt{Token: r.tok(), TurnID: "trn_q1"} }, cells: map[string]string{
				"O": "=: reply no_active_turn{opening}", "I": "=: reply turn_not_active",
				"S":     "starting: turn_interrupted{queue_cleared} queue_changed; reply ok",
				"R P W": "running: turn_interrupted{queue_cleared} queue_changed; reply ok",
				"A":     "awaiting_input: turn_interrupted{queue_cleared} queue_changed; reply ok",
				"Cs C":  "cancelling: turn_interrupted{queue_cleared} queue_changed; reply ok",
				"X Xh":  "=: reply turn_not_active",
				"U":     "=: reply no_active_turn{unavailable}", "E": "=: reply no_active_turn{closed}",
				"Ef": "=: reply no_active_turn{failed}", "Ek": "=: reply no_active_turn{killed}",
			}},
		{name: "interrupt with clear_queue, two wait", with: []string{"trn_q1", "trn_q2"},
			input: func(r *rig) Input { return Interrupt{Token: r.tok(), ClearQueue: true} }, cells: map[string]string{
				"K": "cancelling: cancel_requested turn_interrupted{queue_cleared} turn_interrupted{queue_cleared} queue_changed; arm interrupt; send Interrupt; reply ok",
				"O": "=: reply no_active_turn{opening}", "I": "=: reply ok",
				"S":     "cancelling: cancel_requested turn_interrupted{queue_cleared} turn_interrupted{queue_cleared} queue_changed; arm interrupt; reply ok",
				"R P W": "cancelling: cancel_requested turn_interrupted{queue_cleared} turn_interrupted{queue_cleared} queue_changed; arm interrupt; send Interrupt; reply ok",
				"A":     "cancelling: request_expired{interrupted} cancel_requested turn_interrupted{queue_cleared} turn_interrupted{queue_cleared} queue_changed; arm interrupt; send Interrupt(ask_1); reply ok",
				"Cs C":  "cancelling: turn_interrupted{queue_cleared} turn_interrupted{queue_cleared} queue_changed; reply ok",
				"X Xh":  "=: reply ok",
				"U":     "=: reply no_active_turn{unavailable}", "E": "=: reply no_active_turn{closed}",
				"Ef": "=: reply no_active_turn{failed}", "Ek": "=: reply no_active_turn{killed}",
			}},
		{name: "configure", input: func(r *rig) Input { return Configure{Token: r.tok(), Changes: core.Changes{Model: "m2"}} },
			cells: gone(map[string]string{
				"I": "idle: arm command; send Configure", "S": "starting: arm command; send Configure",
				"R P W": "running: arm command; send Configure", "A": "awaiting_input: arm command; send Configure",
				"Cs C": "cancelling: arm command; send Configure",
			})},
		{name: "close, one turn queued", with: []string{"trn_q1"},
			input: func(r *rig) Input { return Close{Token: r.tok()} }, cells: map[string]string{
				"K":    "closing: turn_interrupted{session_closed} queue_changed cancel_requested; arm interrupt; send Interrupt",
				"O":    "opening: reply start_failed; cancel open",
				"I":    "closing: hangup 10s; arm hangup",
				"S":    "closing: turn_interrupted{session_closed} queue_changed cancel_requested; arm interrupt",
				"R P":  "closing: turn_interrupted{session_closed} queue_changed cancel_requested; arm interrupt; send Interrupt",
				"W":    "closing: turn_interrupted{session_closed} queue_changed cancel_requested cancel_requested; arm interrupt; send Interrupt; arm interrupt",
				"A":    "closing: turn_interrupted{session_closed} queue_changed request_expired{interrupted} cancel_requested; arm interrupt; send Interrupt(ask_1)",
				"Cs C": "closing: turn_interrupted{session_closed} queue_changed",
				"X Xh": "closing: nothing",
				"U":    "closed: session_closed{transport_lost}; reply ok",
				"E":    "=: reply ok",
			}},
		{name: "close with force, one turn queued", with: []string{"trn_q1"},
			input: func(r *rig) Input { return Close{Token: r.tok(), Force: true} }, cells: map[string]string{
				"K Ck":       "closing: request_expired{forced_stop} turn_interrupted{forced_stop} turn_interrupted{forced_stop} queue_changed; reply request_not_pending{expired}; hangup 0s; arm hangup",
				"O":          "opening: reply start_failed; cancel open",
				"I Xh":       "closing: hangup 0s; arm hangup",
				"S R Cs C P": "closing: turn_interrupted{forced_stop} turn_interrupted{forced_stop} queue_changed; hangup 0s; arm hangup",
				"W":          "closing: turn_interrupted{forced_stop} turn_interrupted{forced_stop} turn_interrupted{forced_stop} queue_changed; hangup 0s; arm hangup",
				"A":          "closing: request_expired{forced_stop} turn_interrupted{forced_stop} turn_interrupted{forced_stop} queue_changed; hangup 0s; arm hangup",
				"X":          "closing: turn_interrupted{forced_stop}; hangup 0s; arm hangup",
				"U":          "killed: session_killed{transport_lost}; reply ok",
				"E":          "=: reply ok",
			}},
		{name: "resume", input: func(r *rig) Input { return Resume{Token: r.tok(), Config: r.s.Base.Config} }, cells: map[string]string{
			"O": "=: reply session_id_in_use{opening}", "I": "=: reply session_id_in_use{idle}",
			"S": "=: reply session_id_in_use{starting}", "R P W": "=: reply session_id_in_use{running}",
			"A": "=: reply session_id_in_use{awaiting_input}", "Cs C": "=: reply session_id_in_use{cancelling}",
			"X Xh": "=: reply session_id_in_use{closing}", "U E": "opening: open; arm startup",
		}},
		{name: "shutdown, one turn queued", with: []string{"trn_q1"},
			input: func(r *rig) Input { return Shutdown{} }, cells: map[string]string{
				"K Ck":       "closing: request_expired{session_shutdown} turn_interrupted{session_shutdown} turn_interrupted{session_shutdown} queue_changed; reply request_not_pending{expired}; hangup 2s; arm hangup",
				"O":          "opening: reply shutting_down retryable; cancel open",
				"I":          "closing: hangup 2s; arm hangup",
				"S R Cs C P": "closing: turn_interrupted{session_shutdown} turn_interrupted{session_shutdown} queue_changed; hangup 2s; arm hangup",
				"W":          "closing: turn_interrupted{session_shutdown} turn_interrupted{session_shutdown} turn_interrupted{session_shutdown} queue_changed; hangup 2s; arm hangup",
				"A":          "closing: request_expired{session_shutdown} turn_interrupted{session_shutdown} turn_interrupted{session_shutdown} queue_changed; hangup 2s; arm hangup",
				"X":          "closing: turn_interrupted{session_shutdown}; hangup 2s; arm hangup",
				"Xh":         "closing: nothing",
				"U E":        "nothing",
			}},
	}
}
