package harness_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// extended is a payload type that core does not know: embedding one that it
// knows satisfies the interface.
type extended struct {
	core.Payload
	Note  string            `json:"note"`
	Env   map[string]string `json:"env"`
	Inner json.RawMessage   `json:"inner"`
}

// extendedDelta is a delta of an unknown type.
type extendedDelta struct {
	core.MessageDelta
	Extra string
}

func TestAPayloadOfAnUnknownTypeIsLookedThroughForSecrets(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const secret, named = "hunter2-hunter2", "low-entropy"
		id := w.start(func(r *core.StartRequest) { r.Config.Env = map[string]string{"SERVICE_PASSWORD": secret} }).Session.ID
		turn := w.send(id, "hold").ID
		synctest.Wait() // the turn runs
		half := len(secret) / 2
		long := strings.Repeat("x", 2*core.MaxRaw)
		w.fake.last().say(
			core.Content{Turn: turn, Payload: extended{
				Payload: core.Warning{Message: "the password is " + secret}, Note: secret + " is in a field",
				Env: map[string]string{"API_KEY": named}, Inner: json.RawMessage(`{"deep":["` + secret + `"]}`),
			}},
			core.Content{Turn: turn, Payload: &extended{Payload: core.ProviderEvent{Kind: "k"}, Note: secret}},
			core.Content{Turn: turn, Payload: &core.ToolCompleted{Item: "tool", Output: secret}},
			core.Content{Turn: turn, Payload: extended{Payload: core.RateLimit{}, Note: secret + long}},
			core.Content{Turn: turn, Payload: extendedDelta{core.MessageDelta{Item: "i", Text: "is " + secret[:half]}, secret}},
			core.Content{Turn: turn, Payload: extendedDelta{core.MessageDelta{Item: "i", Text: secret[half:] + " so"}, secret}},
		)
		w.fake.last().finish(core.VerdictCompleted, core.Result{})
		w.wait(id)
		page, err := w.Replay(t.Context(), me.Owner, core.ReplayRequest{ID: id, Limit: 1000, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		shown, err := json.Marshal(page.Events)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{secret, secret[:half], named} {
			if strings.Contains(string(shown), part) {
				t.Errorf("the journal has %q", part)
			}
		}
		count, delta := map[core.EventType]int{}, ""
		for _, e := range page.Events {
			count[e.Type]++
			if len(e.Data) > core.MaxRaw+1<<10 {
				t.Errorf("%s has %d bytes", e.Type, len(e.Data))
			}
			var d core.MessageDelta
			if e.Type == core.TypeMessageDelta {
				if err := json.Unmarshal(e.Data, &d); err != nil {
					t.Fatal(err)
				}
				delta += d.Text
			}
		}
		for _, typ := range []core.EventType{core.TypeWarning, core.TypeProviderEvent, core.TypeToolCompleted, core.TypeRateLimit} {
			if count[typ] != 1 {
				t.Errorf("the journal has %d events of type %s", count[typ], typ)
			}
		}
		if want := "is " + redact.Redacted + " so"; delta != want {
			t.Errorf("the deltas join to %q, want %q", delta, want)
		}
	})
}
