package harness

import (
	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// observer passes a session's observations to Telemetry. Only the session's
// actor calls it.
type observer struct {
	to   core.Telemetry
	open map[machine.OperationKey]func(core.Ended) // operations that have not ended; nil until one begins
}

// tell passes observations on, in order.
func (o *observer) tell(all []machine.Observation) {
	for _, x := range all {
		switch {
		case x.Signal != nil:
			o.to.Count(*x.Signal)
		case x.Began != nil:
			if o.open == nil {
				o.open = map[machine.OperationKey]func(core.Ended){}
			}
			o.open[x.Of] = o.to.Begin(*x.Began)
		default:
			for of, end := range o.open {
				if x.Of.Matches(of) {
					delete(o.open, of)
					end(*x.Ended)
				}
			}
		}
	}
}

// noTelemetry does nothing.
type noTelemetry struct{}

func (noTelemetry) Begin(core.Operation) func(core.Ended) { return func(core.Ended) {} }

func (noTelemetry) Count(core.Signal) {}
