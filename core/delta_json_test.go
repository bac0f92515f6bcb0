package core

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestADeltaIsEncodedAsJSONMarshalDoes(t *testing.T) {
	same := func(t rapid.TB, item, text string) {
		for _, p := range []Payload{MessageDelta{item, text}, ReasoningDelta{item, text}, ToolDelta{item, text}, CommandOutputDelta{item, text}} {
			want, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if got := marshal(p); string(got) != string(want) {
				t.Fatalf("%T of %q: %s, not %s", p, text, got, want)
			}
		}
	}
	for c := range 256 {
		same(t, string([]byte{byte(c)}), "a"+string([]byte{byte(c)})+"b")
	}
	for c := rune(0x80); c < 0x3000; c++ {
		same(t, "i", "x"+string(c))
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"plain words", "\n", "\t", `"`, `\`, "<a href>&amp;", "\u2028", "\u20ac",
			"\U0001f600", "\xff", "\xe2\x80", "\x00", "\x1b[31m"}))).Draw(t, "parts")
		text := ""
		for _, p := range parts {
			text += p
		}
		same(t, rapid.String().Draw(t, "item"), text)
	})
}

func TestALongDeltaKeepsNoBuffer(t *testing.T) {
	text := make([]byte, 2*pieceKeep)
	for i := range text {
		text[i] = 'x'
	}
	first, second := marshal(MessageDelta{"i", string(text)}), marshal(MessageDelta{"i", "y"})
	if len(first) < len(text) || string(second) != `{"item":"i","text":"y"}` || cap(second) > 64 {
		t.Errorf("%d bytes, then %s of %d", len(first), second, cap(second))
	}
}
