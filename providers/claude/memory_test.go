package claude

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestALongLineIsCopiedOnceOrTwice bounds what reading a line takes beside the
// line: its text, and that of a list in a list.
func TestALongLineIsCopiedOnceOrTwice(t *testing.T) {
	const size = 16 << 20
	text, err := json.Marshal(strings.Repeat("long ", size/5))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		line string
		most float64 // times the line
	}{
		"message":     {`{"type":"assistant","uuid":"a","message":{"id":"m","content":[{"type":"text","text":%s}]}}`, 1.1},
		"tool result": {`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":%s}]}}`, 1.1},
		"delta":       {`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":%s}}}`, 1.1},
	} {
		tr := newTranslator(settings{})
		for _, l := range []string{fakeInit, `{"type":"assistant","uuid":"b","message":{"id":"n","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}`, fakeMessage, fakeBlock} {
			tr.read([]byte(l))
		}
		line := fmt.Appendf(nil, c.line, text)
		tr.Take()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tr.read(line)
		runtime.ReadMemStats(&after)
		if n := len(tr.Take().Notices); n == 0 {
			t.Errorf("%s: nothing came of it", what)
		}
		if got := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(line)); got > c.most {
			t.Errorf("%s: reading it takes %.1f times the line, at most %.1f are allowed", what, got, c.most)
		}
	}
}
