package redact

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPlainTextHasNoControlCharactersButLineEndsAndTabs(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n\u00e9\u4e16 \u202f": "plain\ttext\n\u00e9\u4e16 \u202f",
		"\x1b]0;title\x07":                 `\u001b]0;title\u0007`,
		"\u009b2Jx":                        `\u009b2Jx`,
		"a\x9b2J":                          `a\u009b2J`,
		"line\r\nnext":                     "line\nnext",
		"over\rwritten":                    `over\u000dwritten`,
		"\x7f\x00":                         `\u007f\u0000`,
		"":                                 "",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("x\x1b[2J\u009b\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Plain(s)
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%q has a control character at %d", got, i)
		}
		if !utf8.ValidString(s) {
			return
		}
		var back string
		b, _ := json.Marshal(s)
		if err := json.Unmarshal([]byte(Plain(string(b))), &back); err != nil || back != s {
			t.Errorf("%q comes back from JSON as %q, %v", s, back, err)
		}
	})
}
