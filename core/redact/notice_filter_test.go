package redact

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/harness-mcp/harness-mcp/core"
	"pgregory.net/rapid"
)

func TestEveryPayloadIsRedacted(t *testing.T) {
	const known = "known-value-1"
	r := New([]string{known})
	all := map[core.EventType]bool{}
	for _, p := range []core.Payload{
		core.MessageDelta{}, core.Message{}, core.ReasoningDelta{}, core.Reasoning{}, core.ToolStarted{}, core.ToolDelta{}, core.ToolCompleted{}, core.CommandOutputDelta{},
		core.FileChange{}, core.PlanUpdated{}, core.UsageUpdated{}, core.RateLimit{}, core.Warning{}, core.ProviderError{}, core.ProviderEvent{},
	} {
		all[p.EventType()] = true
		v := reflect.New(reflect.TypeOf(p)).Elem()
		fill(v, known)
		full := v.Interface().(core.Payload)
		before := mustJSON(t, full)
		if s := mustJSON(t, r.Payload(full)); strings.Contains(s, known) {
			t.Errorf("%T: a secret survives: %s", p, s)
		}
		if mustJSON(t, full) != before {
			t.Errorf("%T: the payload itself was changed", p)
		}
	}
	for _, typ := range core.EventTypes() {
		if strings.HasPrefix(string(typ), "std") {
			continue // output of managed processes, which is no payload
		}
		if i := strings.Index("|"+contentTypes+"|", "|"+string(typ)+"|"); i >= 0 && !all[typ] {
			t.Errorf("no payload for %s in this test", typ)
		}
	}
}

const contentTypes = "message_delta|message|reasoning_delta|reasoning|tool_started|tool_delta|tool_completed|command_output_delta|" +
	"file_change|plan_updated|usage_updated|rate_limit|warning|provider_error|provider_event"

func TestEveryNoticeIsRedacted(t *testing.T) {
	const known = "known-value-1"
	r := New([]string{known})
	for _, n := range []core.Notice{core.OpDone{}, core.TurnBegan{}, core.RequestRaised{}, core.RequestWithdrawn{}, core.TurnEnded{}, core.SessionChanged{}, core.Content{}} {
		v := reflect.New(reflect.TypeOf(n)).Elem()
		fill(v, known)
		if c, ok := v.Interface().(core.Content); ok {
			c.Payload = core.Warning{Message: known}
			v.Set(reflect.ValueOf(c))
		}
		got := r.Filter().Filter(v.Interface().(core.Notice))
		if s := mustJSON(t, got); len(got) != 1 || strings.Contains(s, known) {
			t.Errorf("%T: %s", n, s)
		}
		if s := fmt.Sprint(got); strings.Contains(s, known) {
			t.Errorf("%T: a secret survives in what JSON does not show: %s", n, s)
		}
	}
}

func TestEveryNoticesFrameIsJSONOfABoundedLengthOrDropped(t *testing.T) {
	for _, n := range []core.Notice{core.OpDone{}, core.TurnBegan{}, core.RequestRaised{}, core.RequestWithdrawn{}, core.TurnEnded{}, core.SessionChanged{},
		core.Content{Payload: core.Warning{}}, core.Content{Payload: core.MessageDelta{Text: "x"}}} {
		for _, raw := range []string{"not JSON", `{"a":1}`, strings.Repeat("x", 2*core.MaxRaw), `["` + strings.Repeat(`known-value `, core.MaxRaw/12-1) + `"]`} {
			v := reflect.New(reflect.TypeOf(n)).Elem()
			v.Set(reflect.ValueOf(n))
			v.FieldByName("Raw").SetBytes([]byte(raw))
			for _, drop := range []bool{false, true} {
				f := New([]string{"known-value"}).Filter()
				f.DropRaw = drop
				list := f.Filter(v.Interface().(core.Notice))
				got := reflect.ValueOf(list[len(list)-1]).FieldByName("Raw").Bytes()
				if drop != (got == nil) || !drop && (!json.Valid(got) || len(got) > core.MaxRaw+1<<10) {
					t.Errorf("%T, drop %v: a frame of %d bytes became one of %d: %.40s", n, drop, len(raw), len(got), got)
				}
			}
		}
	}
}

// fill puts text with a secret into every text of v but ids and closed words.
func fill(v reflect.Value, secret string) {
	text := "a " + secret + " b"
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"k":["` + text + `"]}`))
	case v.Kind() == reflect.String && v.Type() == reflect.TypeFor[string]():
		v.SetString(text)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); f.Name {
			case "Item", "TurnID", "ID", "Ref", "Turn", "ProviderSessionID", "ReasoningEffort": // names
			default:
				fill(v.Field(i), secret)
			}
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), secret)
		fill(v.Index(1), secret)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), secret)
	case v.Kind() == reflect.Interface && v.Type() == reflect.TypeFor[error]():
		v.Set(reflect.ValueOf(fmt.Errorf("cause: %s", text)))
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func delta(item, text string) core.Content {
	return core.Content{Turn: "t", Payload: core.MessageDelta{Item: item, Text: text}}
}

func message(item, text string) core.Content {
	return core.Content{Turn: "t", Payload: core.Message{Item: item, Text: text}}
}

func TestAFilterHoldsBackOnlyWhatMayBeginASecret(t *testing.T) {
	r := New([]string{"zebra-secret"})
	ended := core.TurnEnded{Turn: "t"}
	for _, tt := range []struct {
		name     string
		in, want []core.Notice
	}{
		{"plain text passes at once",
			[]core.Notice{delta("a", "the whole message is here"), delta("a", " and more"), message("a", "")},
			[]core.Notice{delta("a", "the whole message is here"), delta("a", " and more"), message("a", "")}},
		{"a secret over three deltas",
			[]core.Notice{delta("a", "x zeb"), delta("a", "ra-sec"), delta("a", "ret q"), ended},
			[]core.Notice{delta("a", "x "), delta("a", ""), delta("a", "[redacted] q"), ended}},
		{"a beginning that was none",
			[]core.Notice{delta("a", "x zeb"), delta("a", "ras")},
			[]core.Notice{delta("a", "x "), delta("a", "zebras")}},
		{"held back until the message",
			[]core.Notice{delta("a", "x zebra"), message("a", "x zebra")},
			[]core.Notice{delta("a", "x "), delta("a", "zebra"), message("a", "x zebra")}},
		{"held back until the turn ends, oldest first",
			[]core.Notice{delta("a", "zeb"), delta("b", "Bearer"), ended},
			[]core.Notice{delta("a", ""), delta("b", ""), delta("a", "zeb"), delta("b", "Bearer"), ended}},
		{"items do not mix",
			[]core.Notice{delta("a", "zebra-"), delta("b", "secret"), message("b", "secret"), message("a", "zebra-")},
			[]core.Notice{delta("a", ""), delta("b", "secret"), message("b", "secret"), delta("a", "zebra-"), message("a", "zebra-")}},
		{"a key goes on in the next delta",
			[]core.Notice{delta("a", githubToken[:30]), delta("a", githubToken[30:]+" end")},
			[]core.Notice{delta("a", "[redacted]"), delta("a", " end")}},
		{"an item begins anew after its end",
			[]core.Notice{delta("a", "zeb"), message("a", "zeb"), delta("a", "ra-secret")},
			[]core.Notice{delta("a", ""), delta("a", "zeb"), message("a", "zeb"), delta("a", "ra-secret")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := r.Filter()
			var got []core.Notice
			for _, n := range tt.in {
				got = append(got, f.Filter(n)...)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestAFilterKeepsFramesInStepWithTheirDeltas(t *testing.T) {
	r := New([]string{"zebra-secret"})
	f := r.Filter()
	var got []string
	for _, c := range []core.Content{
		{Payload: core.CommandOutputDelta{Item: "a", Text: "x zebra-"}, Raw: json.RawMessage(`{"n":1,"delta":"x zebra-"}`)},
		{Payload: core.CommandOutputDelta{Item: "a", Text: "secret q"}, Raw: json.RawMessage(`{"n":2,"chunk":"c2VjcmV0IHE="}`)},
		{Payload: core.CommandOutputDelta{Item: "a", Text: "zebra-secret"}, Raw: json.RawMessage(`{"n":3,"bytes":[122,101]}`)},
		{Payload: core.CommandOutputDelta{Item: "a", Text: " z"}, Raw: json.RawMessage(`{"n":4,"text":" z"}`)},
	} {
		for _, n := range f.Filter(c) {
			got = append(got, string(n.(core.Content).Raw))
		}
	}
	for _, n := range f.Flush() {
		got = append(got, n.(core.Content).Payload.(core.CommandOutputDelta).Text)
	}
	want := []string{`{"n":1,"delta":"x "}`, `{"n":2,"chunk":"W3JlZGFjdGVkXSBx"}`, `"[redacted]"`, `{"n":4,"text":" "}`, "z"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestAFilterBoundsItsStreams(t *testing.T) {
	f := New([]string{"zebra-secret"}).Filter()
	for i := range maxStreams {
		f.Filter(delta(fmt.Sprint(i), "zebra"))
	}
	got := append([]core.Notice{}, f.Filter(delta("more", "w"))...)
	if d := cmp.Diff([]core.Notice{delta("0", "zebra"), delta("more", "w")}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if len(f.streams) != maxStreams || len(f.order) != maxStreams {
		t.Errorf("%d streams, %d in order", len(f.streams), len(f.order))
	}
	if f.Filter(core.TurnEnded{Turn: "t"}); len(f.streams)+len(f.order) != 0 {
		t.Errorf("%d streams outlive their turn", len(f.streams))
	}
}

// cutText is a text with secrets in it, and how a stream cuts it.
type cutText struct {
	secrets []string
	text    string
	cuts    []int
}

func genCutText() *rapid.Generator[cutText] {
	return rapid.Custom(func(t *rapid.T) cutText {
		// Few letters, so that secrets overlap and nearly match all the time.
		secret := rapid.OneOf(rapid.StringMatching(`[ab]{8,14}`), rapid.StringMatching(`[a-c -]{8,30}`), rapid.StringN(8, 20, 60))
		var c cutText
		c.secrets = rapid.SliceOfN(secret, 0, 5).Draw(t, "secrets")
		part := []*rapid.Generator[string]{
			rapid.StringMatching(`[ab]{0,12}`), rapid.StringMatching(`[a-c -]{0,12}`), rapid.StringN(0, 10, 30),
			rapid.SampledFrom([]string{
				anthropicKey, githubToken, jwt, pemKey, "Bearer ", "bearer a1b2c3d4e5", "sk-", "eyJ", "-----", "-----BEGIN ", "-----END ",
				"-----BEGIN PRIVATE KEY-----", "AKIA", "AKIAIOSFODNN7EXAMPLE", "\n", `\n`, `\`, ".", " ", "npm_", "xoxb-123456789012", "+",
			}),
		}
		if len(c.secrets) > 0 {
			part = append(part, rapid.SampledFrom(c.secrets))
		}
		c.text = strings.Join(rapid.SliceOfN(rapid.OneOf(part...), 0, 12).Draw(t, "parts"), "")
		c.cuts = rapid.SliceOfN(rapid.IntRange(0, 20), 0, 60).Draw(t, "cuts")
		return c
	})
}

func TestJoinedDeltasEqualTheRedactedMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCutText().Draw(t, "text")
		r := New(c.secrets)
		f := r.Filter()
		var joined, whole strings.Builder
		take := func(ns []core.Notice) {
			for _, n := range ns {
				switch p := n.(core.Content).Payload.(type) {
				case core.MessageDelta:
					joined.WriteString(p.Text)
				case core.Message:
					whole.WriteString(p.Text)
				}
			}
		}
		longest := maxShapeHold
		for _, s := range c.secrets {
			longest = max(longest, 2*len(s)-1) // as JSON spells it
		}
		rest := c.text
		for _, n := range append(c.cuts, len(c.text)) {
			n = min(n, len(rest))
			take(f.Filter(delta("a", rest[:n])))
			rest = rest[n:]
			for _, s := range f.streams {
				if len(s.seen.held) > longest {
					t.Fatalf("holds back %d bytes: %q", len(s.seen.held), s.seen.held)
				}
			}
		}
		take(f.Filter(message("a", c.text)))
		if joined.String() != whole.String() {
			t.Fatalf("deltas differ from the message of %q\ndeltas  %q\nmessage %q", c.text, joined.String(), whole.String())
		}
		for _, s := range c.secrets {
			s = strings.TrimSpace(s)
			if len(s) >= MinSecret && !strings.Contains(Redacted, s) && strings.Contains(strings.ReplaceAll(whole.String(), Redacted, "\x00"), s) {
				t.Fatalf("%q survives in %q", s, whole.String())
			}
		}
		for _, s := range []string{anthropicKey[10:], githubToken[4:], "MIIEowIBAAKCAQEA"} {
			if strings.Contains(" "+c.text, " "+s) && strings.Contains(whole.String(), s) {
				t.Fatalf("%q survives in %q", s, whole.String())
			}
		}
		if clean := len(c.secrets) == 0 && whole.String() == c.text; clean && len(f.streams) != 0 {
			t.Fatalf("%d streams outlive their item", len(f.streams))
		}
	})
}

func FuzzRedactStream(f *testing.F) {
	f.Add("zebra-secret", "x zebra-secret "+githubToken, uint16(5))
	f.Add("\"\n\\quote", pemKey+"Bearer "+jwt, uint16(1))
	f.Add("sk-sk-sk-sk", "sk-sk-sk-sk-sk-A0"+anthropicKey, uint16(3))
	f.Fuzz(func(t *testing.T, secret, text string, step uint16) {
		r := New([]string{secret})
		want := r.String(text)
		var got strings.Builder
		stream := r.TextFilter()
		for rest := text; rest != ""; {
			n := min(len(rest), int(step)+1)
			got.WriteString(stream.Write([]byte(rest[:n])))
			rest = rest[n:]
		}
		got.WriteString(stream.Flush())
		if held := stream.Held(); got.String() != want || held != 0 {
			t.Errorf("stream %q\n whole %q, %d bytes held", got.String(), want, held)
		}
	})
}

func BenchmarkFilterDelta(b *testing.B) {
	text := strings.Repeat("The session goes on, and every token of it is read. ", 6)[:300]
	secrets := make([]string, 12)
	for i := range secrets {
		secrets[i] = fmt.Sprintf("%c%c-dummy-secret-value-%d", 'A'+i, '0'+i, i)
	}
	r := New(secrets)
	raw := json.RawMessage(`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":` + quote(text) + `}}`)
	for _, bb := range []struct {
		name string
		n    core.Notice
	}{
		{"text", delta("a", text)},
		{"text and frame", core.Content{Turn: "t", Payload: core.MessageDelta{Item: "a", Text: text}, Raw: raw}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			f := r.Filter()
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				f.Filter(bb.n)
			}
		})
	}
}
