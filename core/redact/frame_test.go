package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestALongFrameIsCutBeforeItIsLookedThroughAndKeepsNoSecret(t *testing.T) {
	const secret = "hunter2-is-a-secret"
	r := New([]string{secret})
	long := strings.Repeat("x", 4*core.MaxRaw)
	for name, raw := range map[string]string{
		"at the beginning":  `{"a":"` + secret + `","text":"` + long + `"}`,
		"under a name":      `{"password":"` + long + `"}`,
		"in the long text":  `{"text":"say ` + secret + long + `"}`,
		"escaped":           `{"text":"` + strings.Replace(secret, "h", `\u0068`, 1) + long + `"}`,
		"no JSON":           secret + long,
		"a long key":        `{"` + secret + long + `":1}`,
		"control and quote": `{"text":"` + strings.Repeat(`\u0001\"`, core.MaxRaw) + `"}`,
	} {
		got := r.boundFrame(json.RawMessage(raw))
		var f struct {
			Truncated bool
			Bytes     int
			Head      string
		}
		if err := json.Unmarshal(got, &f); err != nil || !f.Truncated || f.Bytes != len(raw) || len(got) > core.MaxRaw {
			t.Errorf("%s: %d bytes: %.80s %v", name, len(got), got, err)
		}
		if strings.Contains(f.Head, "unter2") || name == "under a name" && strings.Contains(f.Head, "xxx") {
			t.Errorf("%s: the secret is there: %.80s", name, f.Head)
		}
	}
}

// The cut may fall anywhere into a secret or an escape.
func TestALongFrameThatIsCutInASecretShowsNoPartOfIt(t *testing.T) {
	const secret = "zebra-crossing-secret"
	r := New([]string{secret})
	for at := range len(secret) + 2 {
		pad := strings.Repeat("\u00e9 ", 20) + strings.Repeat(".", core.MaxRaw/2-at-len(`{"t":"`)-60)
		raw := fmt.Sprintf(`{"t":"%s%s%s"}`, pad, secret, strings.Repeat(`\u00e9`, core.MaxRaw))
		var f struct{ Head string }
		if err := json.Unmarshal(r.boundFrame(json.RawMessage(raw)), &f); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(f.Head, "zebra") || !strings.Contains(f.Head, "....") {
			t.Fatalf("cut %d into it: ...%s", at, f.Head[max(0, len(f.Head)-60):])
		}
	}
}

func BenchmarkALongFrame(b *testing.B) {
	r := New([]string{"hunter2-is-a-secret"})
	raw := json.RawMessage(`{"text":"` + strings.Repeat("x", 60<<20) + `"}`)
	b.ReportAllocs()
	for b.Loop() {
		r.boundFrame(raw)
	}
}
