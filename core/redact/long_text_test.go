package redact

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
)

// longSpeech makes a text of n bytes, with something else at every place.
func longSpeech(n int) string {
	const word = "änd "
	s := strings.Repeat(word, n/len(word)+1)
	return s[:n-n%len(word)]
}

func TestALongTextIsCutInTheMiddleAndSaysHowMuchIsMissing(t *testing.T) {
	r := New(nil)
	for _, n := range []int{core.MaxText, core.MaxText + 5, core.MaxText + slack, 3 * core.MaxText, 3*core.MaxText + 1} {
		s := "begin " + longSpeech(n-10) + " end"
		got := r.boundText(s)
		if len(s) <= core.MaxText {
			if got != s {
				t.Errorf("%d bytes were changed", len(s))
			}
			continue
		}
		i, j := strings.Index(got, "\n[... "), strings.Index(got, " bytes are not kept ...]\n")
		if len(got) > core.MaxText+100 || !utf8.ValidString(got) || !strings.HasPrefix(got, "begin ") || !strings.HasSuffix(got, " end") || i < 0 || j < i {
			t.Fatalf("%d of %d bytes are kept, with the mark at %d", len(got), len(s), i)
		}
		var cut int
		if err := json.Unmarshal([]byte(got[i+len("\n[... "):j]), &cut); err != nil {
			t.Fatal(err)
		}
		tail := got[j+len(" bytes are not kept ...]\n"):]
		if i+cut+len(tail) != len(s) || s[:i] != got[:i] || s[len(s)-len(tail):] != tail {
			t.Errorf("%d + %d + %d bytes of %d", i, cut, len(tail), len(s))
		}
	}
}

func TestNoPartOfASecretIsLeftWhereALongTextIsCut(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	r := New([]string{secret})
	for _, at := range []int{half - 3, half - len(secret), half + 1, 3*core.MaxText - half - 5, core.PieceBytes - 7} {
		s := strings.Repeat(".", at) + secret
		s += strings.Repeat(".", 3*core.MaxText-len(s))
		f := r.Filter()
		delta := f.Filter(core.Content{Turn: "t", Payload: core.MessageDelta{Item: "i", Text: s}})[0].(core.Content).Payload.(core.MessageDelta).Text
		for _, n := range f.Flush() {
			delta += n.(core.Content).Payload.(core.MessageDelta).Text
		}
		for how, got := range map[string]string{"text": r.boundText(s), "delta": delta} {
			for _, part := range []string{"correct", "horse", "staple", "aple", "corr"} {
				if strings.Contains(got, part) {
					t.Errorf("%s: of a secret at %d %q is shown", how, at, part)
				}
			}
			if len(got) > core.MaxText+100 {
				t.Errorf("%s: %d bytes", how, len(got))
			}
		}
	}
}

func TestNothingThatAnAgentSaysIsKeptBeyondTheBound(t *testing.T) {
	long := longSpeech(2*core.MaxText + 1)
	value := core.EncodeData(map[string]string{"x": long})
	diffs := []core.FileEdit{{Path: "a", Diff: long}, {Path: "b", Diff: long}, {Path: "c", Diff: long}}
	r := New(nil)
	for _, p := range []core.Payload{
		core.MessageDelta{Text: long}, core.Message{Text: long}, core.ReasoningDelta{Text: long}, core.Reasoning{Text: long},
		core.ToolStarted{Input: value, Command: ""}, core.ToolStarted{Command: long}, core.ToolDelta{Text: long}, core.ToolCompleted{Output: long},
		core.ToolCompleted{Error: long}, core.CommandOutputDelta{Text: long}, core.FileChange{Changes: diffs}, core.RateLimit{Limits: value}, core.ProviderEvent{Data: value},
	} {
		if n := len(core.EncodeData(r.Payload(p))); n > core.MaxText+core.MaxText/8 {
			t.Errorf("%T: %d bytes are kept", p, n)
		}
	}
	res := r.Result(core.Result{Text: long, StructuredOutput: value, Provider: value, FilesChanged: diffs})
	if n := len(core.EncodeData(res)); n > 2*core.MaxText+core.MaxText/4 {
		t.Errorf("a result: %d bytes are kept", n)
	}
}

func TestALongPayloadIsEncodedAsAnyOther(t *testing.T) {
	type payload struct { // without the shortcut
		Item    string `json:"item"`
		Text    string `json:"text"`
		Partial bool   `json:"partial,omitempty"`
	}
	for _, text := range []string{
		strings.Repeat("plain ", core.LongPayload/4), strings.Repeat("\x00\b\f\n\r\t\\\"<>&\u2028\u2029\x7f", core.LongPayload/8),
		strings.Repeat("\xc3\x28\xe2\x82", core.LongPayload/2), strings.Repeat("\x80", 2*core.LongPayload), longSpeech(core.LongPayload + 11),
	} {
		for partial, got := range map[bool]json.RawMessage{
			false: core.EncodeData(core.ReasoningDelta{Item: `i"1`, Text: text}), true: core.EncodeData(core.Message{Item: `i"1`, Text: text, Partial: true}),
		} {
			want, err := json.Marshal(payload{`i"1`, text, partial})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%.20q is encoded differently", text)
			}
		}
	}
}
