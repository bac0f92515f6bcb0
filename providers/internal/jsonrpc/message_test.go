package jsonrpc

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestALongFrameIsDecodedWithoutACopy(t *testing.T) {
	text := strings.Repeat("x", 8<<20)
	for kind, form := range map[Kind]string{
		Notification: `{"method":"m","params":{"text":"%s"}}`,
		Request:      `{"id":"r","method":"m","params":{"text":"%s"}}`,
		Response:     `{"id":7,"result":{"text":"%s"}}`,
	} {
		line := fmt.Appendf(nil, form, text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m := decode(line)
		runtime.ReadMemStats(&after)
		if body := string(m.Params) + string(m.Result); m.Kind != kind || body != `{"text":"`+text+`"}` {
			t.Errorf("kind %d: %d bytes", m.Kind, len(body))
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("kind %d: %d bytes are taken for a line of %d", m.Kind, n, len(line))
		}
		if len(m.ID) > 0 { // it is kept long after the line
			line[strings.IndexByte(form, ':')+1] = '!'
			if m.ID[0] == '!' {
				t.Error("the id is a part of the line")
			}
		}
	}
}
