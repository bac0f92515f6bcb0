package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

func describeObservations(all []Observation) string {
	var out []string
	for _, o := range all {
		of := strings.TrimSpace(fmt.Sprint(o.Of.Name, " ", o.Of.Turn))
		if o.Of.Op != 0 {
			of += "#"
		}
		switch {
		case o.Began != nil:
			out = append(out, strings.TrimSpace("began "+of+" "+o.Began.Command))
		case o.Ended != nil:
			out = append(out, strings.Join(strings.Fields(fmt.Sprint("ended ", of, " ", o.Ended.Ending, " ", o.Ended.Code, " ", o.Ended.Status, " ", o.Ended.Reason)), " "))
		default:
			out = append(out, strings.TrimSpace(fmt.Sprint(o.Signal.Name, " ", o.Signal.Kind, o.Signal.Reason)))
		}
	}
	return strings.Join(out, "; ")
}

func TestWhatTelemetryIsToldOfAnInput(t *testing.T) {
	for _, row := range []struct {
		name  string
		state func(*rig) *rig
		input func(*rig) Input
		want  string
	}{
		{"a session is ready", (*rig).opening, func(r *rig) Input { return Opened{Epoch: r.s.Epoch} }, "began session"},
		{"a turn begins", (*rig).idle, func(r *rig) Input { return Prompt{TurnID: "trn_1"} },
			"began turn trn_1; began provider_command trn_1# start_turn"},
		{"the provider takes it", (*rig).starting, func(r *rig) Input { return r.noticed(core.OpDone{Op: startOp(r)}) },
			"ended provider_command# ok"},
		{"the provider refuses it", (*rig).starting, func(r *rig) Input { return r.noticed(core.OpDone{Op: startOp(r), Err: rejection()}) },
			"ended provider_command# rejected capability_unsupported; ended provider_command trn_1 ok; ended turn trn_1 rejected rejected failed"},
		{"it is deaf", (*rig).starting, func(r *rig) Input { return TimerDue{Timer: TimerID{Kind: TimerTurnStart, ID: "trn_1"}} },
			"ended provider_command trn_1 uncertain; ended turn trn_1 uncertain uncertain failed"},
		{"an answer is not confirmed", (*rig).claimed, func(r *rig) Input { return TimerDue{Timer: TimerID{Kind: TimerCommand, Op: claimOp(r)}} },
			"ended provider_command# uncertain; request_expired response_uncertain; ended provider_command trn_1 uncertain; ended turn trn_1 uncertain uncertain failed"},
		{"the agent asks", (*rig).running, func(r *rig) Input {
			return r.noticed(core.RequestRaised{Turn: "trn_1", Ref: "ask", Spec: askApproval()})
		}, "request_created command_approval"},
		{"the link is lost", (*rig).running, func(r *rig) Input { return LinkLost{Epoch: r.s.Epoch} },
			"transport_error; ended provider_command aborted; ended session ok unavailable transport_lost; " +
				"ended provider_command trn_1 aborted; ended turn trn_1 rejected transport_lost failed transport_lost"},
		{"it is killed", (*rig).hangingUp, func(r *rig) Input { return HungUp{Epoch: r.s.Epoch} },
			"ended provider_command aborted; ended session ok closed"},
		{"the store fails", (*rig).idle, func(*rig) Input { return StoreFailed{Message: "disk full"} }, "store_failed"},
		{"text comes", (*rig).running, func(r *rig) Input {
			return r.noticed(core.Content{Turn: "trn_1", Payload: core.MessageDelta{Text: "x"}})
		}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := row.state(newRig(t))
			in := row.input(r)
			out := r.in(in)
			all := append(ObserveInputs([]Input{in}), ObserveEffects(&r.s, out)...)
			if got := describeObservations(all); got != row.want {
				t.Errorf("\n got %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestACommandEndsByItsOpItsTurnOrItsSession(t *testing.T) {
	of := OperationKey{Name: core.OpCommand, Turn: "trn_1", Op: 7}
	for end, want := range map[OperationKey]bool{
		{Name: core.OpCommand, Op: 7}:         true,
		{Name: core.OpCommand, Op: 8}:         false,
		{Name: core.OpCommand, Turn: "trn_1"}: true,
		{Name: core.OpCommand, Turn: "trn_2"}: false,
		{Name: core.OpCommand}:                true,
		{Name: core.OpTurn, Turn: "trn_1"}:    false,
		{Name: core.OpSession}:                false,
	} {
		if end.Matches(of) != want {
			t.Errorf("%+v ends %+v: %v, want %v", end, of, !want, want)
		}
	}
}
